"""What every model must do, whoever serves it."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from retinue.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    RateLimitedError,
    StreamCutError,
    UnknownModelError,
)
from retinue.ids import CallId
from retinue.messages import (
    AssistantMessage,
    CallPart,
    ImageContent,
    ModelMessage,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolMessage,
    Usage,
    UserMessage,
)
from retinue.models.port import (
    CallDelta,
    Completed,
    Model,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
)
from retinue.models.providers.connection import Timeouts
from retinue.models.registry import ModelRegistry
from retinue.settings import load_settings
from retinue.settings.secrets import Vault
from retinue.testing.model_server import Act, Answer, ModelServer, Refusal, Stall
from retinue.testing.model_wire import Tokens, ToolUse, Trouble

TOML = """
[providers.openai]
base_url = "{url}/v1"
[providers.anthropic]
base_url = "{url}"
[providers.google]
base_url = "{url}"
[providers.ollama]
base_url = "{url}/v1"
[providers.local]
kind = "openai-compatible"
base_url = "{url}/v1"
api_key = "secret-local"
"""
KEYS = {
    "OPENAI_API_KEY": "secret-openai",
    "ANTHROPIC_API_KEY": "secret-anthropic",
    "GEMINI_API_KEY": "secret-google",
}
NAMES = {
    "openai": "openai:gpt-5",
    "anthropic": "anthropic:claude-opus-5",
    "google": "google:gemini-2.5-pro",
    "ollama": "ollama:llama3",
    "local": "local:small",
}
TOOL = ToolSpec(
    name="order",
    description="Order something.",
    parameters={
        "type": "object",
        "properties": {"item": {"type": "string"}},
        "required": ["item"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider on the scripted server."""

    kind: str
    server: ModelServer
    model: Model


class Bench:
    """Starts servers with a script, and models that talk to them."""

    def __init__(self, kind: str, tmp_path: Path) -> None:
        self.kind = kind
        self._tmp_path = tmp_path
        self._servers: list[ModelServer] = []
        self._registries: list[ModelRegistry] = []

    async def provider(
        self, *script: Act, first_event: float = 20, idle: float = 20, kind: str | None = None
    ) -> Provider:
        server = await ModelServer(script).__aenter__()
        self._servers.append(server)
        kind = kind or self.kind
        timeouts = Timeouts(first_event=first_event, idle=idle)
        model = await self._model(server.url, kind, timeouts)
        return Provider(kind=kind, server=server, model=model)

    async def nobody(self) -> Model:
        """Give a model whose server has gone."""
        async with ModelServer() as server:
            url = server.url
        return await self._model(url, self.kind, Timeouts())

    async def close(self) -> None:
        for registry in self._registries:
            await registry.close()
        for server in self._servers:
            await server.__aexit__(None, None, None)

    async def _model(self, url: str, kind: str, timeouts: Timeouts) -> Model:
        (self._tmp_path / "retinue.toml").write_text(TOML.format(url=url))
        settings = load_settings(self._tmp_path, KEYS)
        registry = ModelRegistry(
            settings.providers,
            vault=Vault(environment=KEYS, directory=self._tmp_path),
            project_dir=self._tmp_path,
            timeouts=timeouts,
        )
        self._registries.append(registry)
        return await registry.get(NAMES[kind])


@pytest.fixture(params=[*NAMES])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    found = Bench(request.param, tmp_path)
    yield found
    await found.close()


def only(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bench", kinds, indirect=True)


def asked(
    *messages: ModelMessage | str, tools: Sequence[ToolSpec] = (TOOL,), **more: Any
) -> ModelRequest:
    said = [
        UserMessage(content=[TextContent(text=message)]) if isinstance(message, str) else message
        for message in messages
    ]
    return ModelRequest(system="You help.", messages=said, tools=tools, **more)


async def drained(model: Model, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def completed(model: Model, request: ModelRequest) -> Completed:
    last = (await drained(model, request))[-1]
    assert isinstance(last, Completed)
    return last


async def failure(model: Model, request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await drained(model, request or asked("hi"))
    return raised.value


def sent(provider: Provider, index: int = -1) -> str:
    """Give a request's body as text, to look for what must or must not be in it."""
    return str(provider.server.asked[index].body)


# ---------------------------------------------------------------- answers


async def test_text_streams_in_deltas_that_add_up_to_the_whole(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Hello to you all"))
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
        Answer(text="x", tokens=Tokens(input=100, output=7, cache_read=60))
    )
    last = await completed(provider.model, asked("hi"))
    assert last.usage == Usage(input=40, output=7, cache_read=60)


@only("openai", "google", "ollama", "local")
async def test_a_provider_that_counts_nothing_gives_no_usage(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="x", tokens=None))
    assert (await completed(provider.model, asked("hi"))).usage is None


async def test_a_tool_call_streams_and_arrives_whole(bench: Bench) -> None:
    use = ToolUse(name="order", arguments='{"item": "milk"}')
    provider = await bench.provider(Answer(text="Yes.", calls=[use]))
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
    provider = await bench.provider(Answer(calls=[ToolUse(name="order", arguments="{}")]))
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
    provider = await bench.provider(Answer(calls=[ToolUse(name="order", arguments=written)]))
    (call,) = (await completed(provider.model, asked("go"))).parts
    assert isinstance(call, CallPart)
    assert (call.arguments, call.malformed) == ({}, written)


async def test_the_history_of_a_malformed_call_can_be_sent(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Again."))
    broken = CallPart(id=CallId("c1"), name="order", malformed='{"item": "mi')
    history = [
        AssistantMessage(parts=[broken], model="x"),
        ToolMessage(call=CallId("c1"), name="order", text="not JSON", is_error=True),
    ]
    assert (await completed(provider.model, asked("order", *history))).parts
    assert "not JSON" in sent(provider)


async def test_missing_and_repeated_call_ids_become_unique(bench: Bench) -> None:
    uses = [ToolUse(name="order", id=identity) for identity in ("same", "same")]
    provider = await bench.provider(Answer(calls=uses), Answer(calls=uses))
    first = await completed(provider.model, asked("go"))
    second = await completed(provider.model, asked("go"))
    ids = [part.id for part in (*first.parts, *second.parts) if isinstance(part, CallPart)]
    assert len(ids) == len(set(ids)) == 4


@only("openai", "ollama", "local")
async def test_a_call_without_an_id_gets_one(bench: Bench) -> None:
    provider = await bench.provider(Answer(calls=[ToolUse(name="order", id=None)]))
    (call,) = (await completed(provider.model, asked("go"))).parts
    assert isinstance(call, CallPart)
    assert call.id


async def test_an_empty_answer_is_an_answer_without_words(bench: Bench) -> None:
    provider = await bench.provider(Answer())
    last = await completed(provider.model, asked("hi"))
    assert "".join(part.text for part in last.parts if isinstance(part, TextPart)) == ""
    assert not any(isinstance(part, CallPart) for part in last.parts)


async def test_lone_surrogates_are_replaced_and_split_characters_joined(bench: Bench) -> None:
    use = ToolUse(name="order", arguments='{"item": "a\\ud800b"}')
    provider = await bench.provider(
        Answer(text=["x\ud800y", "\ud83d", "\ude00", "z\ud83d"], calls=[use])
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
    provider = await bench.provider(Answer(thinking="Hm.", signature="c2ln", text="Yes."))
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
        Answer(thinking="Hm.", signature="signed-thought", calls=[ToolUse(name="order")]),
        Answer(text="Done."),
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    blocks = provider.server.asked[-1].body["messages"][1]["content"]
    assert blocks[0] == {"type": "thinking", "thinking": "Hm.", "signature": "signed-thought"}


@only("google")
async def test_google_gets_its_signed_calls_back(bench: Bench) -> None:
    signature = base64.b64encode(b"signed-call").decode()
    provider = await bench.provider(
        Answer(calls=[ToolUse(name="order", signature=signature)]), Answer(text="Done.")
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    assert signature in sent(provider)


def with_result(last: Completed, model: str) -> list[ModelMessage]:
    calls = [part for part in last.parts if isinstance(part, CallPart)]
    results = [ToolMessage(call=call.id, name=call.name, text="ordered") for call in calls]
    return [as_history(last, model), *results]


@pytest.mark.parametrize("origin", [*NAMES])
async def test_history_of_any_other_provider_is_usable_without_its_signatures(
    bench: Bench, origin: str
) -> None:
    if origin == bench.kind:
        pytest.skip("not another provider")
    signature = base64.b64encode(b"foreign-signature").decode()
    use = ToolUse(name="order", arguments='{"item": "milk"}', signature=signature)
    other = await bench.provider(
        Answer(thinking="foreign thought", signature=signature, text="I order.", calls=[use]),
        kind=origin,
    )
    last = await completed(other.model, asked("go"))
    provider = await bench.provider(Answer(text="Done."))
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
        Answer(calls=[ToolUse(name="order", id="a"), ToolUse(name="order", id="b")]),
        Answer(text="Done."),
    )
    last = await completed(provider.model, asked("go"))
    await completed(provider.model, asked("go", *with_result(last, provider.model.name)))
    body = sent(provider)
    for part in last.parts:
        assert isinstance(part, CallPart)
        assert body.count(part.id) == 2


async def test_the_request_carries_system_tools_images_and_the_key(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="ok"))
    image = ImageContent(mime_type="image/png", data=b"\x89PNG-pixels")
    message = UserMessage(content=[TextContent(text="What is it?"), image])
    await completed(provider.model, asked(message))
    body = sent(provider)
    for part in ("You help.", "What is it?", "Order something.", "item"):
        assert part in body
    assert base64.b64encode(b"\x89PNG-pixels").decode() in body
    headers = str(provider.server.asked[-1].headers)
    assert ("no-key" if bench.kind == "ollama" else f"secret-{bench.kind}") in headers


async def test_settings_and_tool_choice_are_passed_on(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="ok"), Answer(text="ok"))
    settings: Mapping[str, Any] = {"maxTokens": 123, "nonsense": 1, "max_retries": 5}
    await completed(provider.model, asked("hi", settings=settings, tool_choice="required"))
    body = sent(provider)
    assert "123" in body
    assert "nonsense" not in body
    wanted = {"anthropic": "'any'", "google": "'ANY'"}.get(bench.kind, "'required'")
    assert wanted in body


# ---------------------------------------------------------------- failures


async def test_a_rate_limit_says_how_long_to_wait(bench: Bench) -> None:
    refusal = Refusal(trouble="rate_limited", headers={"Retry-After": "7"})
    provider = await bench.provider(refusal)
    error = await failure(provider.model)
    assert isinstance(error, RateLimitedError)
    assert error.retry_after_seconds == 7
    assert error.is_retryable


async def test_nothing_is_retried_here(bench: Bench) -> None:
    provider = await bench.provider(*[Refusal(trouble="server_error")] * 5)
    await failure(provider.model)
    assert len(provider.server.asked) == 1


@pytest.mark.parametrize("trouble", ["server_error", "overloaded"])
async def test_a_server_in_trouble_is_worth_another_try(bench: Bench, trouble: Trouble) -> None:
    provider = await bench.provider(Refusal(trouble=trouble))
    error = await failure(provider.model)
    assert error.is_retryable
    assert type(error) is ModelError


async def test_a_server_that_is_not_there_is_worth_another_try(bench: Bench) -> None:
    error = await failure(await bench.nobody())
    assert error.is_retryable
    assert "cannot reach" in error.message


async def test_a_context_that_is_too_long_is_known_as_that(bench: Bench) -> None:
    provider = await bench.provider(Refusal(trouble="context_too_long"))
    error = await failure(provider.model)
    assert isinstance(error, ContextTooLongError)
    assert not error.is_retryable


@only("local")
@pytest.mark.parametrize(
    "reported",
    [
        {"code": 400, "type": "exceed_context_size_error", "message": "too big", "n_ctx": 9},
        {"code": 400, "message": "This model's maximum context length is 8 tokens. You asked 9."},
        {"code": None, "message": "the input length exceeds the context length"},
    ],
)
async def test_other_servers_words_for_a_full_context_are_known(
    bench: Bench, reported: dict[str, Any]
) -> None:
    provider = await bench.provider(Refusal(status=400, body={"error": reported}))
    assert isinstance(await failure(provider.model), ContextTooLongError)


async def test_a_bad_request_is_not_tried_again(bench: Bench) -> None:
    provider = await bench.provider(Refusal(trouble="bad_request"))
    error = await failure(provider.model)
    assert type(error) is ModelError
    assert not error.is_retryable


async def test_a_refused_key_says_which_one_to_set(bench: Bench) -> None:
    provider = await bench.provider(Refusal(trouble="bad_key"))
    error = await failure(provider.model)
    assert type(error) is ModelError
    assert not error.is_retryable
    variables = {
        "openai": "OPENAI_API_KEY",
        "anthropic": "ANTHROPIC_API_KEY",
        "google": "GEMINI_API_KEY",
    }
    assert variables.get(bench.kind, f"[providers.{bench.kind}] api_key") in error.message


async def test_a_key_that_the_server_echoes_is_not_repeated(bench: Bench) -> None:
    body = {"error": {"message": f"bad key secret-{bench.kind}!", "status": "X", "type": "x"}}
    provider = await bench.provider(Refusal(status=400, body=body))
    message = (await failure(provider.model)).message
    assert "bad key" in message
    assert bench.kind == "ollama" or f"secret-{bench.kind}" not in message


async def test_a_model_that_the_provider_does_not_know_is_an_unknown_model(bench: Bench) -> None:
    provider = await bench.provider(Refusal(trouble="unknown_model"))
    error = await failure(provider.model)
    assert isinstance(error, UnknownModelError)
    assert provider.model.name in error.message


@only("openai", "anthropic")
async def test_an_empty_account_is_not_a_rate_limit(bench: Bench) -> None:
    provider = await bench.provider(Refusal(trouble="no_quota"))
    error = await failure(provider.model)
    assert type(error) is ModelError
    assert not error.is_retryable


async def test_an_error_in_mid_stream_is_the_same_error(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Half of it", then="error", trouble="overloaded"))
    error = await failure(provider.model)
    assert error.is_retryable


# ---------------------------------------------------------------- cut and silent streams


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_an_answer_without_a_finish_reason_is_no_answer(bench: Bench, then: Any) -> None:
    provider = await bench.provider(Answer(text="Half of it", then=then))
    seen: list[ModelEvent] = []
    with pytest.raises(StreamCutError):
        async for event in provider.model.stream(asked("hi")):
            seen.append(event)
    assert all(isinstance(event, TextDelta) for event in seen)


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_no_call_comes_of_arguments_that_were_cut(bench: Bench, then: Any) -> None:
    use = ToolUse(name="order", arguments='{"item": "milk"}')
    events = {"anthropic": 3, "google": 1}.get(bench.kind, 3)
    provider = await bench.provider(Answer(calls=[use], then=then, events=events))
    assert isinstance(await failure(provider.model), StreamCutError)


async def test_a_server_that_never_begins_to_answer_is_a_timeout(bench: Bench) -> None:
    provider = await bench.provider(Stall(), first_event=0.2)
    error = await failure(provider.model)
    assert isinstance(error, ModelTimeoutError)
    assert "did not begin to answer within 0.2 s" in error.message
    await asyncio.wait_for(provider.server.abandoned.wait(), 5)


async def test_a_server_that_falls_silent_is_a_timeout(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Half of it", then="stall"), idle=0.2)
    seen: list[ModelEvent] = []
    with pytest.raises(ModelTimeoutError, match=r"fell silent for 0\.2 s"):
        async for event in provider.model.stream(asked("hi")):
            seen.append(event)
    assert seen
    await asyncio.wait_for(provider.server.abandoned.wait(), 5)


@only("openai", "anthropic", "ollama", "local")
async def test_a_server_that_sends_signs_of_life_is_waited_for(bench: Bench) -> None:
    answer = Answer(text="At last.", keep_alives=4, pause_seconds=0.15)
    provider = await bench.provider(answer, first_event=0.4, idle=0.4)
    assert (await completed(provider.model, asked("hi"))).parts == [TextPart(text="At last.")]


async def test_a_slow_reader_is_no_silence(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="one two three"), idle=0.1)
    texts: list[str] = []
    async for event in provider.model.stream(asked("hi")):
        await asyncio.sleep(0.12)
        texts.append(type(event).__name__)
    assert texts[-1] == "Completed"


async def test_a_cancelled_call_closes_its_connection_at_once(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Half of it", then="stall"))
    call = asyncio.create_task(drained(provider.model, asked("hi")))
    await asyncio.wait_for(provider.server.stalled.wait(), 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(provider.server.abandoned.wait(), 2)


async def test_a_stream_that_is_left_early_closes_its_connection(bench: Bench) -> None:
    provider = await bench.provider(Answer(text="Half of it", then="stall"))
    stream = provider.model.stream(asked("hi"))
    await anext(stream)
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    await asyncio.wait_for(provider.server.abandoned.wait(), 2)
