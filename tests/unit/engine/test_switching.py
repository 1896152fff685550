"""`agents_switch`: a person goes on with another agent, and back."""

import pytest

from retinue.agents.descriptor import UserDescriptor
from retinue.errors import NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.records import NoteRecord, SystemRecord
from retinue.stores.port import Agent, Delivery
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import TEAM, Play, asks, quiet, result, sessions, the_session
from tests.unit.engine.support import Gate, last_said, until

CHAT = UserDescriptor(connector="chat", user_id="ada", channel_id="c1")
SHY = {"journal.toml": "agentAllowlist = []\n" + TEAM["journal.toml"]}
"""One that may talk to nobody."""


class Messenger:
    """A connector that keeps what it was given."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    async def deliver(self, delivery: Delivery) -> None:
        self.sent.append((delivery.channel, delivery.text))

    async def got(self, channel: str, text: str) -> None:
        async def came() -> bool:
            return (channel, text) in self.sent

        await until(came)


def switches(agent: str, **more: object) -> Reply:
    arguments = {"agentId": agent, **more}
    return Reply(calls=[Call(name="agents_switch", arguments=arguments)])


def script(request: ModelRequest) -> Answer:
    text = last_said(request)
    match text.split():
        case ["to", agent]:
            return switches(agent)
        case ["to", agent, "with", *words]:
            return switches(agent, message=" ".join(words))
        case ["ask", agent, *words]:
            return asks(agent, " ".join(words))
        case _:
            return "bye" if '"switched"' in text else f"{text}!"


async def says(kit: Kit, text: str, definition: str = "general") -> str:
    """Say something in the chat, wherever it goes, and give the answer."""
    receipt = await kit.engine.post(LOCAL_OWNER, CHAT, text, definition=definition)
    return (await kit.outcome(receipt)).reply


async def own_agent(kit: Kit) -> Agent:
    found = await kit.store.find(LOCAL_OWNER, CHAT)
    assert found is not None
    return found


async def accounts(kit: Kit, agent: Agent) -> list[str]:
    return [r.text for r in await kit.records(agent) if isinstance(r, SystemRecord)]


async def notes(kit: Kit, agent: Agent) -> list[NoteRecord]:
    return [r for r in await kit.records(agent) if isinstance(r, NoteRecord)]


async def test_the_chat_goes_on_with_the_other_agent_and_comes_back(start: Start) -> None:
    messenger = Messenger()
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": messenger}}
    kit = await start(script, **team)
    assert await says(kit, "hello") == "hello!"
    assert await says(kit, "to journal") == "bye"
    chat, journal = await own_agent(kit), await the_session(kit, "journal")
    await quiet(kit)
    (account,) = await accounts(kit, journal)
    assert chat.id in account and "- person: hello\n- general: hello!" in account

    assert await says(kit, "dear diary") == "dear diary!"
    await messenger.got("c1", "dear diary!")
    assert "user dear diary" in await kit.kinds(journal)
    await kit.restart()
    assert await says(kit, "still here") == "still here!"
    await messenger.got("c1", "still here!")
    assert "user still here" in await kit.kinds(journal)

    assert await says(kit, "to general") == "bye"
    await quiet(kit)
    (back,) = await accounts(kit, chat)
    assert journal.id in back and "still here!" in back and "hello" not in back
    assert await says(kit, "home") == "home!"
    assert (await kit.kinds(chat))[-2:] == ["user home", "assistant home!"]
    assert (await kit.fresh(journal)).state.route is None
    await messenger.got("c1", "home!")
    assert await says(kit, "to journal") == "bye"
    assert len(await sessions(kit, "journal")) == 1


async def test_whoever_came_from_an_agent_can_go_back_to_it_in_the_web_app(start: Start) -> None:
    kit = await start(script, definitions={**TEAM, **SHY}, collaborates=True)
    general = await kit.agent("general")
    await kit.ask(general, "to journal")
    journal = await the_session(kit, "journal")
    await quiet(kit)
    await kit.restart()
    await kit.ask(journal, "to general")
    assert (await result(kit, journal))["sessionId"] == general.id
    await quiet(kit)
    assert any(journal.id in told for told in await accounts(kit, general))


async def test_nobody_can_go_back_to_an_agent_that_they_did_not_come_from(start: Start) -> None:
    kit = await start(script, definitions={**TEAM, **SHY}, collaborates=True)
    await kit.agent("general")
    journal = await kit.agent("journal")
    await kit.ask(journal, "to general")
    assert await notes(kit, journal) == []


async def test_a_note_names_the_target_for_whoever_follows(start: Start) -> None:
    kit = await start(script, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "to journal with a nice day")
    journal = await the_session(kit, "journal")
    (note,) = await notes(kit, caller)
    assert (note.code, note.agent) == ("switched", journal.id)
    told = await result(kit, caller)
    assert told == {
        "status": "switched",
        "agentId": "journal",
        "sessionId": journal.id,
        "sessionName": "journal",
        "created": True,
    }
    await quiet(kit)
    kinds = await kit.kinds(journal)
    assert kinds[-2:] == ["user a nice day", "assistant a nice day!"]
    assert kinds[1].startswith("system The person comes from")
    assert (await kit.fresh(caller)).state.switched_to is None


async def test_what_the_window_showed_is_no_part_of_what_was_said(start: Start) -> None:
    kit = await start(script, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    line = f'<context panel-id="p1" name="{"x" * 400}" />'
    await kit.ask(caller, f"{line}\nremember the milk")
    await kit.ask(caller, "to journal")
    await quiet(kit)
    (account,) = await accounts(kit, await the_session(kit, "journal"))
    assert "- person: remember the milk" in account
    assert "person: <context" not in account


async def test_the_first_words_are_answered_in_the_chat(start: Start) -> None:
    messenger = Messenger()
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": messenger}}
    kit = await start(script, **team)
    await says(kit, "to journal with a nice day")
    await messenger.got("c1", "a nice day!")
    await messenger.got("c1", "bye")


async def test_a_third_agent_takes_over_the_chat(start: Start) -> None:
    messenger = Messenger()
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": messenger}}
    kit = await start(script, **team)
    await says(kit, "to journal")
    await says(kit, "to notes")
    await quiet(kit)
    assert await says(kit, "write this down") == "write this down!"
    assert "user write this down" in await kit.kinds(await the_session(kit, "notes"))
    await messenger.got("c1", "write this down!")
    assert await says(kit, "to general") == "bye"
    await quiet(kit)
    await says(kit, "home")
    assert "user home" in await kit.kinds(await own_agent(kit))


async def test_the_command_goes_back_and_brings_an_account(start: Start) -> None:
    messenger = Messenger()
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": messenger}}
    kit = await start(script, **team)
    await says(kit, "to journal")
    await quiet(kit)
    await says(kit, "dear diary")
    chat = await own_agent(kit)
    assert await kit.engine.switch_back(LOCAL_OWNER, chat.id) is True
    await quiet(kit)
    (account,) = await accounts(kit, chat)
    assert "- person: dear diary\n- journal: dear diary!" in account
    await says(kit, "home")
    assert "user home" in await kit.kinds(chat)
    assert await kit.engine.switch_back(LOCAL_OWNER, chat.id) is False


async def test_whoever_goes_back_in_the_web_app_takes_an_account_along(start: Start) -> None:
    kit = await start(script, definitions=TEAM, collaborates=True)
    home = await kit.agent("general")
    await kit.ask(home, "to journal")
    journal = await the_session(kit, "journal")
    await kit.ask(journal, "dear diary")
    assert await kit.engine.switch_back(LOCAL_OWNER, home.id) is False
    assert await kit.engine.switch_back(LOCAL_OWNER, home.id, leaving=journal.id) is True
    await quiet(kit)
    (account,) = await accounts(kit, home)
    assert journal.id in account and "- journal: dear diary!" in account
    with pytest.raises(UsageError, match="itself"):
        await kit.engine.switch_back(LOCAL_OWNER, home.id, leaving=home.id)
    with pytest.raises(NotFoundError):
        await kit.engine.switch_back(OwnerId("stranger"), home.id, leaving=journal.id)


@pytest.mark.parametrize("how", ["terminate", "delete"])
async def test_a_chat_whose_other_agent_ended_is_answered_by_its_own(
    start: Start, how: str
) -> None:
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": Messenger()}}
    kit = await start(script, **team)
    await says(kit, "to journal")
    await quiet(kit)
    journal = await the_session(kit, "journal")
    end = kit.engine.terminate if how == "terminate" else kit.engine.delete
    await end(LOCAL_OWNER, journal.id)
    await says(kit, "anybody?")
    assert "user anybody?" in await kit.kinds(await own_agent(kit))


async def test_only_an_agent_that_a_person_talks_to_can_switch(start: Start) -> None:
    play = Play(go=asks("todo", "to journal"))
    play.replies["to journal"] = switches("journal")
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    asked = await the_session(kit, "todo")
    assert "not a user" in (await result(kit, asked))["error"]
    assert await sessions(kit, "journal") == []


async def test_a_delegated_answer_is_not_sent_to_the_chat_of_the_asked_agent(start: Start) -> None:
    messenger = Messenger()
    team = {"definitions": TEAM, "collaborates": True, "connectors": {"chat": messenger}}
    kit = await start(script, **team)
    assert await says(kit, "hello", definition="todo") == "hello!"
    caller = await kit.agent("general")
    await kit.ask(caller, "ask todo a favour")
    assert "user a favour" in await kit.kinds(await own_agent(kit))
    await says(kit, "again")
    await messenger.got("c1", "again!")
    assert [text for _, text in messenger.sent] == ["hello!", "again!"]


async def test_a_move_waits_for_calls_that_are_open(start: Start) -> None:
    gate = Gate()
    play = Play(wait=asks("todo"), work=Reply(text="done", before=gate))
    play.replies["to general"] = switches("general")
    kit = await start(play, definitions=TEAM, collaborates=True)
    busy, other = await kit.agent("general"), await kit.agent("journal")
    receipt = await kit.post(busy, "wait")
    await gate.reached.wait()
    await kit.ask(other, "to general")
    gate.opened.set()
    await kit.outcome(receipt)
    await quiet(kit)
    kinds = await kit.kinds(busy)
    asked = kinds.index("assistant agents_message()")
    assert kinds[asked + 1].startswith("tool agents_message ok")
    assert any(kind.startswith("system The person comes from") for kind in kinds)
