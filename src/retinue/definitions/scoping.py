"""The security boundary: which tools, skills and peers an agent may see and call.

One function decides for the list that a model sees, for every call, for HTTP, for skills and for
MCP. The prefix `system_` is reserved for the engine's own tools, which are always allowed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

SYSTEM_PREFIX = "system_"

Patterns = tuple[str, ...]
"""Glob patterns in which only `*` is special."""


class ScopedTool(Protocol):
    """The properties of a tool that scoping uses."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Sequence[str]: ...


class ScopedAgent(Protocol):
    """The properties of a target definition that scoping uses."""

    @property
    def name(self) -> str: ...

    @property
    def ui_visible(self) -> bool: ...


ToolT = TypeVar("ToolT", bound=ScopedTool)
AgentT = TypeVar("AgentT", bound=ScopedAgent)


class ScopeRule(StrEnum):
    """The rule that refused, named after its field."""

    TOOL_ALLOWLIST = "toolAllowlist"
    TOOL_DENYLIST = "toolDenylist"
    CAPABILITY_ALLOWLIST = "capabilityAllowlist"
    CAPABILITY_DENYLIST = "capabilityDenylist"
    SKILL_ALLOWLIST = "skillAllowlist"
    SKILL_DENYLIST = "skillDenylist"
    AGENT_ALLOWLIST = "agentAllowlist"
    AGENT_DENYLIST = "agentDenylist"
    UI_VISIBLE = "uiVisible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Allowed, or the rule that refused and its subject; truthy if allowed."""

    rule: ScopeRule | None = None
    subject: str = ""
    pattern: str | None = None
    """the pattern of a denylist that matched"""

    @property
    def is_allowed(self) -> bool:
        return self.rule is None

    def __bool__(self) -> bool:
        return self.is_allowed

    def __str__(self) -> str:
        if self.rule is None:
            return "allowed"
        by = f" by {self.pattern!r}" if self.pattern is not None else ""
        return f"{self.subject!r} is refused{by} ({self.rule})"


ALLOWED = Verdict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The four tool lists of a definition; None allows everything, an empty allowlist nothing."""

    tool_allowlist: Patterns | None = None
    tool_denylist: Patterns | None = None
    capability_allowlist: Patterns | None = None
    capability_denylist: Patterns | None = None
    within: "Scope | None" = None
    """another scope, which has to allow the tool as well"""


def verdict(scope: Scope, tool: ScopedTool) -> Verdict:
    """Decide about one tool; the verdict names the rule that refused it, for the audit log."""
    if tool.name.startswith(SYSTEM_PREFIX):
        return ALLOWED
    found = _tool_verdict(scope, tool)
    return verdict(scope.within, tool) if found and scope.within is not None else found


def is_allowed(scope: Scope, tool: ScopedTool) -> bool:
    return verdict(scope, tool).is_allowed


def effective(scope: Scope, tools: Iterable[ToolT]) -> tuple[ToolT, ...]:
    """The tools that the scope allows, in order."""
    return tuple(tool for tool in tools if is_allowed(scope, tool))


@dataclass(frozen=True, slots=True, kw_only=True)
class NameScope:
    """An allowlist and a denylist of names: of plugins for skills, of definitions for peers."""

    allowlist: Patterns | None = None
    denylist: Patterns | None = None
    within: "NameScope | None" = None
    """another scope, which has to allow the name as well"""


def skill_verdict(scope: NameScope, plugin: str) -> Verdict:
    return _name_verdict(scope, plugin, ScopeRule.SKILL_ALLOWLIST, ScopeRule.SKILL_DENYLIST)


def agent_verdict(scope: NameScope, target: ScopedAgent) -> Verdict:
    """Whether a definition may be seen and messaged; callers only learn whether it is refused."""
    if not target.ui_visible:
        return Verdict(rule=ScopeRule.UI_VISIBLE, subject=target.name)
    return agent_name_verdict(scope, target.name)


def agent_name_verdict(scope: NameScope, name: str) -> Verdict:
    """Decide by the lists alone, for a definition that was named explicitly."""
    return _name_verdict(scope, name, ScopeRule.AGENT_ALLOWLIST, ScopeRule.AGENT_DENYLIST)


def visible_agents(
    scope: NameScope, targets: Iterable[AgentT], *, itself: str | None = None
) -> tuple[AgentT, ...]:
    """The peers of a definition, without itself."""
    return tuple(
        target for target in targets if target.name != itself and agent_verdict(scope, target)
    )


def matches(pattern: str, name: str) -> bool:
    """Match a whole name, case-sensitive; `*` matches any characters, everything else itself.

    No regular expression, so that hostile names cannot slow it down or end it at a newline.
    """
    first, *others = pattern.split("*")
    if not others:
        return pattern == name
    *inner, last = others
    end = len(name) - len(last)
    position = len(first)
    if position > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in inner:
        found = name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def first_match(patterns: Iterable[str], name: str) -> str | None:
    return next((pattern for pattern in patterns if matches(pattern, name)), None)


def _tool_verdict(scope: Scope, tool: ScopedTool) -> Verdict:
    names = NameScope(allowlist=scope.tool_allowlist, denylist=scope.tool_denylist)
    by_name = _name_verdict(names, tool.name, ScopeRule.TOOL_ALLOWLIST, ScopeRule.TOOL_DENYLIST)
    if not by_name:
        return by_name
    capabilities = NameScope(
        allowlist=scope.capability_allowlist, denylist=scope.capability_denylist
    )
    for capability in tool.capabilities:
        by_capability = _name_verdict(
            capabilities, capability, ScopeRule.CAPABILITY_ALLOWLIST, ScopeRule.CAPABILITY_DENYLIST
        )
        if not by_capability:
            return by_capability
    return ALLOWED


def _name_verdict(scope: NameScope, name: str, allow: ScopeRule, deny: ScopeRule) -> Verdict:
    if scope.allowlist is not None and first_match(scope.allowlist, name) is None:
        return Verdict(rule=allow, subject=name)
    pattern = first_match(scope.denylist or (), name)
    if pattern is not None:
        return Verdict(rule=deny, subject=name, pattern=pattern)
    return ALLOWED if scope.within is None else _name_verdict(scope.within, name, allow, deny)
