import asyncio
import threading
import time
from typing import Any

import pytest

from retinue.errors import RefusedError
from retinue.tools.execution import run_tool
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolOutput
from tests.unit.tools.support import Context, run


def raising(error: BaseException) -> FunctionTool[[], Any]:
    @tool(name="bad")
    async def bad() -> None:
        raise error

    return bad


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a number was wrong"),
        SystemExit(3),
        KeyboardInterrupt(),
        GeneratorExit(),
        MemoryError(),
        RecursionError("too deep"),
        StopAsyncIteration(),
        BaseException("odd"),
        TimeoutError("its own"),
        ExceptionGroup("several", [ValueError("one")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_is_a_result(ctx: Context, error: BaseException) -> None:
    done = await run(raising(error), ctx)
    assert done.status == "error"
    assert done.output.is_error
    assert type(error).__name__ in done.output.text
    assert "test_execution.py:" in done.output.text


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), StopIteration(), MemoryError()])
async def test_whatever_a_sync_tool_raises_is_a_result(ctx: Context, error: BaseException) -> None:
    @tool
    def bad() -> None:
        raise error

    done = await run(bad, ctx)
    assert done.status == "error"
    assert type(error).__name__ in done.output.text


async def test_endless_recursion_is_a_result(ctx: Context) -> None:
    @tool
    async def deep() -> None:
        def again() -> None:
            again()

        again()

    assert "RecursionError" in (await run(deep, ctx)).output.text


async def test_an_error_that_cannot_be_printed_is_named(ctx: Context) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError("mute")

    assert "MuteError" in (await run(raising(MuteError()), ctx)).output.text


async def test_a_refusal_is_told_apart_from_an_error(ctx: Context) -> None:
    done = await run(raising(RefusedError("Ask first.")), ctx)
    assert (done.status, done.output.text) == ("refused", "Ask first.")


async def test_a_tool_that_raises_a_cancellation_itself_is_an_error(ctx: Context) -> None:
    done = await run(raising(asyncio.CancelledError()), ctx)
    assert done.status == "error"
    assert "cancelled itself" in done.output.text


async def test_a_tool_that_cancels_its_own_task_is_an_error(ctx: Context) -> None:
    @tool
    async def bad() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    assert "cancelled itself" in (await run(bad, ctx)).output.text


async def test_a_cancellation_of_the_caller_reaches_the_tool_and_is_raised(ctx: Context) -> None:
    seen: list[str] = []
    started = asyncio.Event()

    @tool
    async def long() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("cleaned up")

    caller = asyncio.create_task(run(long, ctx))
    await started.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert seen == ["cleaned up"]


def stubborn(release: asyncio.Event) -> FunctionTool[[], Any]:
    @tool(name="stubborn")
    async def ignoring() -> None:
        while not release.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue

    return ignoring


async def test_a_tool_that_ignores_its_cancellation_does_not_hold_up_the_caller(
    ctx: Context,
) -> None:
    release = asyncio.Event()
    caller = asyncio.create_task(run(stubborn(release), ctx, timeout_seconds=50))
    await asyncio.sleep(0.1)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    release.set()
    await asyncio.sleep(0.1)


async def test_a_tool_is_stopped_at_its_time_limit(ctx: Context) -> None:
    @tool
    async def slow() -> None:
        await asyncio.sleep(60)

    done = await run(slow, ctx, timeout_seconds=0.05)
    assert done.status == "error"
    assert done.output.text == "slow took longer than its limit of 0.05 seconds and was stopped."


async def test_a_tool_that_does_not_stop_at_its_limit_is_left_behind(ctx: Context) -> None:
    release = asyncio.Event()
    done = await run(stubborn(release), ctx, timeout_seconds=0.05)
    assert "may still be running" in done.output.text
    release.set()
    await asyncio.sleep(0.1)


async def test_a_hanging_sync_tool_holds_up_nothing(ctx: Context) -> None:
    release = threading.Event()

    @tool
    def hang() -> None:
        release.wait(30)

    began = time.monotonic()
    done = await asyncio.gather(*(run(hang, ctx, timeout_seconds=0.1) for _ in range(50)))
    assert all("longer than its limit" in entry.output.text for entry in done)
    assert all("may still be running" in entry.output.text for entry in done)
    assert time.monotonic() - began < 25
    release.set()


async def test_a_tools_own_limits_take_the_place_of_the_settings(ctx: Context) -> None:
    @tool(timeout_seconds=0.05)
    async def slow() -> None:
        await asyncio.sleep(60)

    @tool(output_limit=10)
    def long() -> str:
        return "x" * 20

    assert "0.05 seconds" in (await run(slow, ctx)).output.text
    assert (await run(long, ctx)).cut == 10


async def test_output_over_the_limit_keeps_head_and_tail_and_says_what_is_missing(
    ctx: Context,
) -> None:
    @tool
    def long() -> str:
        return "HEAD" + "x" * 1000 + "TAIL"

    done = await run(long, ctx, output_limit=100)
    assert done.cut == 908
    assert done.output.text.startswith("HEADxxx")
    assert done.output.text.endswith("xxxTAIL")
    assert "[908 of 1008 characters omitted]" in done.output.text
    assert done.status == "ok"


async def test_an_error_text_is_cut_and_cleaned_too(ctx: Context) -> None:
    done = await run(raising(ValueError("\ud800" + "x" * 5000)), ctx, output_limit=100)
    assert done.cut > 4000
    done.output.text.encode()


@pytest.mark.parametrize("value", [None, 5, "text"])
async def test_an_invoke_that_gives_no_output_is_an_error(ctx: Context, value: object) -> None:
    made = raising(ValueError()).as_tool()

    async def invoke(*_: object) -> ToolOutput:
        return value  # pyright: ignore[reportReturnType]

    odd = type(made)(
        name="odd", description="", parameters={}, invoke=invoke, validate=made.validate
    )
    done = await run_tool(odd, ctx, {}, timeout_seconds=5, output_limit=100)
    assert "not a ToolOutput" in done.output.text


async def test_much_text_costs_the_loop_no_more_than_what_is_kept_of_it(ctx: Context) -> None:
    @tool
    def much() -> str:
        return "ü\ud800" * 20_000_000

    began = time.thread_time()  # of the thread that the loop is in; the tool has its own
    done = await run(much, ctx)
    assert done.cut == 40_000_000 - 30_000
    assert time.thread_time() - began < 0.2
