"""Runs with a model on both sides."""

from collections.abc import Callable, Mapping
from typing import Any

from retinue.model_messages import AssistantMessage, TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import CallPart, RunRecord
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate

PAIR = """
name = "pair"
displayName = "Pair"
description = "Makes and checks."
type = "dual_ai"
maxSessionTurns = {turns}
[sideA]
label = "Worker"
prompt = "worker"
{a}
[sideB]
label = "Reviewer"
prompt = "reviewer"
stopOnResponse = false
{b}
[sideB.sessionStop]
name = "approve"
messageProperty = "summary"
attachmentsProperty = "files"
"""
WORKER = "---\nmodel: main\ntools: [draw, done, give_up]\n---\nYou are the worker."
REVIEWER = "---\nmodel: main\ntools: [approve, look]\n---\nYou are the reviewer."


def made(log: list[str]) -> list[Any]:
    @tool(effect="once")
    async def draw(what: str = "") -> str:
        """Draw."""
        log.append(f"draw {what}")
        return "drawn"

    @tool(effect="once")
    async def done(said: str = "") -> str:
        """Say that the turn is over."""
        return "noted"

    @tool(effect="once")
    async def give_up(reason: str = "") -> str:
        """Give the work up."""
        return "given up"

    @tool(effect="once")
    async def look() -> str:
        """Look at it."""
        log.append("look")
        return "looks fine"

    @tool(effect="once")
    async def approve(summary: str = "", files: list[str] | None = None) -> str:
        """Approve the work."""
        log.append("approve")
        return "approved"

    return [draw, done, give_up, look, approve]


Side = Callable[[ModelRequest], Answer]


def acting(worker: Side, reviewer: Side) -> Callable[[ModelRequest], Answer]:
    def script(request: ModelRequest) -> Answer:
        return worker(request) if "worker" in request.system else reviewer(request)

    return script


def call(name: str, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=name, arguments=arguments)])


async def begin(
    start: Start,
    script: Callable[[ModelRequest], Answer] | ScriptedModel,
    log: list[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Kit:
    given = {"turns": 10, "a": "", "b": "", **(options or {})}
    return await start(
        script,
        tools=made([] if log is None else log),
        definitions={"pair.toml": PAIR.format(**given)},
        prompts={"worker.md": WORKER, "reviewer.md": REVIEWER},
    )


def shown(request: ModelRequest) -> list[str]:
    """Tell what a model sees, in short lines."""
    lines: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage():
                texts = [c.text for c in message.content if isinstance(c, TextContent)]
                lines.append(f"user: {' | '.join(texts)}")
            case AssistantMessage():
                parts = [
                    f"{p.name}()" if isinstance(p, CallPart) else p.text for p in message.parts
                ]
                lines.append(f"assistant: {' '.join(parts)}")
            case ToolMessage():
                lines.append(f"tool: {message.text}")
    return lines


async def test_each_side_sees_itself_as_assistant_and_the_other_as_user(start: Start) -> None:
    def worker(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return "here it is"
        return Reply(text="drawing", calls=[Call(name="draw", arguments={"what": "a tree"})])

    def reviewer(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return call("approve", summary="a good tree")
        return call("look")

    seen: list[list[str]] = []
    play = acting(worker, reviewer)

    def script(request: ModelRequest) -> Answer:
        seen.append(shown(request))
        return play(request)

    model = ScriptedModel(script, name="main")
    kit = await begin(start, model)
    agent = await kit.agent("pair")
    outcome = await kit.ask(agent, "a tree, please")
    assert (outcome.item.fate, outcome.reply) == ("answered", "a good tree")
    assert seen[1] == [
        "user: a tree, please",
        "assistant: drawing draw()",
        "tool: drawn",
    ]
    assert seen[-1] == [
        "user: (The conversation continues.)",
        "assistant: a tree, please",
        "user: drawing | here it is",
        "assistant: look()",
        "tool: looks fine",
    ]
    assert "You are the worker." in model.requests[0].system
    assert {spec.name for spec in model.requests[-1].tools} == {"approve", "look"}
    end = (await kit.records(agent))[-1]
    assert isinstance(end, RunRecord)
    assert (end.code, end.turns) == ("session_stop", 1)


async def test_a_failed_terminal_call_ends_nothing_and_a_later_call_is_skipped(
    start: Start,
) -> None:
    log: list[str] = []

    def reviewer(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            assert "missing.png" in last.text
            return Reply(
                calls=[
                    Call(name="approve", arguments={"summary": "fine"}),
                    Call(name="look", arguments={}),
                ]
            )
        return call("approve", summary="fine", files=["/attachments/missing.png"])

    kit = await begin(start, acting(lambda _: "done", reviewer), log)
    agent = await kit.agent("pair")
    assert (await kit.ask(agent, "go")).reply == "fine"
    assert log == ["approve", "approve"]
    assert "tool look skipped Not run: approve ended the run before it." in await kit.kinds(agent)


async def test_a_run_ends_as_failed_at_exactly_its_limit_of_turns(start: Start) -> None:
    count: list[str] = []

    def speak(request: ModelRequest) -> Answer:
        count.append(request.system)
        return f"turn {len(count)}"

    kit = await begin(start, speak, options={"turns": 3})
    agent = await kit.agent("pair")
    outcome = await kit.ask(agent, "go")
    assert (outcome.item.fate, len(count)) == ("failed", 3)
    assert "3 turns" in outcome.reply
    end = (await kit.records(agent))[-1]
    assert isinstance(end, RunRecord)
    assert end.code == "max_session_turns"


async def test_a_side_that_takes_too_many_steps_fails_the_run(start: Start) -> None:
    log: list[str] = []
    kit = await begin(start, lambda _: call("draw"), log, {"a": "maxSteps = 4"})
    agent = await kit.agent("pair")
    assert (await kit.ask(agent, "go")).item.fate == "failed"
    assert len(log) == 4


async def test_the_stop_tool_ends_the_turn_and_its_argument_is_what_the_other_side_hears(
    start: Start,
) -> None:
    def reviewer(request: ModelRequest) -> Answer:
        assert shown(request)[-1] == "user: thinking aloud | finished at last"
        return call("approve", summary="ok")

    options = {"a": 'stopTool = "done"\nstopToolResponseProperty = "said"\nstopOnResponse = false'}

    def worker(request: ModelRequest) -> Answer:
        if "system_message" in shown(request)[-1]:
            assert "call done" in shown(request)[-1]
            return call("done", said="finished at last")
        return "thinking aloud"

    kit = await begin(start, acting(worker, reviewer), options=options)
    agent = await kit.agent("pair")
    assert (await kit.ask(agent, "go")).reply == "ok"


async def test_a_crash_in_the_second_sides_turn_resumes_as_that_side(start: Start) -> None:
    gate = Gate()
    spoke: list[str] = []

    def worker(_: ModelRequest) -> Answer:
        spoke.append("worker")
        return "here"

    def reviewer(_: ModelRequest) -> Answer:
        spoke.append("reviewer")
        return Reply(calls=[Call(name="approve", arguments={"summary": "ok"})], before=gate)

    kit = await begin(start, acting(worker, reviewer))
    agent = await kit.agent("pair")
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    await kit.crash()
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "ok"
    assert spoke == ["worker", "reviewer", "reviewer"]
    assert (await kit.kinds(agent)).count("assistant here") == 1
