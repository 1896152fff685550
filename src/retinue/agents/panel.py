"""What a person's window shows, as the window itself tells it; trusted for nothing."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

HEADLESS = "No client is connected: nobody has a window open, so there are no panels."

ARTIFACTS = "artifacts"
"""The type of panels in which lists, notes and views can be opened."""


class Panel(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One open panel."""

    panel_id: str
    panel_type: str  # "artifacts", "chat", ...
    panel_title: str = ""
    visible: bool = True
    binding: dict[str, Any] = {}  # what it is bound to, such as a chat to its agent
    context: dict[str, Any] = {}  # what is active in it: type, id, name, selectedItemIds ...

    @property
    def is_chat(self) -> bool:
        return self.panel_type == "chat"


class Followed(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a window made of a request to show something."""

    show: str  # the request's id
    how: Literal["opened", "offered"]  # offered = the person was writing there, and is asked


class Inventory(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """All panels of one window."""

    panels: Sequence[Panel] = ()
    selected_panel_id: str | None = None
    selected_chat_panel_id: str | None = None
    layout: dict[str, Any] = {}
    shown: Sequence[Followed] = ()  # the last requests that the window followed
