"""The model that is built in: rules instead of a mind, so that everything works without a key."""

from collections.abc import AsyncIterator

from retinue.clock import Clock, SystemClock
from retinue.messages import TextPart, Usage
from retinue.models.port import Completed, ModelEvent, ModelRequest, TextDelta


class OfflineModel:
    """Answers from rules."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    @property
    def name(self) -> str:
        return "offline"

    @property
    def window(self) -> int | None:
        return 100_000

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        text = f"I am the offline model, and I saw {len(request.messages)} messages."
        yield TextDelta(part=0, text=text)
        yield Completed(
            parts=[TextPart(text=text)],
            usage=Usage(input=1, output=1),
            finish="stop",
            model=self.name,
        )
