"""How models fail: each failure by its type, no answer out of half of one, no silence for ever."""

import asyncio
from collections.abc import AsyncIterator
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
from retinue.models.port import (
    ModelEvent,
    TextDelta,
)
from retinue.records import TextPart
from retinue.testing.kit import PATIENCE_SECONDS
from retinue.testing.model_server import Refusal, ScriptedAnswer, Stall
from retinue.testing.model_wire import ToolUse, Trouble
from tests.contracts.model_bench import (
    NAMES,
    Bench,
    asked,
    completed,
    drained,
    failure,
    only,
)


@pytest.fixture(params=[*NAMES])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(request.param, tmp_path) as found:
        yield found


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
    provider = await bench.provider(
        ScriptedAnswer(text="Half of it", then="error", trouble="overloaded")
    )
    error = await failure(provider.model)
    assert error.is_retryable


# ---------------------------------------------------------------- cut and silent streams


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_an_answer_without_a_finish_reason_is_no_answer(bench: Bench, then: Any) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Half of it", then=then))
    seen: list[ModelEvent] = []
    with pytest.raises(StreamCutError):
        async for event in provider.model.stream(asked("hi")):
            seen.append(event)
    assert all(isinstance(event, TextDelta) for event in seen)


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_no_call_comes_of_arguments_that_were_cut(bench: Bench, then: Any) -> None:
    use = ToolUse(name="order", arguments='{"item": "milk"}')
    events = {"anthropic": 3, "google": 1}.get(bench.kind, 3)
    provider = await bench.provider(ScriptedAnswer(calls=[use], then=then, events=events))
    assert isinstance(await failure(provider.model), StreamCutError)


async def test_a_server_that_never_begins_to_answer_is_a_timeout(bench: Bench) -> None:
    provider = await bench.provider(Stall(), first_event=0.2)
    error = await failure(provider.model)
    assert isinstance(error, ModelTimeoutError)
    assert "did not respond within 0.2 s" in error.message
    if provider.server.stalled.is_set():  # a busy machine may have given up before it connected
        await asyncio.wait_for(provider.server.abandoned.wait(), PATIENCE_SECONDS)


async def test_a_server_that_falls_silent_is_a_timeout(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Half of it", then="stall"), idle=0.2)
    seen: list[ModelEvent] = []
    with pytest.raises(ModelTimeoutError, match=r"sent no data for 0\.2 s"):
        async for event in provider.model.stream(asked("hi")):
            seen.append(event)
    assert seen
    await asyncio.wait_for(provider.server.abandoned.wait(), PATIENCE_SECONDS)


@only("openai", "anthropic", "ollama", "local")
async def test_a_server_that_sends_signs_of_life_is_waited_for(bench: Bench) -> None:
    answer = ScriptedAnswer(text="At last.", keep_alives=24, pause_seconds=0.1)
    provider = await bench.provider(answer, first_event=2, idle=2)
    assert (await completed(provider.model, asked("hi"))).parts == [TextPart(text="At last.")]


async def test_a_slow_reader_is_no_silence(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="one two three"), idle=1)
    texts: list[str] = []
    async for event in provider.model.stream(asked("hi")):
        if not texts:
            await asyncio.sleep(1.1)
        texts.append(type(event).__name__)
    assert texts[-1] == "Completed"


async def test_a_cancelled_call_closes_its_connection_at_once(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Half of it", then="stall"))
    call = asyncio.create_task(drained(provider.model, asked("hi")))
    await asyncio.wait_for(provider.server.stalled.wait(), PATIENCE_SECONDS)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(provider.server.abandoned.wait(), PATIENCE_SECONDS)


async def test_a_stream_that_is_left_early_closes_its_connection(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="Half of it", then="stall"))
    stream = provider.model.stream(asked("hi"))
    await anext(stream)
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    await asyncio.wait_for(provider.server.abandoned.wait(), PATIENCE_SECONDS)
