"""Wire types for windows and their panels, limited in size because they are kept in memory."""

from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta, field

from retinue.agents.panel import Followed, Inventory, Panel
from retinue.errors import UsageError
from retinue.server.wire import Answer, Asked

LARGEST_INVENTORY = 48 * 1024
"""Bytes of JSON; a WebSocket message may be only slightly larger."""

DEEPEST_VALUE = 20
"""How deep a binding, a context or a layout may be nested."""

WindowId = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9_-]+$")]
PanelId = Annotated[str, Meta(min_length=1, max_length=128)]


class PanelEntry(Asked, frozen=True, kw_only=True):
    """One open panel."""

    panel_id: PanelId
    panel_type: Annotated[str, Meta(min_length=1, max_length=64)]
    panel_title: Annotated[str, Meta(max_length=200)] = ""
    visible: bool = True
    binding: dict[str, Any] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)


class FollowedEntry(Asked, frozen=True, kw_only=True):
    """A request to show something that the window has opened or offers to open."""

    show: Annotated[str, Meta(max_length=64)]
    how: Literal["opened", "offered"]


class PanelInventory(Asked, frozen=True, kw_only=True):
    """All panels of one window, and the selected ones."""

    panels: Annotated[list[PanelEntry], Meta(max_length=64)]
    selected_panel_id: PanelId | None = None
    selected_chat_panel_id: PanelId | None = None
    layout: dict[str, Any] = field(default_factory=dict)
    shown: Annotated[list[FollowedEntry], Meta(max_length=16)] = field(
        default_factory=list[FollowedEntry]
    )


class PushedInventory(PanelInventory, frozen=True, kw_only=True):
    """The inventory over the WebSocket: valid until the connection ends."""

    type: Literal["panel_inventory"]
    window_id: WindowId


class Lease(Answer, frozen=True, kw_only=True):
    """How long the inventory stays valid unless it is sent again."""

    lease_seconds: float


class WindowEntry(Answer, frozen=True, kw_only=True):
    """A window that is open now."""

    window_id: str
    inventory: Inventory


class WindowList(Answer, frozen=True, kw_only=True):
    """The windows of one owner."""

    windows: list[WindowEntry]


def inventory_of(sent: PanelInventory) -> Inventory:
    free = [sent.layout, *(one for panel in sent.panels for one in (panel.binding, panel.context))]
    if any(_is_deep(one, DEEPEST_VALUE) for one in free):
        raise UsageError(f"the inventory is nested more than {DEEPEST_VALUE} deep")
    if len(msgspec.json.encode(sent)) > LARGEST_INVENTORY:
        raise UsageError(f"the inventory is larger than {LARGEST_INVENTORY} bytes of JSON")
    return Inventory(
        panels=[Panel(**msgspec.structs.asdict(panel)) for panel in sent.panels],
        selected_panel_id=sent.selected_panel_id,
        selected_chat_panel_id=sent.selected_chat_panel_id,
        layout=sent.layout,
        shown=[Followed(show=one.show, how=one.how) for one in sent.shown],
    )


def _is_deep(value: object, deepest: int) -> bool:
    """Whether a value is nested deeper than `deepest`; models receive it as text."""
    match value:
        case dict():
            inner = list(cast("dict[str, object]", value).values())
        case list():
            inner = cast("list[object]", value)
        case _:
            return False
    return deepest == 0 or any(_is_deep(one, deepest - 1) for one in inner)
