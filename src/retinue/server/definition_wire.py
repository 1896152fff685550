"""Wire types for definitions and their graphs."""

from typing import Literal

from retinue.definitions.graph_nodes import GraphDefinition, GraphPackage, GraphPrompt
from retinue.server.wire import Answer, Asked, ProblemEntry


class SideEntry(Answer, frozen=True, kw_only=True):
    """A side with a model."""

    name: Literal["side_a", "side_b"]
    label: str


class DefinitionEntry(Answer, frozen=True, kw_only=True):
    """A definition in a list."""

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
    """Whether to include definitions that are private to a package."""

    private: bool = False


class DefinitionList(Answer, frozen=True, kw_only=True):
    """All definitions, and load errors."""

    definitions: list[DefinitionEntry]
    problems: list[ProblemEntry]


class DefinitionGraph(Answer, frozen=True, kw_only=True):
    """A definition, first, with everything that it uses, and the load errors of those files."""

    definitions: list[GraphDefinition]
    prompts: list[GraphPrompt]
    problems: list[ProblemEntry]
