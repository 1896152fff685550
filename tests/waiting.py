"""Waiting until something holds, however slow the machine is."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from retinue.testing.kit import PATIENCE_SECONDS


async def eventually(condition: Callable[[], object]) -> None:
    """Let others work until something holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it never came to hold"
        await asyncio.sleep(0.0005)


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Let others work until something holds that has to be asked for, such as in a store."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not await condition():
        assert time.monotonic() < end, "it never came to hold"
        await asyncio.sleep(0.005)
