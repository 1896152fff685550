"""Shows a response while it is being streamed; nothing of it is stored."""

from retinue.engine.feed import Feed
from retinue.engine.warm import Warm
from retinue.events import DeltaEvent, StepEvent
from retinue.ids import new_id
from retinue.models.port import CallDelta, Completed, ModelEvent, TextDelta, ThinkingDelta


class Narrator:
    """Tells watchers about one model call."""

    def __init__(self, feed: Feed, warm: Warm, model: str) -> None:
        self._feed = feed
        self._warm = warm
        self._model = model
        self._step = ""

    def show(self, event: ModelEvent) -> None:
        if not self._step:
            self._step = new_id("s")
            self._tell(
                StepEvent(
                    agent_id=self._warm.id, step=self._step, state="started", model=self._model
                )
            )
        match event:
            case TextDelta():
                self._delta(event.part, "text", event.text)
            case ThinkingDelta():
                self._delta(event.part, "thinking", event.text)
            case CallDelta():
                self._delta(event.part, "call", event.arguments, event.name)
            case Completed():
                pass

    def discard(self) -> None:
        """What was shown will not become a record."""
        if self._step:
            self._tell(StepEvent(agent_id=self._warm.id, step=self._step, state="discarded"))

    def _delta(self, part: int, kind: str, text: str, name: str = "") -> None:
        self._tell(
            DeltaEvent(
                agent_id=self._warm.id,
                step=self._step,
                part=part,
                kind=kind,  # pyright: ignore[reportArgumentType]
                text=text,
                name=name,
            )
        )

    def _tell(self, event: StepEvent | DeltaEvent) -> None:
        self._feed.live(self._warm.owner, self._warm.id, event)
