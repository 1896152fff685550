"""Runs blocking functions, each in its own thread."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_left: WeakSet[asyncio.Task[Any]] = WeakSet()


def goes_on(task: "asyncio.Task[Any]") -> bool:
    """Whether the task's function is still running although the task no longer waits for it."""
    return task in _left


async def in_thread(call: Callable[[], T], *, name: str) -> T:
    """Run a function in a thread and wait for it; if cancelled, the thread keeps running.

    The loop's executor is not used: a hanging function would occupy a slot forever, and the
    process could not exit. These threads are daemons.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[list[T], BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(values: list[T], error: BaseException | None) -> None:
        if not done.done():
            done.set_result((values, error))

    def work() -> None:
        values: list[T] = []
        raised: BaseException | None = None
        try:
            values.append(context.run(call))
        except BaseException as error:  # noqa: BLE001  (raised again where it is awaited)
            raised = error
        try:
            loop.call_soon_threadsafe(settle, values, raised)
        except RuntimeError:
            return  # the loop is closed

    threading.Thread(target=work, name=name, daemon=True).start()
    try:
        values, error = await done
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            _left.add(task)
        raise
    if error is not None:
        raise error
    return values[0]
