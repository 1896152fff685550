"""Opening a list, a note or a view in a window of its owner, so that the person sees it."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from retinue.agents.artifact import (
    ArtifactId,
    ArtifactKind,
    ItemList,
    Note,
    View,
    kind_of,
    name_of,
)
from retinue.agents.panel import HEADLESS
from retinue.errors import NotFoundError
from retinue.plugins.port import OperationContext

SHOWING = "panels.write"
"""What an operation needs, beside reading, to change what a person sees."""

_TOLD = {
    "opened": "The person's window shows it now.",
    "offered": "The person is writing there, so their window asks first whether to open it.",
    "asked": "Their window was asked and has not answered yet.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRequest:
    """What is to be seen, and where."""

    kind: ArtifactKind
    id: ArtifactId
    name: str
    panel_id: str | None
    window_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What came of a wish."""

    window_id: str
    how: Literal["opened", "offered", "asked"]


class Opener(Protocol):
    """The windows that people have open."""

    async def open(self, ctx: OperationContext, wish: ShowRequest) -> Opened:
        """Let one window open it, once for the call's key. Raises `NotFoundError`."""
        ...


class NoWindows:
    """Implements `Opener` where nobody can have a window."""

    async def open(self, ctx: OperationContext, wish: ShowRequest) -> Opened:
        del ctx, wish
        raise NotFoundError(HEADLESS)


async def open_for(
    opener: Opener,
    ctx: OperationContext,
    artifact: ItemList | Note | View,
    panel_id: str | None,
    window_id: str | None,
) -> dict[str, Any]:
    """Open an artifact and tell what the window said."""
    wish = ShowRequest(
        kind=kind_of(artifact),
        id=artifact.id,
        name=name_of(artifact),
        panel_id=panel_id,
        window_id=window_id,
    )
    opened = await opener.open(ctx, wish)
    return {
        "shown": {"kind": wish.kind, "id": wish.id, "name": wish.name},
        "windowId": opened.window_id,
        "state": opened.how,
        "message": _TOLD[opened.how],
    }
