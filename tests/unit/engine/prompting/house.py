"""A project whose agents have lists, notes, skills and windows, for tests of what models see."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from retinue.agents.panel import Inventory, Panel
from retinue.agents.prompt_entries import SkillEntry
from retinue.definitions.definition import Definition
from retinue.engine.prompting.prompt_sources import SkillOffer
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.project.snapshot import ProjectSnapshot
from retinue.testing.kit import Kit
from retinue.testing.store_artifact_contract import a_list, a_note, put
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool


def reader(name: str, capability: str, description: str = "Read it.") -> Tool:
    async def read() -> str:
        return f"{name} read"

    read.__doc__ = description
    return tool(name=name, effect="pure", capabilities=[capability])(read).as_tool()


READERS = [
    reader("notes_read", "notes.read", "Read a note.\n\nWith its tags."),
    reader("lists_get", "lists.read", "Read a list."),
    replace(reader("pulse", "pulse.read"), name="system_pulse", source="builtin"),
]


async def keep(
    kit: Kit, *, lists: Sequence[str] = (), notes: Sequence[str] = (), owner: OwnerId = LOCAL_OWNER
) -> None:
    """Keep lists and notes of these names, with ids that begin with them."""
    for name in lists:
        await put(kit.store.artifacts, a_list(id_of(name), name), owner=owner)
    for name in notes:
        await put(kit.store.artifacts, a_note(id_of(name), name), owner=owner)


def id_of(name: str) -> str:
    return name.lower().replace(" ", "-")


class Rack:
    """Implements `Skills`."""

    def __init__(self, *entries: SkillEntry, replaces: Collection[str] = ()) -> None:
        self._offer = SkillOffer(entries=entries, replaces=frozenset(replaces))

    def offered(
        self, snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
    ) -> SkillOffer:
        del snapshot, tools
        return self._offer if definition.skill_allowlist != () else SkillOffer()


def shown(kind: str = "list", id: str = "groceries", **context: Any) -> Inventory:
    """A window with a chat and one panel of artifacts."""
    panel = Panel(
        panel_id="p1",
        panel_type="artifacts",
        panel_title="Artifacts",
        context={"type": kind, "id": id, **context},
    )
    chat = Panel(panel_id="c1", panel_type="chat", binding={"agentId": "a1"})
    return Inventory(panels=[chat, panel], selected_panel_id="p1", selected_chat_panel_id="c1")
