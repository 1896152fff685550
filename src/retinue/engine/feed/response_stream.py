"""Shows a response while it is being streamed, and knows how far it came."""

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

_GAP_SECONDS = 0.05  # between what watchers are told of one response: twenty times a second

_Told = tuple[Literal["text", "thinking", "call"], str, list[str]]
"""What a part is, the name of a call, and the pieces of its text."""


class ResponseStream:
    """Tells watchers about one model call, and latecomers what they missed of it."""

    def __init__(self, feed: Feed, live: LiveAgent, model: str, *, is_dual: bool) -> None:
        self._feed = feed
        self._model = model
        self._side = live.state.turn.side if is_dual and live.state.turn else ""
        self._is_shown = False
        self._is_announced = False  # watchers know that the step started
        self._step_id = ""
        self._seen: list[ModelEvent] = []
        self._held: list[ModelEvent] = []  # what watchers have not been told yet
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
                self._tell_held()

    def catch_up(self) -> None:
        """Tell watchers what was held back for the next moment."""
        if self._held:
            held, self._held = self._held, []
            parts = [self._event(part, told) for part, told in _together(held).items()]
            if self._is_announced:
                self._tell(*parts)
            else:
                self._is_announced = True
                self._tell(self._started(), *parts)

    def so_far(self) -> Sequence[LiveEvent]:
        """The step and one delta for each part, with all of its text."""
        parts = [self._event(part, told) for part, told in sorted(_together(self._seen).items())]
        return [self._started(), *parts]

    def said(self) -> list[Part]:
        """Give what was said so far, or nothing while it is less than some text.

        A call is no part of it: until the response is whole, nobody can tell that the call is.
        """
        whole = [
            (kind, clean_text("".join(texts)))
            for _, (kind, _, texts) in sorted(_together(self._seen).items())
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
        """What was shown is a record now, or is about to be."""
        if self._pause is not None:
            self._pause.cancel()
        if self._is_shown:
            self._feed.streams_no_more(self.agent_id)

    def discard(self) -> None:
        """What was shown will not become a record."""
        if self._is_shown:
            self._feed.streams_no_more(self.agent_id)
            self._tell(StepEvent(agent_id=self.agent_id, step=self._step, state="discarded"))

    @property
    def _step(self) -> str:
        """The step's id, made when somebody is told of it."""
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

    def _tell_held(self) -> None:
        """Tell what is held now, and what comes within the next moment together after it."""
        self._pause = None
        if self._held:
            self.catch_up()
            self._pause = asyncio.get_running_loop().call_later(_GAP_SECONDS, self._tell_held)

    def _event(self, part: int, told: _Told) -> DeltaEvent:
        kind, name, texts = told
        return DeltaEvent(
            agent_id=self.agent_id,
            step=self._step,
            part=part,
            kind=kind,
            text="".join(texts),
            name=name,
        )

    def _tell(self, *events: StepEvent | DeltaEvent) -> None:
        self._feed.live(self.owner, self.agent_id, *events)


def _together(events: Sequence[ModelEvent]) -> dict[int, _Told]:
    """The parts that these make; worked out for whoever asks, since mostly nobody does."""
    parts: dict[int, _Told] = {}
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
