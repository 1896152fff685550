"""The panels of a person's window, as reported by the window; not trusted."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

HEADLESS = "No client is connected: no window is open, so there are no panels."

ARTIFACTS = "artifacts"
"""The type of panels that show lists, notes and views."""


class Panel(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One open panel."""

    panel_id: str
    panel_type: str  # "artifacts", "chat", ...
    panel_title: str = ""
    visible: bool = True
    binding: dict[str, Any] = {}  # the object it is bound to, such as a chat's agent
    context: dict[str, Any] = {}  # its active object: type, id, name, selectedItemIds ...

    @property
    def is_chat(self) -> bool:
        return self.panel_type == "chat"


class Followed(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a window handled a request to open something."""

    show: str  # the request's id
    how: Literal["opened", "offered"]  # offered = the person was typing there and was asked first


class Inventory(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """All panels of one window."""

    panels: Sequence[Panel] = ()
    selected_panel_id: str | None = None
    selected_chat_panel_id: str | None = None
    layout: dict[str, Any] = {}
    shown: Sequence[Followed] = ()  # the latest requests that the window handled
