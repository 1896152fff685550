"""What a model was told once stays the beginning of what it is told next, so that caches hold."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retinue.agents.artifact import ArtifactId
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import AssistantMessage, ModelMessage, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.stores.artifact_port import Removal
from retinue.testing.store_artifact_contract import a_change, a_list, put
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.prompting.house import READERS, keep, shown

TURNS = 20


def blocks(messages: Sequence[ModelMessage]) -> list[Any]:
    """The messages as providers count them: neighbours of one role are one, so blocks matter."""
    found: list[Any] = []
    for message in messages:
        match message:
            case UserMessage():
                found += [("user", content) for content in message.content]
            case AssistantMessage():
                found += [("assistant", part) for part in message.parts]
            case ToolMessage():
                found.append(("tool", message))
    return found


class Listener:
    """Looks a list up in every second turn; keeps each request as it was at that moment."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[Any], list[Any], str]] = []

    def __call__(self, request: ModelRequest) -> Answer:
        kept = (request.system, list(request.tools), blocks(request.messages), request.closing)
        self.told.append(kept)
        is_new = isinstance(request.messages[-1], UserMessage)
        if is_new and len(self.told) % 2:
            return Reply(thinking="Hm.", text="Let me see.", calls=[Call(name="lists_get")])
        return f"answer {len(self.told)}"


async def test_each_request_of_a_long_conversation_begins_with_the_one_before(
    start: Start,
) -> None:
    listener = Listener()
    kit = await start(ScriptedModel(listener, name="main"), tools=READERS, collaborates=True)
    agent = await kit.agent()
    for number in range(TURNS):
        await keep(kit, lists=[f"List {number}"])
        kit.engine.windows.show(LOCAL_OWNER, "w1", shown(id=f"list-{number}"))
        line = f'<context panel-id="p1" panel-type="artifacts" type="list" id="list-{number}" />'
        outcome = await kit.ask(agent, f"{line}\nquestion {number}")
        assert outcome.item.fate == "answered"
        if number == TURNS // 2:
            await kit.restart()
    assert len(listener.told) > TURNS
    for before, after in zip(listener.told, listener.told[1:], strict=False):
        assert after[0] == before[0]
        assert after[1] == before[1]
        assert len(after[2]) > len(before[2])
        assert after[2][: len(before[2])] == before[2]
    assert "List 19" in listener.told[-1][3]
    assert "list-19" in listener.told[-1][3]


async def test_what_changes_by_itself_is_looked_up_once_a_turn(start: Start) -> None:
    told: list[str] = []

    async def keep_books() -> str:
        """Keep a list of books."""
        await keep(kit, lists=["Books"])
        return "kept"

    def reply(request: ModelRequest) -> Answer:
        told.append(request.closing)
        is_first = len(told) == 1
        return Reply(calls=[Call(name="keep_books")]) if is_first else "done"

    kit = await start(reply, tools=[*READERS, tool(effect="once")(keep_books).as_tool()])
    await keep(kit, lists=["Groceries"])
    agent = await kit.agent()
    await kit.ask(agent, "look")
    await kit.ask(agent, "and now")
    first, second, third = told
    assert first == second
    assert "Books" not in second
    assert "- books: Books\n- groceries: Groceries" in third


async def test_a_renamed_and_a_removed_list_are_told_as_they_are(start: Start) -> None:
    model = ScriptedModel(lambda _: "ok", name="main")
    kit = await start(model, tools=READERS)
    agent = await kit.agent()
    for names in (["Groceries", "Books"], ["Attic"]):
        await keep(kit, lists=names)
        await kit.ask(agent, "look")
    store = kit.store.artifacts
    await put(store, a_list("groceries", "Shopping"), version=1)
    await store.apply(a_change(removals=[Removal(id=ArtifactId("books"), version=1)]))
    await kit.ask(agent, "look again")
    closing = model.requests[-1].closing
    assert "- attic: Attic\n- groceries: Shopping</" in closing
    assert "Books" not in closing


async def test_tools_are_told_in_one_order_wherever_they_come_from(
    start: Start, tmp_path: Path
) -> None:
    told: list[ModelRequest] = []
    for number, tools in enumerate((READERS, READERS[::-1])):
        model = ScriptedModel(lambda _: "ok", name="main")
        kit = await start(model, tools=tools, directory=tmp_path / str(number))
        await kit.ask(await kit.agent(), "hi")
        told += model.requests
    assert [spec.name for spec in told[0].tools] == [spec.name for spec in told[1].tools]
    assert told[0].system == told[1].system
