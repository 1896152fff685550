"""Shows a response while it is being streamed."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.feed.event_feed import Feed
from retinue.events import DeltaEvent, LiveEvent, StepEvent
from retinue.ids import AgentId, OwnerId, new_id
from retinue.models.port import CallDelta, Completed, ModelEvent, TextDelta, ThinkingDelta
from retinue.records import Part, TextPart, ThinkingPart
from retinue.text import clean_text

_GAP_SECONDS = 0.05  # between two updates to watchers of one response

_StreamedPart = tuple[Literal["text", "thinking", "call"], str, list[str]]
"""The kind of a part, the name of a call, and the pieces of its text."""


class ResponseStream:
    """Streams one model call to watchers, and what they missed to those who join late."""

    def __init__(self, feed: Feed, live: LiveAgent, model: str, *, is_dual: bool) -> None:
        self._feed = feed
        self._model = model
        self._side = live.state.turn.side if is_dual and live.state.turn else ""
        self._is_shown = False
        self._is_announced = False  # watchers know that the step started
        self._step_id = ""
        self._seen: list[ModelEvent] = []
        self._held: list[ModelEvent] = []  # not sent to watchers yet
        self._pause: asyncio.TimerHandle | None = None
        self.agent_id: AgentId = live.id
        self.owner: OwnerId = live.owner

    def show(self, event: ModelEvent) -> None:
        is_heard = self._feed.is_heard(self.owner, self.agent_id)
        if not self._is_shown:
            self._is_shown = True
            self._feed.streams(self)
            self._is_announced = not is_heard  # later watchers get it with `so_far`
        self._seen.append(event)
        if is_heard:
            self._held.append(event)
            if self._pause is None:
                self._send_held()

    def catch_up(self) -> None:
        """Send held-back output to watchers."""
        if self._held:
            held, self._held = self._held, []
            parts = [self._event(part, streamed) for part, streamed in _joined(held).items()]
            if self._is_announced:
                self._send(*parts)
            else:
                self._is_announced = True
                self._send(self._started(), *parts)

    def so_far(self) -> Sequence[LiveEvent]:
        """The step, and one delta per part with its complete text."""
        parts = [
            self._event(part, streamed) for part, streamed in sorted(_joined(self._seen).items())
        ]
        return [self._started(), *parts]

    def said(self) -> list[Part]:
        """The response so far, or an empty list until it contains text.

        Calls are left out: a call may be incomplete until the response is.
        """
        whole = [
            (kind, clean_text("".join(texts)))
            for _, (kind, _, texts) in sorted(_joined(self._seen).items())
            if kind != "call"
        ]
        if not any(kind == "text" and text.strip() for kind, text in whole):
            return []
        return [
            TextPart(text=text) if kind == "text" else ThinkingPart(text=text)
            for kind, text in whole
            if text.strip()
        ]

    def end(self) -> None:
        """The response is a record now, or is about to be."""
        if self._pause is not None:
            self._pause.cancel()
        if self._is_shown:
            self._feed.streams_no_more(self.agent_id)

    def discard(self) -> None:
        """The response will not become a record."""
        if self._is_shown:
            self._feed.streams_no_more(self.agent_id)
            self._send(StepEvent(agent_id=self.agent_id, step=self._step, state="discarded"))

    @property
    def _step(self) -> str:
        """The step's id, created on first use."""
        if not self._step_id:
            self._step_id = new_id("s")
        return self._step_id

    def _started(self) -> StepEvent:
        return StepEvent(
            agent_id=self.agent_id,
            step=self._step,
            state="started",
            model=self._model,
            side=self._side,
        )

    def _send_held(self) -> None:
        """Send what is held back, and start collecting the output of the next interval."""
        self._pause = None
        if self._held:
            self.catch_up()
            self._pause = asyncio.get_running_loop().call_later(_GAP_SECONDS, self._send_held)

    def _event(self, part: int, streamed: _StreamedPart) -> DeltaEvent:
        kind, name, texts = streamed
        return DeltaEvent(
            agent_id=self.agent_id,
            step=self._step,
            part=part,
            kind=kind,
            text="".join(texts),
            name=name,
        )

    def _send(self, *events: StepEvent | DeltaEvent) -> None:
        self._feed.live(self.owner, self.agent_id, *events)


def _joined(events: Sequence[ModelEvent]) -> dict[int, _StreamedPart]:
    """The parts of these events; computed on demand, as there are rarely watchers."""
    parts: dict[int, _StreamedPart] = {}
    for event in events:
        match event:
            case TextDelta():
                parts.setdefault(event.part, ("text", "", []))[2].append(event.text)
            case ThinkingDelta():
                parts.setdefault(event.part, ("thinking", "", []))[2].append(event.text)
            case CallDelta():
                parts.setdefault(event.part, ("call", event.name, []))[2].append(event.arguments)
            case Completed():
                pass
    return parts
