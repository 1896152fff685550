"""One contract for the client: with a server, and with the project opened in this process."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import cast

import msgspec
import pytest

from retinue.cli.agent_lookup import find_agent
from retinue.cli.chat.chat_session import ChatSession
from retinue.cli.client import Client
from retinue.cli.conversations import find_target, last_conversation, new_conversation
from retinue.cli.doctor.store_checks import store
from retinue.cli.project_connection import connected
from retinue.errors import ConflictError, NotFoundError, RetinueError, UsageError
from retinue.events import HelloEvent, ItemEvent, RecordEvent
from retinue.ids import new_id
from retinue.records import AssistantRecord, ResetRecord, UserRecord, decode_record
from retinue.server.descriptor_wire import UserPlace
from tests.acceptance.cli import make_project, serving
from tests.support.disks import file_size_limit


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    project = make_project(tmp_path_factory.mktemp("served"))
    (project / "agents" / "broken.toml").write_text('name = "broken"\nmodle = 3\n')
    with serving(project):
        yield project


@pytest.fixture(params=["local", "remote"])
async def client(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Client]:
    if request.param == "remote":
        project: Path = request.getfixturevalue("served")
    else:
        project = make_project(tmp_path / "project")
        (project / "agents" / "broken.toml").write_text('name = "broken"\nmodle = 3\n')
    async with connected(project, needs_engine=True) as found:
        assert found.is_remote == (request.param == "remote")
        yield found


def place() -> UserPlace:
    return UserPlace(connector="terminal", user_id="ada", channel_id=new_id("c"))


async def answered(client: Client, agent_id: str, text: str) -> str:
    admission = await client.post(agent_id, text)
    return (await client.message(admission.id, agent_id=agent_id, wait_seconds=30)).reply


async def test_a_message_is_answered_and_can_be_read_again(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    admission = await client.post(agent.id, "hello")
    assert (admission.agent_id, admission.fate) == (agent.id, "queued")
    message = await client.message(admission.id, wait_seconds=30)
    assert (message.fate, message.reply) == ("answered", "You said: hello")
    assert message.ended_at is not None
    assert message.text == "hello"


async def test_the_same_key_gives_the_first_message_again(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    first = await client.post(agent.id, "once", key="k1")
    again = await client.post(agent.id, "once", key="k1")
    assert again.id == first.id
    with pytest.raises(RetinueError) as caught:
        await client.post(agent.id, "something else", key="k1")
    assert caught.value.code == "conflict"


async def test_the_same_place_finds_the_same_agent(client: Client) -> None:
    here = place()
    first = await client.open_conversation("helper", here)
    again = await client.open_conversation("helper", here)
    assert first.id == again.id
    assert first.descriptor == msgspec.to_builtins(here)


async def test_a_definitions_last_conversation_goes_on_until_a_new_one_begins(
    client: Client,
) -> None:
    first = await last_conversation(client, "helper")
    await answered(client, first.id, "hello")
    assert (await find_target(client, "helper")).id == first.id
    second = await new_conversation(client, "helper")
    assert second.id != first.id
    await answered(client, second.id, "hello")
    assert (await last_conversation(client, "helper")).id == second.id


async def test_history_is_read_forwards_and_from_its_end(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    for number in range(4):
        await answered(client, agent.id, f"message {number}")
    records = await client.history(agent.id, after=0, limit=100)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [r.text for r in records if isinstance(r, UserRecord)] == [
        f"message {number}" for number in range(4)
    ]
    assert await client.recent(agent.id, limit=3) == records[-3:]
    assert await client.recent(agent.id, limit=100) == records
    assert await client.history(agent.id, after=records[-1].seq, limit=10) == []


async def test_events_begin_with_hello_and_tell_the_answer(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    texts: list[str] = []
    async for event in client.events(agent.id):
        match event:
            case HelloEvent():
                await client.post(agent.id, "hello")
            case RecordEvent():
                record = decode_record(bytes(event.record))
                if isinstance(record, AssistantRecord):
                    texts.append(record.text)
            case ItemEvent() if event.item.fate == "answered":
                break
            case _:
                pass
    assert texts == ["You said: hello"]


async def test_a_running_turn_is_stopped_and_a_resting_one_is_not(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    assert await client.stop(agent.id) is False
    admission = await client.post(agent.id, "slow")
    while (await client.message(admission.id)).fate != "running":  # noqa: ASYNC110  (it may be in another process)
        await asyncio.sleep(0.02)
    assert await client.stop(agent.id) is True
    message = await client.message(admission.id, wait_seconds=30)
    assert message.fate == "cancelled"


async def test_a_reset_is_in_the_history_and_nothing_is_there_to_sum_up(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    await answered(client, agent.id, "hello")
    await client.reset(agent.id)
    (last,) = await client.recent(agent.id, limit=1)
    assert isinstance(last, ResetRecord)
    assert await client.compact(agent.id) is False


async def test_a_file_is_attached_and_listed(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    file = await client.upload(agent.id, "/attachments/plan ü.txt", b"a plan")
    admission = await client.post(agent.id, "look", files=[file])
    await client.message(admission.id, wait_seconds=30)
    detail = await client.report(agent.id)
    assert [(entry.path, entry.size) for entry in detail.files] == [("/attachments/plan ü.txt", 6)]
    records = await client.history(agent.id, after=0, limit=10)
    assert [r.files for r in records if isinstance(r, UserRecord)] == [[file]]


async def test_details_tell_what_was_used_and_what_waits(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    await answered(client, agent.id, "hello")
    admission = await client.post(agent.id, "slow")
    detail = await client.report(agent.id)
    assert [item.id for item in detail.messages] == [admission.id]
    assert sum(one.calls for models in detail.stats.values() for one in models.values()) >= 1
    await client.stop(agent.id)


async def test_a_terminated_agent_is_shown_as_such_and_takes_no_messages(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    assert await client.terminate(agent.id, "enough") == [agent.id]
    assert (await client.agent(agent.id)).lifecycle == "terminated"
    assert (await client.tree(agent.id)).tree.agent.status == "terminated"
    with pytest.raises(RetinueError) as caught:
        await client.post(agent.id, "hello")
    assert caught.value.code == "terminated"
    assert await client.terminate(agent.id, "enough") == []


async def test_what_is_not_there_is_said_so(client: Client) -> None:
    for asking in (
        client.agent("a" * 24),
        client.message("m" + "0" * 26),
        client.message("nonsense"),
        client.post("b" * 24, "hello"),
        client.open_conversation("nobody", place()),
    ):
        with pytest.raises(RetinueError) as caught:
            await asking
        assert caught.value.code == "not_found"
        assert caught.value.message


async def test_empty_and_overlong_texts_are_refused(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    for text in ("", "  \n", "x" * 200_001):
        with pytest.raises(RetinueError):
            await client.post(agent.id, text)
    assert (await client.report(agent.id)).messages == []


async def test_definitions_are_listed_with_what_does_not_load(client: Client) -> None:
    found = await client.definitions()
    assert "helper" in [entry.name for entry in found.definitions]
    assert any(problem.file == "agents/broken.toml" for problem in found.problems)


async def test_an_agent_is_found_by_id_and_by_the_beginning_of_it(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    assert (await find_agent(client, agent.id)).id == agent.id
    assert (await find_agent(client, agent.id[:10].upper())).id == agent.id
    with pytest.raises(NotFoundError):
        await find_agent(client, agent.id[:3])
    with pytest.raises(NotFoundError):
        await find_agent(client, "no such conversation")
    with pytest.raises(NotFoundError):
        await find_agent(client, "very " * 100 + "long")


async def test_an_ambiguous_reference_lists_the_candidates(client: Client) -> None:
    one, two = (
        await client.open_conversation("helper", place()),
        await client.open_conversation("helper", place()),
    )
    with pytest.raises(UsageError) as caught:
        await find_agent(client, "helper")
    assert one.id in caught.value.message or "more" in caught.value.message
    assert {one.id, two.id} <= set(cast("list[str]", caught.value.details["agents"]))


async def test_a_chat_takes_slash_commands_and_answers_unknown_ones(client: Client) -> None:
    session = await ChatSession.begin(client, definition="helper", agent=None, is_new=True)
    first = session.agent.id
    unknown = await session.take("/compcat")
    assert "/help" in unknown.pieces[0].text
    assert "'compact'" in unknown.pieces[0].text
    sent = (await session.take("//etc is a folder")).sent
    assert sent is not None
    assert (await client.message(sent.id, wait_seconds=30)).text == "/etc is a folder"
    assert "answered" in (await session.take("/why")).pieces[0].text
    assert "tokens" in (await session.take("/context")).pieces[0].text
    assert (await session.take("/new")).is_switched
    assert session.agent.id != first
    assert (await session.take(f"/switch {first[:8]}")).is_switched
    assert session.agent.id == first
    assert (await session.take("/switch nobody")).pieces[0].kind == "problem"
    assert (await session.take("/quit")).is_leaving


async def test_the_store_tells_how_it_is(client: Client) -> None:
    await client.open_conversation("helper", place())
    health = await client.health()
    assert (health.status, health.reason) == ("ok", "")
    assert health.store.kind == "sqlite"
    assert isinstance(health.store.agents, int) and health.store.agents >= 1
    assert health.store.problems == []


async def test_errors_have_the_engines_classes(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    await client.post(agent.id, "once", key="k")
    for error, asking in (
        (NotFoundError, client.agent("a" * 24)),
        (UsageError, client.post(agent.id, "")),
        (ConflictError, client.post(agent.id, "another", key="k")),
    ):
        with pytest.raises(error):
            await asking


async def test_a_message_tells_through_which_door_it_came(client: Client) -> None:
    agent = await client.open_conversation("helper", place())
    sent = await client.post(agent.id, "hello")
    sender = (await client.message(sent.id)).sender
    assert sender["connector"] == ("http" if client.is_remote else "terminal")


async def test_a_defect_in_this_process_is_raised_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(make_project(tmp_path / "project"), needs_engine=False) as client:
        assert client.app is not None

        def broken(_catalog: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(type(client.app.engine.catalog), "definitions", broken)
        with pytest.raises(ZeroDivisionError):
            await client.definitions()


async def test_the_store_tells_that_it_takes_nothing_and_when_it_does_again(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path / "project")
    async with connected(project, needs_engine=False) as client:
        await client.open_conversation("helper", place())
        with file_size_limit(4096):
            (finding,) = await store(client)
        assert finding.state == "fail"
        assert "cannot be written" in finding.text
        assert [finding.state for finding in await store(client)] == ["ok"]
