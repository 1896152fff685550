"""One client's share of the stream: in order, joined when it lags, never without bound."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from retinue.engine.feed.event_feed import LaggedError
from retinue.events import DeltaEvent, Event, HelloEvent, StepEvent, ToolEvent
from retinue.server.event_clients import Backlog, LiveClients, merged, pump
from retinue.testing.kit import PATIENCE_SECONDS


def delta(text: str, *, step: str = "s", part: int = 0, name: str = "") -> DeltaEvent:
    return DeltaEvent(agent_id="a", step=step, part=part, kind="text", text=text, name=name)


async def all_of(backlog: Backlog) -> list[Event]:
    backlog.end()
    events: list[Event] = []
    while (event := await backlog.take()) is not None:
        events.append(event)
    return events


async def test_pieces_of_one_part_are_joined_while_nobody_takes_them() -> None:
    backlog = Backlog(size=2)
    for piece in ("one ", "two ", "three"):
        await backlog.put(delta(piece))
    await backlog.put(delta("other", part=1))
    assert await all_of(backlog) == [delta("one two three"), delta("other", part=1)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (delta("a"), delta("b", part=1)),
        (delta("a"), delta("b", step="t")),
        (delta("a"), HelloEvent(cursor=1)),
        (HelloEvent(cursor=1), delta("a")),
        (delta("a"), StepEvent(agent_id="a", step="s", state="discarded")),
        (delta("x" * 300_000), delta("b")),
    ],
)
def test_what_does_not_belong_together_stays_apart(earlier: Event, later: Event) -> None:
    assert merged(earlier, later) is None


def test_only_the_newest_progress_of_a_call_is_kept() -> None:
    first = ToolEvent(agent_id="a", call="c", name="n", state="progress", text="1 %")
    second = ToolEvent(agent_id="a", call="c", name="n", state="progress", text="2 %")
    assert merged(first, second) == second


async def test_a_full_outbox_makes_the_reader_of_the_stream_wait() -> None:
    backlog = Backlog(size=2)
    await backlog.put(HelloEvent(cursor=1))
    await backlog.put(HelloEvent(cursor=2))
    putting = asyncio.create_task(backlog.put(HelloEvent(cursor=3)))
    await asyncio.sleep(0.01)
    assert not putting.done()
    assert await backlog.take() == HelloEvent(cursor=1)
    await asyncio.wait_for(putting, PATIENCE_SECONDS)
    assert await all_of(backlog) == [HelloEvent(cursor=2), HelloEvent(cursor=3)]


class Source:
    """A stream that ends, or breaks, and knows whether it was closed."""

    def __init__(self, events: Sequence[Event], error: Exception | None = None) -> None:
        self.is_closed = False
        self._events = events
        self._error = error

    async def stream(self) -> AsyncIterator[Event]:
        try:
            for event in self._events:
                yield event
            if self._error is not None:
                raise self._error
        finally:
            self.is_closed = True


async def test_everything_is_sent_in_order_before_the_streams_end_is_told() -> None:
    source = Source([HelloEvent(cursor=n) for n in range(1000)], LaggedError("too slow"))
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)

    with pytest.raises(LaggedError):
        await pump(source.stream(), send)
    assert sent == [HelloEvent(cursor=n) for n in range(1000)]
    assert source.is_closed


async def test_a_client_that_fails_closes_its_stream() -> None:
    source = Source([HelloEvent(cursor=n) for n in range(1000)])

    async def send(event: Event) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await pump(source.stream(), send)
    assert source.is_closed


async def test_closing_waits_until_everybody_has_left() -> None:
    live = LiveClients()
    leave = live.join()

    async def client() -> None:
        await leave.wait()
        await asyncio.sleep(0.02)
        live.left(leave)

    leaving = asyncio.create_task(client())
    await live.close()
    assert live.count == 0
    await leaving
    assert live.join().is_set()


async def test_closing_does_not_wait_for_ever() -> None:
    live = LiveClients()
    live.join()
    await asyncio.wait_for(live.close(within_seconds=0.01), PATIENCE_SECONDS)
