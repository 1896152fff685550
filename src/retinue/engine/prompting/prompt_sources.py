"""Where prompts get what they list: plugins know the skills, the artifacts' store the items."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from retinue.agents.prompt_entries import ItemGroup, SkillEntry
from retinue.definitions.definition import Definition
from retinue.ids import OwnerId
from retinue.project.snapshot import ProjectSnapshot
from retinue.tools.port import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillOffer:
    """The skills of a definition."""

    entries: Sequence[SkillEntry] = ()
    replaces: frozenset[str] = field(default_factory=frozenset[str])
    """tools that the model is not shown, because a skill does the same"""


class Skills(Protocol):
    """The skills there are; asked when a plan is made, never in a step."""

    def offered(
        self, snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
    ) -> SkillOffer:
        """What this definition may use, given the tools that its scope allows."""
        ...


class NoSkills:
    """Implements `Skills` where there are none."""

    def offered(
        self, snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
    ) -> SkillOffer:
        del snapshot, definition, tools
        return SkillOffer()


class Artifacts(Protocol):
    """The artifacts of owners; asked once a turn, so it answers from memory."""

    @property
    def revision(self) -> int:
        """Changes when anybody's artifacts do."""
        ...

    async def listed(
        self, owner: OwnerId, types: Collection[str], *, limit: int
    ) -> Sequence[ItemGroup]:
        """At most so many of each type, in an order that stays, and how many there are."""
        ...
