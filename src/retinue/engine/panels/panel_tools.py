"""`panels_list` and `panels_selected`: what the owner's open windows show."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field

from retinue.agents.panel import HEADLESS, Inventory, Panel
from retinue.agents.safe_names import name_line
from retinue.engine.panels.windows import Windows
from retinue.errors import NotFoundError, UsageError
from retinue.ids import OwnerId
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

PANEL_TOOLS = ("panels_list", "panels_selected")
"""The names, for definitions that load before the engine exists."""

WindowName = Annotated[
    str | None, Field(description="the window id, if several windows are open", max_length=64)
]
ChatsIncluded = Annotated[bool, Field(description="include panels that show a conversation")]
ContextIncluded = Annotated[
    bool, Field(description="include the active and selected items of each panel")
]
LayoutIncluded = Annotated[bool, Field(description="include the layout of the panels")]


def panel_tools(windows: Windows) -> Sequence[FunctionTool[..., Any]]:
    return [_list_tool(windows), _selected_tool(windows)]


def _list_tool(windows: Windows) -> FunctionTool[..., Any]:
    @tool(effect="pure", capabilities=["panels.read"])
    async def panels_list(
        ctx: ToolContext,
        includeChat: ChatsIncluded = False,  # noqa: N803  the names on the wire
        includeContext: ContextIncluded = False,  # noqa: N803
        includeLayout: LayoutIncluded = False,  # noqa: N803
        windowId: WindowName = None,  # noqa: N803
    ) -> dict[str, Any]:
        """List the panels open in the user's window, and which one is selected."""
        window_id, inventory = _window(windows, ctx.owner, windowId)
        shown = [panel for panel in inventory.panels if includeChat or not panel.is_chat]
        return {
            **_about(window_id, inventory, has_layout=includeLayout),
            "panels": [_told(panel, has_context=includeContext) for panel in shown],
        }

    return panels_list


def _selected_tool(windows: Windows) -> FunctionTool[..., Any]:
    @tool(effect="pure", capabilities=["panels.read"])
    async def panels_selected(
        ctx: ToolContext,
        includeChat: ChatsIncluded = False,  # noqa: N803
        includeContext: ContextIncluded = False,  # noqa: N803
        includeLayout: LayoutIncluded = False,  # noqa: N803
        windowId: WindowName = None,  # noqa: N803
    ) -> dict[str, Any]:
        """Get the selected panel of the user's window."""
        window_id, inventory = _window(windows, ctx.owner, windowId)
        by_id = {panel.panel_id: panel for panel in inventory.panels}
        panel = by_id.get(inventory.selected_panel_id or "")
        answer = _about(window_id, inventory, has_layout=includeLayout)
        answer["panel"] = panel and _told(panel, has_context=includeContext)
        if includeChat:
            chat = by_id.get(inventory.selected_chat_panel_id or "")
            answer["chatPanel"] = chat and _told(chat, has_context=includeContext)
        return answer

    return panels_selected


def _window(windows: Windows, owner: OwnerId, wanted: str | None) -> tuple[str | None, Inventory]:
    """The requested window. No open window is a valid answer; an unknown id is an error."""
    known = windows.of(owner)
    names = ", ".join(map(name_line, known))
    if wanted is not None:
        if wanted in known:
            return wanted, known[wanted]
        there = f"open are {names}" if known else HEADLESS
        raise NotFoundError(f"window_not_found: there is no window {name_line(wanted)}; {there}")
    if len(known) > 1:
        raise UsageError(
            f"window_required: several windows are open; name one as windowId: {names}"
        )
    return next(iter(known.items()), (None, Inventory()))


def _about(window_id: str | None, inventory: Inventory, *, has_layout: bool) -> dict[str, Any]:
    about: dict[str, Any] = {
        "windowId": window_id,
        "selectedPanelId": inventory.selected_panel_id,
        "selectedChatPanelId": inventory.selected_chat_panel_id,
    }
    if has_layout:
        about["layout"] = inventory.layout
    if window_id is None:
        about["message"] = HEADLESS
    return about


def _told(panel: Panel, *, has_context: bool) -> dict[str, Any]:
    told = msgspec.to_builtins(panel)
    told.setdefault("visible", True)
    if not has_context:
        told.pop("context", None)
    return told
