"""The definition: the template that agents are created from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from retinue.definitions.model_options import ModelOptions
from retinue.definitions.prompt import Prompt, Variable
from retinue.definitions.scoping import (
    NameScope,
    Patterns,
    Scope,
    first_match,
)
from retinue.definitions.side import Side
from retinue.errors import UsageError
from retinue.ids import SideName

Kind = Literal["ai_human", "dual_ai"]
ToolExposure = Literal["tools", "skills", "mixed"]

BUILTIN_NAME = "assistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaging:
    """Fields that are only used when a definition is packed for distribution."""

    package_name: str | None = None
    version: str | None = None
    author: str | None = None
    license: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The package that contains a definition."""

    package: str
    version: str
    tools: frozenset[str] = frozenset()
    """tools of the project's servers that the package needs"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The lists of a definition: which tools, skills and peers its agents may use."""

    tools: Scope = field(default_factory=Scope)
    skills: NameScope = field(default_factory=NameScope)
    agents: NameScope = field(default_factory=NameScope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The template of an agent; in every list, None means no rule and empty means nothing."""

    name: str
    """also called agentId; `package/name` for definitions private to a package"""
    display_name: str
    description: str
    kind: Kind = "ai_human"
    side_a: Side
    side_b: Side | None = None
    """set only for `dual_ai`"""
    max_session_turns: int | None = None
    """for both sides together"""

    model: str | None = None
    """for prompts that set none"""
    fallback_models: tuple[str, ...] = ()
    options: ModelOptions = field(default_factory=ModelOptions)
    """for prompts that do not set them"""

    tool_allowlist: Patterns | None = None
    tool_denylist: Patterns | None = None
    tool_exposure: ToolExposure = "tools"
    tool_approvals: Patterns = ()
    """tools that need an approval before each call"""
    skill_allowlist: Patterns | None = None
    skill_denylist: Patterns | None = None
    capability_allowlist: Patterns | None = None
    capability_denylist: Patterns | None = None
    agent_allowlist: Patterns | None = None
    agent_denylist: Patterns | None = None

    ui_visible: bool = True
    """false hides it from clients, from discovery and from delegation"""
    icon: str | None = None
    color: str | None = None

    expose_as_tool: bool = False
    tool_description: str | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: tuple[Variable, ...] = ()
    """the variables its agents need, on either side"""
    hooks: tuple[str, ...] = ()
    packaging: Packaging = field(default_factory=Packaging)
    home: Home | None = None
    """set if it comes from a package"""

    file: str = ""
    """relative to the project; empty for the built-in one"""
    warnings: tuple[str, ...] = ()
    within: Rights | None = None
    """rights that a later version of the file still gives; a running turn has no more than these"""

    @property
    def is_dual(self) -> bool:
        return self.kind == "dual_ai"

    @property
    def rights(self) -> Rights:
        """As the file gives them."""
        return Rights(
            tools=Scope(
                tool_allowlist=self.tool_allowlist,
                tool_denylist=self.tool_denylist,
                capability_allowlist=self.capability_allowlist,
                capability_denylist=self.capability_denylist,
            ),
            skills=NameScope(allowlist=self.skill_allowlist, denylist=self.skill_denylist),
            agents=NameScope(allowlist=self.agent_allowlist, denylist=self.agent_denylist),
        )

    @property
    def tool_scope(self) -> Scope:
        own = self.rights.tools
        return own if self.within is None else replace(own, within=self.within.tools)

    @property
    def skill_scope(self) -> NameScope:
        own = self.rights.skills
        return own if self.within is None else replace(own, within=self.within.skills)

    @property
    def agent_scope(self) -> NameScope:
        own = self.rights.agents
        return own if self.within is None else replace(own, within=self.within.agents)

    def needs_approval(self, tool: str) -> bool:
        return first_match(self.tool_approvals, tool) is not None

    def sides(self) -> Iterator[tuple[SideName, Side]]:
        """The sides that are played by a model."""
        yield "side_a", self.side_a
        if self.side_b is not None:
            yield "side_b", self.side_b

    def switched(self, name: SideName, on: frozenset[str]) -> "Definition":
        """The same with only the entries of a side's prompt that these variables switch on."""
        prompt = self.side(name).prompt
        return self if not prompt.gates else self.speaking(name, prompt.switched(on))

    def speaking(self, name: SideName, prompt: Prompt) -> "Definition":
        """The same with another prompt on a side."""
        side = replace(self.side(name), prompt=prompt)
        return replace(self, side_a=side) if name == "side_a" else replace(self, side_b=side)

    def side(self, name: SideName) -> Side:
        side = self.side_a if name == "side_a" else self.side_b
        if side is None:
            raise UsageError(f"definition {self.name!r} has a user on side B")
        return side
