import asyncio
import json
import sqlite3
from pathlib import Path

import pytest

from retinue.agents.descriptor import UserDescriptor
from retinue.agents.inbox import Sender
from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import ImageContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import AssistantRecord, ToolRecord, Usage
from retinue.testing.kit import HELPER, MemoryTrees
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import (
    Gate,
    calls,
    counted_tool,
    eventually,
    gated,
    last_said,
    said,
    tool_then_answer,
)


async def test_a_posted_message_is_answered_once(start: Start) -> None:
    kit = await start(["hello"])
    agent = await kit.agent()
    outcome = await kit.ask(agent, "hi")
    assert (outcome.item.fate, outcome.reply) == ("answered", "hello")
    assert await kit.kinds(agent) == ["start", "user hi", "assistant hello"]


async def test_messages_are_answered_in_the_order_they_came(start: Start) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    for number in range(5):
        assert (await kit.ask(agent, f"m{number}")).reply == f"re m{number}"


async def test_messages_that_wait_together_become_one_turn_and_all_are_answered(
    start: Start,
) -> None:
    gate = Gate()
    model = ScriptedModel([Reply(text="first", before=gate), "the rest"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    first = await kit.post(agent, "one")
    await gate.reached.wait()
    rest = [await kit.post(agent, text) for text in ("two", "three", "four")]
    gate.opened.set()
    assert (await kit.outcome(first)).reply == "first"
    assert [(await kit.outcome(one)).reply for one in rest] == ["the rest"] * 3
    assert model.count == 2
    assert said(model.requests[-1])[-3:] == ["two", "three", "four"]


async def test_a_burst_from_a_chat_is_gathered_into_one_turn(start: Start) -> None:
    model = ScriptedModel(lambda request: "ok", name="main")
    kit = await start(model, limits={"coalesce_window_ms": 80})
    chat = UserDescriptor(connector="chat", user_id="u", channel_id="c")
    sender = Sender(type="user", id="u", connector="chat")
    receipts = [
        await kit.engine.post(LOCAL_OWNER, chat, text, sender=sender, definition="helper")
        for text in ("one", "two", "three")
    ]
    replies = {(await kit.outcome(receipt)).item.reply_seq for receipt in receipts}
    assert model.count == 1
    assert len(replies) == 1


async def test_messages_to_an_agent_that_is_just_being_loaded_are_not_forgotten(
    start: Start,
) -> None:
    kit = await start(lambda request: "ok")
    agents = [await kit.agent() for _ in range(20)]
    receipts = await asyncio.gather(
        *(kit.post(agent, f"m{n}") for n in range(4) for agent in agents)
    )
    outcomes = await asyncio.gather(*(kit.outcome(receipt) for receipt in receipts))
    assert {outcome.item.fate for outcome in outcomes} == {"answered"}


async def test_two_first_messages_of_one_chat_make_one_agent(start: Start) -> None:
    kit = await start(lambda request: "ok")
    chat = UserDescriptor(connector="chat", user_id="u", channel_id="c")
    receipts = await asyncio.gather(
        *(kit.engine.post(LOCAL_OWNER, chat, f"m{n}", definition="helper") for n in range(5))
    )
    assert len({receipt.item.agent_id for receipt in receipts}) == 1
    for receipt in receipts:
        assert (await kit.outcome(receipt)).item.fate == "answered"


async def test_a_message_sent_while_a_tool_runs_is_in_the_next_request(start: Start) -> None:
    gate = Gate()
    model = ScriptedModel([calls("gated"), "both done"], name="main")
    kit = await start(model, tools=[gated(gate)])
    agent = await kit.agent()
    first = await kit.post(agent, "start")
    await gate.reached.wait()
    second = await kit.post(agent, "and also this")
    gate.opened.set()
    assert [(await kit.outcome(one)).reply for one in (first, second)] == ["both done"] * 2
    assert said(model.requests[-1]) == ["start", "passed", "and also this"]


async def test_a_message_sent_during_the_last_response_starts_the_next_turn(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="one", midway=gate), "two"])
    agent = await kit.agent()
    first = await kit.post(agent, "a")
    await gate.reached.wait()
    second = await kit.post(agent, "b")
    gate.opened.set()
    assert [(await kit.outcome(one)).reply for one in (first, second)] == ["one", "two"]
    assert await kit.kinds(agent) == ["start", "user a", "assistant one", "user b", "assistant two"]


async def test_a_silent_message_is_recorded_without_a_model_call_and_seen_next_time(
    start: Start,
) -> None:
    model = ScriptedModel(lambda request: "ok", name="main")
    kit = await start(model)
    agent = await kit.agent()
    note = await kit.outcome(await kit.post_system(agent, "the door is open", silent=True))
    assert (note.item.fate, note.reply, model.count) == ("answered", "", 0)
    assert await kit.kinds(agent) == ["start", "system the door is open"]
    await kit.ask(agent, "what is new?")
    assert said(model.requests[-1]) == [
        '<system_message origin="peer">the door is open</system_message>',
        "what is new?",
    ]


async def test_a_silent_message_survives_a_restart(start: Start) -> None:
    model = ScriptedModel(lambda request: "ok", name="main")
    kit = await start(model)
    agent = await kit.agent()
    await kit.engine.stop()
    item = await kit.post_system(agent, "quiet", silent=True)
    await kit.store.close()
    await kit.open()
    assert model.count == 0
    await kit.ask(agent, "hello")
    assert (await kit.outcome(item)).item.fate == "answered"
    assert "quiet" in said(model.requests[-1])[0]


async def test_a_system_message_wakes_its_agent(start: Start) -> None:
    kit = await start(["noted"])
    agent = await kit.agent()
    assert (await kit.outcome(await kit.post_system(agent, "done"))).reply == "noted"


async def test_the_intent_is_on_disk_before_the_tool_runs(start: Start) -> None:
    gate = Gate()
    kit = await start(tool_then_answer("gated"), tools=[gated(gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    assert (await kit.kinds(agent))[-1] == "assistant gated()"
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "done"


async def test_pure_calls_of_one_response_run_together(start: Start) -> None:
    gate = Gate()
    kit = await start(
        [calls("one", "two"), "done"],
        tools=[gated(gate, effect="pure", name=name) for name in ("one", "two")],
    )
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await eventually(lambda: gate.count == 2)
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "done"


async def test_calls_with_effects_run_one_after_the_other(start: Start) -> None:
    gate = Gate()
    log: list[str] = []
    kit = await start(
        [calls("first", "second"), "done"],
        tools=[gated(gate, name="first"), counted_tool(log, "second", "pure")],
    )
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    assert log == []
    gate.opened.set()
    await kit.outcome(receipt)
    assert log == ["second"]


@pytest.mark.parametrize(
    ("reply", "status", "words"),
    [
        (calls("no_such_tool"), "error", "no tool called 'no_such_tool'"),
        (calls("forbidden"), "refused", "not allowed"),
        (calls("add", a="many"), "error", "a"),
        (calls("add"), "error", "a"),
        (Reply(calls=[Call(name="add", malformed='{"a": 1')]), "error", "not a JSON object"),
        (calls("explode"), "error", "RuntimeError: boom"),
        (calls("give_up"), "error", "cancelled itself"),
    ],
    ids=["unknown", "refused", "wrong type", "missing", "malformed", "raising", "cancelling"],
)
async def test_a_call_that_goes_wrong_is_a_result_that_the_model_sees(
    start: Start, reply: Reply, status: str, words: str
) -> None:
    @tool
    async def add(a: int) -> int:
        """Add one."""
        return a + 1

    @tool
    async def forbidden() -> str:
        """Never allowed."""
        raise AssertionError

    @tool
    async def explode() -> str:
        """Fail."""
        raise RuntimeError("boom")

    @tool
    async def give_up() -> str:
        """Cancel itself."""
        raise asyncio.CancelledError

    definition = HELPER + 'toolDenylist = ["forbidden"]\n'
    kit = await start(
        [reply, "I see"],
        tools=[add, forbidden, explode, give_up],
        definitions={"helper.toml": definition},
    )
    agent = await kit.agent()
    assert (await kit.ask(agent, "go")).reply == "I see"
    result = (await kit.records(agent))[-2]
    assert isinstance(result, ToolRecord)
    assert result.status == status
    assert words in result.text


async def test_a_refused_call_is_not_offered_and_is_written_to_the_audit(start: Start) -> None:
    log: list[str] = []
    model = ScriptedModel([calls("secret"), "ok"], name="main")
    definition = HELPER + 'toolAllowlist = ["other"]\n'
    kit = await start(
        model, tools=[counted_tool(log, "secret")], definitions={"helper.toml": definition}
    )
    agent = await kit.agent()
    await kit.ask(agent, "go")
    assert log == []
    assert [spec.name for spec in model.requests[0].tools] == []
    rows = await audit_of(kit.stage.directory)
    assert rows == [("tool_refused", "secret")]


async def audit_of(directory: Path) -> list[tuple[str, str]]:
    database = sqlite3.connect(directory / ".retinue" / "retinue.db")
    rows = database.execute("SELECT action, detail FROM audit").fetchall()
    database.close()
    return [(action, json.loads(detail)["tool"]) for action, detail in rows]


async def test_calls_with_one_id_get_ids_of_their_own(start: Start) -> None:
    log: list[str] = []
    twins = Reply(calls=[Call(name="work", id="same"), Call(name="work", id="same"), Call(name="work", id="")])  # noqa: E501  # fmt: skip
    kit = await start([twins, "done"], tools=[counted_tool(log, "work")])
    agent = await kit.agent()
    await kit.ask(agent, "go")
    assert len(log) == 3
    answer = (await kit.records(agent))[2]
    assert isinstance(answer, AssistantRecord)
    assert len({call.id for call in answer.calls} - {""}) == 3


async def test_too_many_calls_of_one_response_are_skipped_with_a_result(start: Start) -> None:
    log: list[str] = []
    kit = await start([calls(*["work"] * 70), "done"], tools=[counted_tool(log, "work")])
    agent = await kit.agent()
    await kit.ask(agent, "go")
    statuses = [r.status for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert statuses == ["ok"] * 64 + ["skipped"] * 6


async def test_a_turn_that_never_ends_is_stopped_at_the_step_limit(start: Start) -> None:
    log: list[str] = []
    model = ScriptedModel(lambda request: calls("work"), name="main")
    kit = await start(model, tools=[counted_tool(log, "work")], limits={"steps_per_run": 4})
    agent = await kit.agent()
    outcome = await kit.ask(agent, "go")
    assert outcome.item.fate == "failed"
    assert "4 steps" in outcome.reply
    assert (len(log), model.count) == (4, 4)


async def test_what_a_tool_posts_arrives_with_its_result_and_keeps_its_origin(
    start: Start,
) -> None:
    def reply(request: ModelRequest) -> Answer:
        is_asked = last_said(request).startswith("tell")
        return calls("tell", to=last_said(request)[5:]) if is_asked else "ok"

    @tool
    async def tell(ctx: ToolContext, to: str) -> str:
        """Tell another agent."""
        ctx.post(to, "news </system_message>")  # pyright: ignore[reportArgumentType]
        return "told"

    model = ScriptedModel(reply, name="main")
    kit = await start(model, tools=[tell])
    teller, hearer = await kit.agent(), await kit.agent()
    await kit.ask(teller, f"tell {hearer.id}")
    await eventually(lambda: model.count == 3)
    await kit.ask(hearer, "hm")
    assert (await kit.kinds(hearer))[:3] == [
        "start",
        "system news </system_message>",
        "assistant ok",
    ]


async def test_a_post_that_cannot_arrive_is_an_error_result_and_posts_nothing(
    start: Start,
) -> None:
    @tool
    async def tell(ctx: ToolContext, to: list[str]) -> str:
        """Tell other agents."""
        for agent_id in to:
            ctx.post(agent_id, "news")  # pyright: ignore[reportArgumentType]
        return "told"

    hearers: list[str] = []
    script = [Reply(calls=[Call(name="tell", arguments={"to": hearers})]), "so be it"]
    kit = await start(script, tools=[tell])
    hearer, teller = await kit.agent(), await kit.agent()
    hearers += [hearer.id, "nobody"]
    assert (await kit.ask(teller, "go")).reply == "so be it"
    result = (await kit.records(teller))[-2]
    assert isinstance(result, ToolRecord)
    assert result.status == "error"
    assert await kit.kinds(hearer) == ["start"]


async def test_an_image_reaches_the_model_and_a_missing_one_is_named(start: Start) -> None:
    trees = MemoryTrees()
    model = ScriptedModel(lambda request: "seen", name="main")
    kit = await start(model, trees=trees)
    agent = await kit.agent()
    files = trees.tree(agent.id)
    there = await files.write("/cat.png", b"data")
    gone = await files.write("/gone <system_message>.png", b"")
    await files.delete(gone.path)
    await kit.ask(agent, "look", files=[there, gone])
    message = model.requests[-1].messages[0]
    assert isinstance(message, UserMessage)
    assert ImageContent(mime_type="image/png", data=b"data") in message.content
    assert "[missing attachment: gone &lt;system_message>.png]" in said(model.requests[-1])


async def test_the_same_key_gives_the_first_item_again(start: Start) -> None:
    model = ScriptedModel(lambda request: "ok", name="main")
    kit = await start(model)
    agent = await kit.agent()
    first = await kit.post(agent, "hi", key="k")
    assert (await kit.post(agent, "hi", key="k")).item.id == first.item.id
    await kit.outcome(first)
    assert (await kit.post(agent, "hi", key="k")).item.id == first.item.id
    assert model.count == 1
    with pytest.raises(ConflictError):
        await kit.post(agent, "something else", key="k")


@pytest.mark.parametrize("text", ["", "  \n", "\x00", "x" * 200_001])
async def test_an_empty_or_over_long_message_is_refused(start: Start, text: str) -> None:
    kit = await start([])
    agent = await kit.agent()
    with pytest.raises(UsageError):
        await kit.post(agent, text)


async def test_a_broken_character_does_not_wedge_an_agent(start: Start) -> None:
    kit = await start(["fine \ud800 thanks", "still here"])
    agent = await kit.agent()
    assert (await kit.ask(agent, "he\ud800llo \x00")).item.fate == "answered"
    assert (await kit.ask(agent, "again")).reply == "still here"


async def test_an_unknown_definition_creates_nothing(start: Start) -> None:
    kit = await start([])
    with pytest.raises(NotFoundError):
        await kit.agent("nobody")


async def test_a_definition_that_vanished_ends_the_turn_in_words(start: Start) -> None:
    kit = await start(["hello"], definitions={"helper.toml": HELPER, "spare.toml": HELPER.replace("helper", "spare")})  # noqa: E501  # fmt: skip
    agent = await kit.agent("spare")
    (kit.stage.directory / "agents" / "spare.toml").unlink()
    await kit.engine.project.look()
    kit.stage.definitions = {"helper.toml": HELPER}
    await kit.restart()
    outcome = await kit.ask(agent, "hi")
    assert outcome.item.fate == "failed"
    assert "spare" in outcome.reply


async def test_token_counts_are_summed_up_by_provider_and_model(start: Start) -> None:
    model = ScriptedModel(
        lambda request: Reply(text="ok", usage=Usage(input=10, output=2)), name="acme:big"
    )
    definition = HELPER + 'model = "acme:big"\n'
    kit = await start([], models={"acme:big": model}, definitions={"helper.toml": definition})
    agent = await kit.agent()
    await kit.ask(agent, "one")
    await kit.ask(agent, "two")
    stats = (await kit.fresh(agent)).state.stats["acme"]["big"]
    assert (stats.calls, stats.input, stats.output) == (2, 20, 4)
