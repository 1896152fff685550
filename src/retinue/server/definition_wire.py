"""Definitions over the wire: as people choose them, and with all that they lead to."""

from typing import Literal

from retinue.definitions.graph_nodes import GraphDefinition, GraphPackage, GraphPrompt
from retinue.server.wire import Answer, Asked, ProblemEntry


class SideEntry(Answer, frozen=True, kw_only=True):
    """A side that a model speaks for."""

    name: Literal["side_a", "side_b"]
    label: str


class DefinitionEntry(Answer, frozen=True, kw_only=True):
    """A definition as people choose it."""

    name: str
    display_name: str
    description: str
    type: Literal["ai_human", "dual_ai"]
    model: str | None
    icon: str | None
    color: str | None
    file: str
    is_default: bool
    ui_visible: bool
    is_public: bool
    sides: list[SideEntry]
    warnings: list[str]
    package: GraphPackage | None


class DefinitionsQuery(Asked, frozen=True, kw_only=True):
    """Whether also those that only their package can name."""

    private: bool = False


class DefinitionList(Answer, frozen=True, kw_only=True):
    """All definitions, and what does not load."""

    definitions: list[DefinitionEntry]
    problems: list[ProblemEntry]


class DefinitionGraph(Answer, frozen=True, kw_only=True):
    """What a definition leads to, itself first, and what is wrong in those files."""

    definitions: list[GraphDefinition]
    prompts: list[GraphPrompt]
    problems: list[ProblemEntry]
