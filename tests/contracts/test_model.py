"""What every model must do, whoever serves it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retinue.definitions.model_options import ModelOptions
from retinue.ids import CallId
from retinue.model_messages import (
    AssistantMessage,
    ImageContent,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.offline.offline_model import OfflineModel
from retinue.models.port import (
    CallDelta,
    Completed,
    Model,
    TextDelta,
    ThinkingDelta,
)
from retinue.models.scripted import Reply, ScriptedModel
from retinue.records import (
    AssistantRecord,
    CallPart,
    TextPart,
    ThinkingPart,
    Usage,
    decode_record,
    encode_record,
)
from retinue.testing.model_server import ScriptedAnswer
from retinue.testing.model_wire import Tokens, ToolUse
from tests.contracts.model_bench import (
    NAMES,
    Bench,
    asked,
    completed,
    drained,
    only,
    sent,
)


@pytest.fixture(params=[*NAMES])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(request.param, tmp_path) as found:
        yield found


# ---------------------------------------------------------------- answers


async def test_text_streams_in_deltas_that_add_up_to_the_whole(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Hello to you all"))
    *deltas, last = await drained(provider.model, asked("hi"))
    assert isinstance(last, Completed)
    assert [event for event in deltas if not isinstance(event, TextDelta)] == []
    texts = [event.text for event in deltas if isinstance(event, TextDelta)]
    assert texts == ["Hello", " to", " you", " all"]
    assert last.parts == [TextPart(text="Hello to you all")]
    assert last.finish
    assert last.model == NAMES[bench.kind].partition(":")[2]


async def test_usage_counts_every_token_once(bench: Bench) -> None:
    provider = await bench.provider(
        ScriptedAnswer(text="x", tokens=Tokens(input=100, output=7, cache_read=60))
    )
    last = await completed(provider.model, asked("hi"))
    assert last.usage == Usage(input=40, output=7, cache_read=60)


@only("openai", "google", "ollama", "local")
async def test_a_provider_that_counts_nothing_gives_no_usage(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="x", tokens=None))
    assert (await completed(provider.model, asked("hi"))).usage is None


async def test_a_tool_call_streams_and_arrives_whole(bench: Bench) -> None:
    use = ToolUse(name="order", arguments='{"item": "milk"}')
    provider = await bench.provider(ScriptedAnswer(text="Yes.", calls=[use]))
    *deltas, last = await drained(provider.model, asked("order milk"))
    assert isinstance(last, Completed)
    calls = [event for event in deltas if isinstance(event, CallDelta)]
    assert {event.part for event in calls} == {1}
    assert [event.name for event in calls if event.name] == ["order"]
    assert "".join(event.arguments for event in calls) == '{"item": "milk"}'
    text, call = last.parts
    assert text == TextPart(text="Yes.")
    assert isinstance(call, CallPart)
    assert (call.name, call.arguments, call.malformed) == ("order", {"item": "milk"}, None)
    assert call.id


async def test_a_call_without_arguments_has_none(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(calls=[ToolUse(name="order", arguments="{}")]))
    (call,) = (await completed(provider.model, asked("go"))).parts
    assert isinstance(call, CallPart)
    assert (call.arguments, call.malformed) == ({}, None)


@only("openai", "anthropic", "ollama", "local")
@pytest.mark.parametrize(
    "written",
    ['{"item": "mi', "[1, 2]", '"milk"', "{'item': 1}", '{"item": NaN}', "[" * 50_000],
    ids=["cut", "list", "text", "quotes", "nan", "deep"],
)
async def test_arguments_that_are_no_json_object_come_as_they_were_written(
    bench: Bench, written: str
) -> None:
    provider = await bench.provider(
        ScriptedAnswer(calls=[ToolUse(name="order", arguments=written)])
    )
    (call,) = (await completed(provider.model, asked("go"))).parts
    assert isinstance(call, CallPart)
    assert (call.arguments, call.malformed) == ({}, written)


async def test_the_history_of_a_malformed_call_can_be_sent(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Again."))
    broken = CallPart(id=CallId("c1"), name="order", malformed='{"item": "mi')
    history = [
        AssistantMessage(parts=[broken], model="x"),
        ToolMessage(call=CallId("c1"), name="order", text="not JSON", is_error=True),
    ]
    assert (await completed(provider.model, asked("order", *history))).parts
    assert "not JSON" in sent(provider)


async def test_missing_and_repeated_call_ids_become_unique(bench: Bench) -> None:
    uses = [ToolUse(name="order", id=identity) for identity in ("same", "same")]
    provider = await bench.provider(ScriptedAnswer(calls=uses), ScriptedAnswer(calls=uses))
    first = await completed(provider.model, asked("go"))
    second = await completed(provider.model, asked("go"))
    ids = [part.id for part in (*first.parts, *second.parts) if isinstance(part, CallPart)]
    assert len(ids) == len(set(ids)) == 4


@only("openai", "ollama", "local")
async def test_a_call_without_an_id_gets_one(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(calls=[ToolUse(name="order", id=None)]))
    (call,) = (await completed(provider.model, asked("go"))).parts
    assert isinstance(call, CallPart)
    assert call.id


async def test_an_empty_answer_is_an_answer_without_words(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer())
    last = await completed(provider.model, asked("hi"))
    assert "".join(part.text for part in last.parts if isinstance(part, TextPart)) == ""
    assert not any(isinstance(part, CallPart) for part in last.parts)


async def test_lone_surrogates_are_replaced_and_split_characters_joined(bench: Bench) -> None:
    use = ToolUse(name="order", arguments='{"item": "a\\ud800b"}')
    provider = await bench.provider(
        ScriptedAnswer(text=["x\ud800y", "\ud83d", "\ude00", "z\ud83d"], calls=[use])
    )
    *deltas, last = await drained(provider.model, asked("hi"))
    assert isinstance(last, Completed)
    text, call = last.parts
    assert isinstance(text, TextPart)
    assert text.text == "x\ufffdy\U0001f600z\ufffd"
    assert isinstance(call, CallPart)
    assert call.arguments == {"item": "a\ufffdb"}
    streamed = "".join(event.text for event in deltas if isinstance(event, TextDelta))
    assert streamed == text.text


# ---------------------------------------------------------------- thinking and history


@only("anthropic", "google", "local")
async def test_thinking_streams_and_is_a_part_of_its_own(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(thinking="Hm.", signature="c2ln", text="Yes."))
    events = await drained(provider.model, asked("hi"))
    assert ThinkingDelta(part=0, text="Hm.") in events
    last = events[-1]
    assert isinstance(last, Completed)
    thought, text = last.parts
    assert isinstance(thought, ThinkingPart)
    assert thought.text == "Hm."
    assert text == TextPart(text="Yes.")
    if bench.kind == "anthropic":
        assert thought.signature == "c2ln"


def as_history(last: Completed, model: str) -> AssistantMessage:
    return AssistantMessage(parts=last.parts, model=model, provider=last.provider)


@only("anthropic")
async def test_anthropic_gets_its_signed_thoughts_back(bench: Bench) -> None:
    provider = await bench.provider(
        ScriptedAnswer(thinking="Hm.", signature="signed-thought", calls=[ToolUse(name="order")]),
        ScriptedAnswer(text="Done."),
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    blocks = provider.server.asked[-1].body["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "signed-thought"}


@only("google")
async def test_google_gets_its_signed_calls_back(bench: Bench) -> None:
    signature = base64.b64encode(b"signed-call").decode()
    provider = await bench.provider(
        ScriptedAnswer(calls=[ToolUse(name="order", signature=signature)]),
        ScriptedAnswer(text="Done."),
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    assert signature in sent(provider)


def with_result(last: Completed, model: str) -> list[ModelMessage]:
    calls = [part for part in last.parts if isinstance(part, CallPart)]
    results = [ToolMessage(call=call.id, name=call.name, text="ordered") for call in calls]
    return [as_history(last, model), *results]


@pytest.mark.parametrize(
    ("bench", "origin"),
    [(kind, other) for kind in NAMES for other in NAMES if kind != other],
    indirect=["bench"],
)
async def test_history_of_any_other_provider_is_usable_without_its_signatures(
    bench: Bench, origin: str
) -> None:
    signature = base64.b64encode(b"foreign-signature").decode()
    use = ToolUse(name="order", arguments='{"item": "milk"}', signature=signature)
    other = await bench.provider(
        ScriptedAnswer(
            thinking="foreign thought", signature=signature, text="I order.", calls=[use]
        ),
        kind=origin,
    )
    last = await completed(other.model, asked("go"))
    provider = await bench.provider(ScriptedAnswer(text="Done."))
    history = with_result(last, other.model.name)
    assert (await completed(provider.model, asked("go", *history))).parts == [
        TextPart(text="Done.")
    ]
    body = sent(provider)
    assert "I order." in body
    assert "ordered" in body
    assert signature not in body
    assert "foreign thought" not in body


async def test_calls_and_results_are_paired_by_id(bench: Bench) -> None:
    provider = await bench.provider(
        ScriptedAnswer(calls=[ToolUse(name="order", id="a"), ToolUse(name="order", id="b")]),
        ScriptedAnswer(text="Done."),
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    body = sent(provider)
    for part in last.parts:
        assert isinstance(part, CallPart)
        assert body.count(part.id) == 2


async def test_the_request_carries_system_tools_images_and_the_key(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="ok"))
    image = ImageContent(mime_type="image/png", data=b"\x89PNG-pixels")
    message = UserMessage(content=[TextContent(text="What is it?"), image])
    await completed(provider.model, asked(message))
    body = sent(provider)
    for part in ("You help.", "What is it?", "Order something.", "item"):
        assert part in body
    assert base64.b64encode(b"\x89PNG-pixels").decode() in body
    headers = str(provider.server.asked[-1].headers)
    assert ("no-key" if bench.kind == "ollama" else f"secret-{bench.kind}") in headers


async def test_options_are_passed_on(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="ok"), ScriptedAnswer(text="ok"))
    options = ModelOptions(max_tokens=123, tool_choice="required")
    await completed(provider.model, asked("hi", options=options))
    body = sent(provider)
    assert "123" in body
    wanted = {"anthropic": "'any'", "google": "'ANY'"}.get(bench.kind, "'required'")
    assert wanted in body


# ---------------------------------------------------------------- every model there is


@pytest.fixture(params=[*NAMES, "offline", "scripted"])
async def model(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Model]:
    """Give any model at all, one that answers "Hello to you all" where it can be told to."""
    if request.param == "offline":
        yield OfflineModel()
    elif request.param == "scripted":
        yield ScriptedModel(lambda _: Reply(text="Hello to you all", chunk=5))
    else:
        async with Bench(request.param, tmp_path) as bench:
            answer = ScriptedAnswer(text="Hello to you all")
            yield (await bench.provider(answer, answer)).model


async def test_every_model_ends_with_the_whole_of_what_it_streamed(model: Model) -> None:
    *deltas, last = await drained(model, asked("hello"))
    assert isinstance(last, Completed)
    assert not any(isinstance(event, Completed) for event in deltas)
    assert len(deltas) > 1
    streamed = "".join(event.text for event in deltas if isinstance(event, TextDelta))
    assert last.parts == [TextPart(text=streamed)]


async def test_every_model_can_be_asked_twice_and_at_the_same_time(model: Model) -> None:
    one, two = await asyncio.gather(
        completed(model, asked("hello")), completed(model, asked("hello"))
    )
    assert one.parts == two.parts


async def test_every_answer_can_be_stored(model: Model) -> None:
    last = await completed(model, asked("hello"))
    record = AssistantRecord(
        parts=list(last.parts),
        model=last.model,
        usage=last.usage,
        finish=last.finish,
        provider=dict(last.provider) if last.provider else None,
    )
    assert decode_record(encode_record(record)) == record


async def test_every_model_says_its_name_and_perhaps_its_window(model: Model) -> None:
    assert model.name in {*NAMES.values(), "offline", "scripted"}
    known = {NAMES["openai"], NAMES["responses"], NAMES["anthropic"], NAMES["google"], "offline"}
    assert (model.window is not None) == (model.name in known)
