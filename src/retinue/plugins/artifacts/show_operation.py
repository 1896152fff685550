"""Opens a list, a note or a view in a window of its owner."""

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
"""The capability to change what a person's window shows."""

_MESSAGES = {
    "opened": "The person's window now shows it.",
    "offered": "The person is typing there, so their window asks before it opens it.",
    "asked": "The request was sent to the person's window, which has not answered yet.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowRequest:
    """The artifact to open, and the panel and window to use."""

    kind: ArtifactKind
    id: ArtifactId
    name: str
    panel_id: str | None
    window_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The result of a request."""

    window_id: str
    how: Literal["opened", "offered", "asked"]


class Opener(Protocol):
    """The windows that people have open."""

    async def open(self, ctx: OperationContext, request: ShowRequest) -> Opened:
        """Open an artifact in one window, once per idempotency key. Raises `NotFoundError`."""
        ...


class NoWindows:
    """Implements `Opener` without windows."""

    async def open(self, ctx: OperationContext, request: ShowRequest) -> Opened:
        del ctx, request
        raise NotFoundError(HEADLESS)


async def open_for(
    opener: Opener,
    ctx: OperationContext,
    artifact: ItemList | Note | View,
    panel_id: str | None,
    window_id: str | None,
) -> dict[str, Any]:
    """Open an artifact and return the window's response."""
    request = ShowRequest(
        kind=kind_of(artifact),
        id=artifact.id,
        name=name_of(artifact),
        panel_id=panel_id,
        window_id=window_id,
    )
    opened = await opener.open(ctx, request)
    return {
        "shown": {"kind": request.kind, "id": request.id, "name": request.name},
        "windowId": opened.window_id,
        "state": opened.how,
        "message": _MESSAGES[opened.how],
    }
