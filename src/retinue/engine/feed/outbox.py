"""The outbox: delivers replies through their connectors, in order, with retries."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Protocol

from retinue.clock import Clock
from retinue.errors import RetinueError, StoreError
from retinue.failpoints import reach
from retinue.repeated_log import RepeatedLog
from retinue.stores.port import Delivery, Store

logger = logging.getLogger(__name__)

_BATCH = 100
_IDLE_SECONDS = 30.0
_LONGEST_DELAY_SECONDS = 300
_LONGEST_SEND_SECONDS = 120
_STORE_RETRY_SECONDS = 1.0


class UndeliverableError(RetinueError):
    """The channel permanently refuses this reply. It is not retried."""

    code = "undeliverable"


class Deliver(Protocol):
    """The sending side of a connector."""

    async def deliver(self, delivery: Delivery) -> None:
        """Send the reply; `delivery.key` lets the channel drop repeats."""
        ...


class Outbox:
    """Delivers due replies, each channel independently, and sleeps in between."""

    def __init__(self, store: Store, connectors: Mapping[str, Deliver], clock: Clock) -> None:
        self._store = store
        self._connectors = connectors
        self._clock = clock
        self._trouble = RepeatedLog(
            logger,
            "the outbox is delayed",
            over="the outbox continues",
            monotonic=clock.monotonic,
        )
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._timers: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        if self._connectors:
            self._task = asyncio.create_task(self._work())

    def nudge(self) -> None:
        self._news.set()

    async def stop(self) -> None:
        if self._task is not None:
            tasks = [self._task, *self._timers, *self._sending.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            self._news.clear()
            # Read before the query: replies that finish meanwhile were due too. They are queried
            # again, so the batch has room for others: a stalled channel does not delay the rest.
            busy = set(self._sending)
            try:
                due = await self._store.due_deliveries(self._clock.now(), _BATCH + len(busy))
            except StoreError as error:
                self._trouble.report(error)
                due = ()
            for delivery in due:
                if delivery.id not in busy:
                    self._sending[delivery.id] = asyncio.create_task(self._send(delivery))
            try:
                async with asyncio.timeout(_IDLE_SECONDS):  # `wait_for` may swallow a cancellation
                    await self._news.wait()
            except TimeoutError:
                continue

    async def _send(self, delivery: Delivery) -> None:
        try:
            await self._deliver(delivery)
        finally:
            del self._sending[delivery.id]
            self._news.set()

    async def _deliver(self, delivery: Delivery) -> None:
        connector = self._connectors.get(delivery.connector)
        if connector is None:
            await self._postpone(
                delivery, f"no connector {delivery.connector!r}", _LONGEST_DELAY_SECONDS
            )
            return
        try:
            reach("deliver:before")
            await asyncio.wait_for(connector.deliver(delivery), _LONGEST_SEND_SECONDS)
            reach("deliver:after")
        except UndeliverableError as error:
            reason = error.message
            await self._insist(
                lambda: self._store.delivery_failed(delivery.id, error=reason, retry_at=None)
            )
        except Exception as error:  # noqa: BLE001  an error delays only replies of its own channel
            logger.warning("a reply was not delivered", extra={"error": str(error)})
            seconds = min(_LONGEST_DELAY_SECONDS, 2.0**delivery.attempts)
            await self._postpone(delivery, str(error) or type(error).__name__, seconds)
        else:
            await self._insist(lambda: self._store.delivered(delivery.id))
            reach("deliver:done")

    async def _postpone(self, delivery: Delivery, error: str, seconds: float) -> None:
        retry_at = self._clock.now() + timedelta(seconds=seconds)
        await self._insist(
            lambda: self._store.delivery_failed(delivery.id, error=error, retry_at=retry_at)
        )
        timer = asyncio.create_task(self._nudge_later(seconds))
        self._timers.add(timer)
        timer.add_done_callback(self._timers.discard)

    async def _nudge_later(self, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self.nudge()

    async def _insist(self, write: Callable[[], Awaitable[None]]) -> None:
        """Retry until the outcome of a delivery is stored, so that it is not sent twice."""
        while True:
            try:
                await write()
                self._trouble.clear()
                return
            except StoreError as error:
                self._trouble.report(error)
                await self._clock.sleep(_STORE_RETRY_SECONDS)
