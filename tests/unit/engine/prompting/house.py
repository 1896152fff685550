"""A project whose agents have lists, notes, skills and windows, for tests of what models see."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from retinue.agents.listed import ItemEntry, ItemGroup, SkillEntry
from retinue.agents.panel import Inventory, Panel
from retinue.definitions.definition import Definition
from retinue.engine.prompting.sources import SkillOffer
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.tools.function import tool
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


class Shelf:
    """Implements `Artifacts`; counts how often it is asked."""

    def __init__(self, owner: OwnerId = LOCAL_OWNER, **names: Sequence[str]) -> None:
        self.owner = owner
        self.names = dict(names)
        self.asked = 0

    async def listed(
        self, owner: OwnerId, types: Collection[str], *, limit: int
    ) -> Sequence[ItemGroup]:
        self.asked += 1
        if owner != self.owner:
            return []
        return [
            ItemGroup(
                type=kind,
                items=[ItemEntry(id=f"{kind}-{n}", name=name) for n, name in enumerate(names)][
                    :limit
                ],
                total=len(names),
            )
            for kind, names in self.names.items()
            if kind in types
        ]


class Rack:
    """Implements `Skills`."""

    def __init__(self, *entries: SkillEntry, replaces: Collection[str] = ()) -> None:
        self.revision = 0
        self._offer = SkillOffer(entries=entries, replaces=frozenset(replaces))

    def offered(self, definition: Definition, tools: Mapping[str, Tool]) -> SkillOffer:
        del tools
        return self._offer if definition.skill_allowlist != () else SkillOffer()


def shown(kind: str = "list", id: str = "list-0", **context: Any) -> Inventory:
    """A window with a chat and one panel of artifacts."""
    panel = Panel(
        panel_id="p1",
        panel_type="artifacts",
        panel_title="Artifacts",
        context={"type": kind, "id": id, **context},
    )
    chat = Panel(panel_id="c1", panel_type="chat", binding={"agentId": "a1"})
    return Inventory(panels=[chat, panel], selected_panel_id="p1", selected_chat_panel_id="c1")
