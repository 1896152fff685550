"""The scripted model: lists, functions, and scripts in files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from retinue.clock import SystemClock
from retinue.errors import ModelError, RateLimitedError, UnknownModelError
from retinue.ids import CallId
from retinue.model_messages import ModelMessage, TextContent, ToolMessage, UserMessage
from retinue.models.port import (
    CallDelta,
    Completed,
    Model,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
)
from retinue.models.script_files import load_script
from retinue.models.scripted import Call, Reply, ScriptedModel
from retinue.records import CallPart, TextPart, ThinkingPart, Usage


class NotedSleeps(SystemClock):
    def __init__(self) -> None:
        self.sleeps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)


def asked(text: str, *, tools: Sequence[str] = (), attempt: int = 0) -> ModelRequest:
    messages: list[ModelMessage] = [UserMessage(content=[TextContent(text=text)])]
    messages += [ToolMessage(call=CallId("c"), name="t", text=result) for result in tools]
    return ModelRequest(system="", messages=messages, attempt=attempt)


async def drained(model: Model, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def completed(model: Model, request: ModelRequest) -> Completed:
    last = (await drained(model, request))[-1]
    assert isinstance(last, Completed)
    return last


def script(tmp_path: Path, *rules: dict[str, Any]) -> ScriptedModel:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(rules))
    return load_script(path, name="scripted:script.json")


async def test_replies_come_in_the_order_of_the_list() -> None:
    model = ScriptedModel(["one", Reply(text="two")])
    assert (await completed(model, asked("a"))).parts == [TextPart(text="one")]
    assert (await completed(model, asked("b"))).parts == [TextPart(text="two")]
    assert model.count == 2
    assert [request.messages for request in model.requests] == [
        asked("a").messages,
        asked("b").messages,
    ]


async def test_a_list_that_is_used_up_is_an_error_that_no_retry_cures() -> None:
    model = ScriptedModel([])
    with pytest.raises(ModelError, match="no replies left") as raised:
        await drained(model, asked("a"))
    assert not raised.value.is_retryable


async def test_a_function_answers_from_the_request() -> None:
    model = ScriptedModel(lambda request: f"{len(request.messages)} messages")
    assert (await completed(model, asked("a", tools=["x"]))).parts == [TextPart(text="2 messages")]


async def test_every_part_streams_before_the_whole_response() -> None:
    usage = Usage(input=3, output=4)
    reply = Reply(
        thinking="hm",
        text="abcde",
        chunk=2,
        calls=[Call(name="t", arguments={"a": 1}, id="c1"), Call(name="u", malformed="{")],
        usage=usage,
        finish="tool_calls",
    )
    *deltas, last = await drained(ScriptedModel([reply]), asked("a"))
    assert deltas == [
        ThinkingDelta(part=0, text="hm"),
        TextDelta(part=1, text="ab"),
        TextDelta(part=1, text="cd"),
        TextDelta(part=1, text="e"),
        CallDelta(part=2, name="t", arguments='{"a":1}'),
        CallDelta(part=3, name="u", arguments="{"),
    ]
    assert isinstance(last, Completed)
    assert last.parts[:3] == [
        ThinkingPart(text="hm"),
        TextPart(text="abcde"),
        CallPart(id=CallId("c1"), name="t", arguments={"a": 1}),
    ]
    broken = last.parts[3]
    assert isinstance(broken, CallPart)
    assert broken.malformed == "{"
    assert (last.usage, last.finish) == (usage, "tool_calls")


async def test_an_error_comes_after_the_deltas() -> None:
    model = ScriptedModel(
        [Reply(text="half", error=RateLimitedError("slow", retry_after_seconds=2))]
    )
    seen: list[ModelEvent] = []
    with pytest.raises(RateLimitedError):
        async for event in model.stream(asked("a")):
            seen.append(event)
    assert seen == [TextDelta(part=0, text="half")]


async def test_a_bare_error_is_raised_at_once() -> None:
    with pytest.raises(ModelError, match="down"):
        await drained(ScriptedModel([ModelError("down", is_retryable=True)]), asked("a"))


async def test_a_cut_stream_ends_without_the_whole_response() -> None:
    assert await drained(ScriptedModel([Reply(text="half", cut=True)]), asked("a")) == [
        TextDelta(part=0, text="half")
    ]


async def test_waiting_goes_through_the_clock_and_the_given_gates() -> None:
    clock = NotedSleeps()
    order: list[str] = []

    async def gate(name: str) -> None:
        order.append(name)

    reply = Reply(
        delay_seconds=3, before=lambda: gate("before"), text="x", midway=lambda: gate("midway")
    )
    async for event in ScriptedModel([reply], clock=clock).stream(asked("a")):
        order.append(type(event).__name__)
    assert clock.sleeps == [3]
    assert order == ["before", "TextDelta", "midway", "Completed"]


async def test_a_file_answers_by_the_first_rule_that_fits(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {
            "when": r"order (\w+)",
            "after_tools": 0,
            "reply": {"calls": [{"name": "order", "arguments": {"item": "$1", "tags": ["$0"]}}]},
        },
        {"when": "order", "after_tools": 1, "reply": {"text": "Done: $tool"}},
        {"reply": {"text": "You said $0."}},
    )
    call = (await completed(model, asked("please order milk"))).parts[0]
    assert isinstance(call, CallPart)
    assert (call.name, call.arguments) == ("order", {"item": "milk", "tags": ["order milk"]})
    after = await completed(model, asked("please order milk", tools=["number 7"]))
    assert after.parts == [TextPart(text="Done: number 7")]
    assert (await completed(model, asked("hello"))).parts == [TextPart(text="You said .")]


async def test_tool_results_count_from_the_last_user_message(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {"after_tools": 0, "reply": {"text": "none"}},
        {"after_tools": 2, "reply": {"text": "two, last $tool"}},
    )
    request = asked("a", tools=["1", "2"])
    assert (await completed(model, request)).parts == [TextPart(text="two, last 2")]
    steered = ModelRequest(system="", messages=[*request.messages, *asked("b").messages])
    assert (await completed(model, steered)).parts == [TextPart(text="none")]


async def test_a_rule_can_fail_the_first_attempt_only(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        {
            "attempt": 0,
            "reply": {"error": {"code": "rate_limited", "retry_after_seconds": 0.5}},
        },
        {"reply": {"text": "fine"}},
    )
    with pytest.raises(RateLimitedError) as raised:
        await drained(model, asked("a"))
    assert raised.value.retry_after_seconds == 0.5
    assert (await completed(model, asked("a", attempt=1))).parts == [TextPart(text="fine")]


@pytest.mark.parametrize(
    "code", ["model", "model_timeout", "stream_cut", "context_too_long", "unknown_model"]
)
async def test_a_rule_can_raise_every_error_of_the_tree(tmp_path: Path, code: str) -> None:
    model = script(tmp_path, {"reply": {"error": {"code": code, "message": "so"}}})
    with pytest.raises(ModelError, match="so") as raised:
        await drained(model, asked("a"))
    assert raised.value.code == code


async def test_no_rule_that_fits_is_an_error_that_names_the_text(tmp_path: Path) -> None:
    model = script(tmp_path, {"when": "x", "reply": {"text": "y"}})
    with pytest.raises(ModelError, match="no rule for 'hello'"):
        await drained(model, asked("hello"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[", "truncated"),
        ('[{"when": "(", "reply": {}}]', "missing \\)"),
        ('[{"reply": {"texts": "typo"}}]', "texts"),
        ('[{"reply": {"error": {"code": "nonsense"}}}]', "nonsense"),
    ],
)
def test_a_script_that_does_not_load_says_why(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(UnknownModelError, match=reason):
        load_script(path, name="scripted:script.json")
