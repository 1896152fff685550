"""Entries that prompts list: the agent's skills and its owner's artifacts."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct


class SkillEntry(Struct, frozen=True, kw_only=True):
    """A skill as listed in prompts; the agent reads its file when needed."""

    name: str
    description: str
    file: str  # the path of SKILL.md
    command: str = ""  # the path of its command, if it has one


class KnownSkill(Struct, frozen=True, kw_only=True, rename="camel"):
    """A skill as clients list it, regardless of which agents may use it."""

    name: str
    description: str
    kind: Literal["plugin", "project"]
    file: str = ""  # its SKILL.md, relative to the project; empty for a plugin's skill
    license: str = ""
    compatibility: str = ""


class ItemEntry(Struct, frozen=True, kw_only=True):
    """A list, a note or a saved view."""

    id: str
    name: str


class ItemGroup(Struct, frozen=True, kw_only=True):
    """Artifacts of one type: a selection and the total count."""

    type: str  # "list", "note", "view"
    items: Sequence[ItemEntry]
    total: int
