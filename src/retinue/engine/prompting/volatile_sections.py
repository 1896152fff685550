"""What changes by itself, told after the conversation: artifact items, open panels."""

from collections.abc import Mapping, Sequence
from typing import Any

from retinue.agents.context import system_text
from retinue.agents.panel import Inventory, Panel
from retinue.agents.prompt_entries import ItemGroup
from retinue.agents.safe_names import name_line
from retinue.engine.prompting.prompt_sections import Section, joined

MOST_ITEMS = 50  # of each type
MOST_PANELS = 20  # of all windows
_HEADINGS = {"list": "Lists", "note": "Notes", "view": "Views"}


def closing_text(sections: Sequence[Section]) -> str:
    """The sections as one word of the engine; nothing when there are none."""
    return system_text(joined(sections)) if sections else ""


def items_now(groups: Sequence[ItemGroup]) -> Section | None:
    """The artifacts there are, by type; at most so many of each."""
    lines: list[str] = []
    for group in groups:
        if not group.total:
            continue
        lines.append(f"{_HEADINGS.get(group.type, name_line(group.type))}:")
        shown = group.items[:MOST_ITEMS]
        lines += [f"- {name_line(item.id)}: {name_line(item.name)}" for item in shown]
        if group.total > len(shown):
            lines.append(f"and {group.total - len(shown)} more")
    if not lines:
        return None
    return Section("items", "\n".join(["Available artifact items (id: name):", *lines]))


def panels_now(windows: Mapping[str, Inventory]) -> Section | None:
    """The panels that are open, without the chats: these are what the person talks in."""
    lines: list[str] = []
    left, hidden = MOST_PANELS, 0
    for window_id, inventory in windows.items():
        panels = [panel for panel in inventory.panels if not panel.is_chat]
        shown = panels[:left]
        left, hidden = left - len(shown), hidden + len(panels) - len(shown)
        if shown and len(windows) > 1:
            lines.append(f"Window {name_line(window_id)}:")
        lines += [_panel_line(panel, inventory) for panel in shown]
    if hidden:
        lines.append(f"and {hidden} more")
    return Section("panels", "\n".join(["Artifacts Panels:", *lines])) if lines else None


def _panel_line(panel: Panel, inventory: Inventory) -> str:
    kind = name_line(panel.panel_type)
    if panel.panel_id == inventory.selected_panel_id:
        kind += ", selected"
    elif not panel.visible:
        kind += ", not visible"
    return f"- {name_line(panel.panel_id)} ({kind}){_active(panel.context)}"


def _active(context: Mapping[str, Any]) -> str:
    if context.get("viewName"):
        return f": view {name_line(str(context['viewName']))}"
    if not context.get("type") or not context.get("id"):
        return ""
    told = f": {name_line(str(context['type']))} {name_line(str(context['id']))}"
    return f"{told}: {name_line(str(context['name']))}" if context.get("name") else told
