"""The outbox: replies leave through their connector, in order, until they are gone."""

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from retinue.clock import Clock
from retinue.errors import RetinueError
from retinue.failpoints import reach
from retinue.stores.port import Delivery, Store

logger = logging.getLogger(__name__)

_BATCH = 100
_IDLE_SECONDS = 30.0
_LONGEST_DELAY_SECONDS = 300


class UndeliverableError(RetinueError):
    """The channel will never take this reply: blocked, gone, refused. It is not tried again."""

    code = "undeliverable"


class Deliver(Protocol):
    """A connector's sending half."""

    async def deliver(self, delivery: Delivery) -> None:
        """Send it; `delivery.key` lets a channel that can drop a repeat."""
        ...


class Outbox:
    """Delivers what is due, and sleeps until something is."""

    def __init__(self, store: Store, connectors: Mapping[str, Deliver], clock: Clock) -> None:
        self._store = store
        self._connectors = connectors
        self._clock = clock
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._connectors:
            self._task = asyncio.create_task(self._work())

    def nudge(self) -> None:
        self._news.set()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            self._news.clear()
            try:
                due = await self._store.due_deliveries(self._clock.now(), _BATCH)
                await asyncio.gather(*(self._deliver(delivery) for delivery in due))
            except RetinueError as error:
                logger.error("the outbox waits: %s", error)
                due = []
                await self._clock.sleep(1)
            if not due:
                try:
                    await asyncio.wait_for(self._news.wait(), self._pause_seconds())
                except TimeoutError:
                    continue

    def _pause_seconds(self) -> float:
        return 1.0 if self._has_failed else _IDLE_SECONDS

    _has_failed = False

    async def _deliver(self, delivery: Delivery) -> None:
        connector = self._connectors.get(delivery.connector)
        if connector is None:
            retry_at = self._clock.now() + timedelta(seconds=_LONGEST_DELAY_SECONDS)
            error = f"no connector {delivery.connector!r}"
            await self._store.delivery_failed(delivery.id, error=error, retry_at=retry_at)
            return
        try:
            reach("deliver:before")
            await connector.deliver(delivery)
            reach("deliver:after")
        except UndeliverableError as error:
            await self._store.delivery_failed(delivery.id, error=error.message, retry_at=None)
        except Exception as error:  # noqa: BLE001  whatever a channel raises delays its own replies only
            self._has_failed = True
            seconds = min(_LONGEST_DELAY_SECONDS, 2.0**delivery.attempts)
            retry_at = self._clock.now() + timedelta(seconds=seconds)
            logger.warning("a reply was not delivered", extra={"error": str(error)})
            await self._store.delivery_failed(delivery.id, error=str(error), retry_at=retry_at)
        else:
            await self._store.delivered(delivery.id, self._clock.now())
