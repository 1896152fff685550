"""What prompts tell an agent that there is: skills it can use, artifacts of its owner."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct


class SkillEntry(Struct, frozen=True, kw_only=True):
    """A skill as prompts list it; how it works is read from its file when it is needed."""

    name: str
    description: str
    file: str  # the path of SKILL.md
    command: str = ""  # the path of its command line, where it has one


class KnownSkill(Struct, frozen=True, kw_only=True, rename="camel"):
    """A skill as doors list it, whoever may use it."""

    name: str
    description: str
    kind: Literal["plugin", "project"]
    file: str = ""  # its SKILL.md, as it is named from the project's folder; empty for a plugin's
    license: str = ""
    compatibility: str = ""


class ItemEntry(Struct, frozen=True, kw_only=True):
    """A list, a note or a saved view."""

    id: str
    name: str


class ItemGroup(Struct, frozen=True, kw_only=True):
    """The artifacts of one type: some of them, and how many there are."""

    type: str  # "list", "note", "view"
    items: Sequence[ItemEntry]
    total: int
