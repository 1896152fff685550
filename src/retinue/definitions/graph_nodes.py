"""What the graph of a definition holds, as it is shown; light, so that clients can import it."""

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
    """A hook by its id, and the point of a run that it is at."""

    id: str
    kind: str


class GraphEntry(_Node, frozen=True, kw_only=True):
    """Something that a prompt can call."""

    kind: EntryKind
    name: str
    target: str  # the name in this graph of the prompt or definition that it leads to
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
    """A tool whose call ends a turn or a run, or tells how it goes."""

    name: RuleName
    tool: str


class GraphSide(_Node, frozen=True, kw_only=True):
    """A side that a model speaks for."""

    name: Literal["side_a", "side_b"]
    label: str
    prompt: GraphPrompt
    stops_on_response: bool
    max_steps: int | None
    rules: list[GraphRule]


class GraphPackage(_Node, frozen=True, kw_only=True):
    """The package that a definition came with."""

    name: str
    version: str


class GraphList(_Node, frozen=True, kw_only=True):
    """A list that narrows what a definition may use and reach, by the name of its field."""

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
    is_public: bool  # else only its package can name it
    package: GraphPackage | None
    max_session_turns: int | None
    lists: list[GraphList]
    hooks: list[GraphHook]
    sides: list[GraphSide]
    warnings: list[str]


class GraphNodes(_Node, frozen=True, kw_only=True):
    """Everything that one definition leads to; the first definition is that one."""

    definitions: list[GraphDefinition]
    prompts: list[GraphPrompt]  # those that other prompts call

    @property
    def files(self) -> set[str]:
        """The files that it was read from."""
        prompts = [side.prompt for one in self.definitions for side in one.sides]
        return {one.file for one in (*self.definitions, *self.prompts, *prompts) if one.file}
