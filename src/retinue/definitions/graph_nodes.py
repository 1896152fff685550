"""The nodes of a definition's graph as the API returns them; cheap for clients to import."""

from typing import Literal

from msgspec import Struct

EntryKind = Literal["tool", "prompt", "subagent", "handoff"]
RuleName = Literal["stop_tool", "session_stop", "session_fail", "session_status"]
ListName = Literal[
    "toolAllowlist",
    "toolDenylist",
    "toolApprovals",
    "capabilityAllowlist",
    "capabilityDenylist",
    "skillAllowlist",
    "skillDenylist",
    "agentAllowlist",
    "agentDenylist",
]


class _Node(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class GraphHook(_Node, frozen=True, kw_only=True):
    """A hook by its id, and the point of a run where it applies."""

    id: str
    kind: str


class GraphEntry(_Node, frozen=True, kw_only=True):
    """Something that a prompt can call."""

    kind: EntryKind
    name: str
    target: str  # the name of the prompt or definition in this graph
    optional: str | None  # the variable that switches it on
    is_blocking: bool
    is_resumable: bool
    is_immediate: bool


class GraphPrompt(_Node, frozen=True, kw_only=True):
    """A prompt; without a list it can call every tool that its definition allows."""

    name: str
    file: str
    model: str | None
    tools: list[GraphEntry] | None
    hooks: list[GraphHook]


class GraphRule(_Node, frozen=True, kw_only=True):
    """A tool whose call ends a turn or a run, or reports its status."""

    name: RuleName
    tool: str


class GraphSide(_Node, frozen=True, kw_only=True):
    """A side that is played by a model."""

    name: Literal["side_a", "side_b"]
    label: str
    prompt: GraphPrompt
    stops_on_response: bool
    max_steps: int | None
    rules: list[GraphRule]


class GraphPackage(_Node, frozen=True, kw_only=True):
    """The package that contains a definition."""

    name: str
    version: str


class GraphList(_Node, frozen=True, kw_only=True):
    """A list that limits what a definition may use, by the name of its field."""

    name: ListName
    patterns: list[str]


class GraphDefinition(_Node, frozen=True, kw_only=True):
    """A definition with its sides."""

    name: str
    display_name: str
    description: str
    type: Literal["ai_human", "dual_ai"]
    model: str | None
    file: str
    is_public: bool  # otherwise only its package can refer to it
    package: GraphPackage | None
    max_session_turns: int | None
    lists: list[GraphList]
    hooks: list[GraphHook]
    sides: list[GraphSide]
    warnings: list[str]


class GraphNodes(_Node, frozen=True, kw_only=True):
    """Everything reachable from one definition, which comes first."""

    definitions: list[GraphDefinition]
    prompts: list[GraphPrompt]  # those that other prompts call

    @property
    def files(self) -> set[str]:
        """The files of all nodes."""
        prompts = [side.prompt for one in self.definitions for side in one.sides]
        return {one.file for one in (*self.definitions, *self.prompts, *prompts) if one.file}
