import fnmatch
import re
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.definitions.scoping import (
    NameScope,
    Scope,
    ScopeRule,
    agent_verdict,
    effective,
    is_allowed,
    matches,
    skill_verdict,
    verdict,
    visible_agents,
)


@dataclass(frozen=True)
class FakeTool:
    name: str
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True)
class FakeAgent:
    name: str
    ui_visible: bool = True


TOOLS = (
    FakeTool("system_note", ("lists.write",)),
    FakeTool("lists_read", ("lists.read",)),
    FakeTool("lists_move", ("lists.read", "lists.write")),
    FakeTool("notes_read", ("notes.read",)),
    FakeTool("time"),
)
EVERYTHING = {"system_note", "lists_read", "lists_move", "notes_read", "time"}


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        (Scope(), EVERYTHING),
        (Scope(tool_allowlist=("*",)), EVERYTHING),
        (Scope(tool_allowlist=()), {"system_note"}),
        (Scope(tool_denylist=()), EVERYTHING),
        (Scope(capability_denylist=()), EVERYTHING),
        (Scope(capability_allowlist=()), {"system_note", "time"}),
        (Scope(tool_allowlist=("lists_*",)), {"system_note", "lists_read", "lists_move"}),
        (Scope(tool_allowlist=("lists_*", "time")), EVERYTHING - {"notes_read"}),
        (Scope(tool_denylist=("lists_*",)), {"system_note", "notes_read", "time"}),
        (Scope(tool_denylist=("*",)), {"system_note"}),
        (
            Scope(tool_allowlist=("lists_*",), tool_denylist=("*_move",)),
            {"system_note", "lists_read"},
        ),
        (Scope(tool_allowlist=("time",), tool_denylist=("time",)), {"system_note"}),
        # Every capability must be allowed, one denied capability is enough to refuse.
        (Scope(capability_allowlist=("lists.read",)), {"system_note", "lists_read", "time"}),
        (
            Scope(capability_allowlist=("lists.*",)),
            {"system_note", "lists_read", "lists_move", "time"},
        ),
        (
            Scope(capability_denylist=("lists.write",)),
            {"system_note", "lists_read", "notes_read", "time"},
        ),
        (Scope(capability_denylist=("*",)), {"system_note", "time"}),
        # A capability list does not bring back what a tool list refused.
        (Scope(tool_allowlist=("time",), capability_allowlist=("*",)), {"system_note", "time"}),
        (
            Scope(
                tool_allowlist=("lists_*",),
                capability_allowlist=("lists.*",),
                capability_denylist=("lists.write",),
            ),
            {"system_note", "lists_read"},
        ),
    ],
)
def test_the_lists_of_a_scope_decide_in_the_order_of_the_seed(
    scope: Scope, allowed: set[str]
) -> None:
    assert {tool.name for tool in effective(scope, TOOLS)} == allowed


def test_the_order_of_the_tools_is_kept() -> None:
    assert effective(Scope(), reversed(TOOLS)) == tuple(reversed(TOOLS))


@pytest.mark.parametrize(
    ("scope", "rule", "subject", "pattern", "text"),
    [
        (
            Scope(tool_allowlist=()),
            ScopeRule.TOOL_ALLOWLIST,
            "lists_move",
            None,
            "'lists_move' is refused (toolAllowlist)",
        ),
        (
            Scope(tool_denylist=("x", "lists_*")),
            ScopeRule.TOOL_DENYLIST,
            "lists_move",
            "lists_*",
            "'lists_move' is refused by 'lists_*' (toolDenylist)",
        ),
        (
            Scope(capability_allowlist=("lists.read",)),
            ScopeRule.CAPABILITY_ALLOWLIST,
            "lists.write",
            None,
            "'lists.write' is refused (capabilityAllowlist)",
        ),
        (
            Scope(capability_denylist=("*.write",)),
            ScopeRule.CAPABILITY_DENYLIST,
            "lists.write",
            "*.write",
            "'lists.write' is refused by '*.write' (capabilityDenylist)",
        ),
    ],
)
def test_a_refusal_says_which_rule_refused_what(
    scope: Scope, rule: ScopeRule, subject: str, pattern: str | None, text: str
) -> None:
    found = verdict(scope, FakeTool("lists_move", ("lists.read", "lists.write")))

    assert (found.rule, found.subject, found.pattern) == (rule, subject, pattern)
    assert str(found) == text


def test_a_verdict_is_true_only_when_it_allows() -> None:
    assert verdict(Scope(), FakeTool("a"))
    assert not verdict(Scope(tool_allowlist=()), FakeTool("a"))
    assert str(verdict(Scope(), FakeTool("a"))) == "allowed"


@pytest.mark.parametrize("name", ["system", "System_x", "my_system_x", " system_x"])
def test_only_the_exact_prefix_makes_a_system_tool(name: str) -> None:
    assert not is_allowed(Scope(tool_allowlist=()), FakeTool(name))


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("*", "anything.at_all-1", True),
        ("**", "a", True),
        ("a", "a", True),
        ("a", "A", False),
        ("a", "ab", False),
        ("a", "ba", False),
        ("a*", "a", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*ab", "aab", True),
        ("ab*ab", "ab", False),
        ("ab*ab", "abab", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "acb", False),
        ("*b*b*", "ab", False),
        ("a*b*b", "ab", False),
        ("a*b*b", "abb", True),
        ("lists.*", "lists.read", True),
        ("lists.*", "listsxread", False),
        ("a?c", "abc", False),
        ("a?c", "a?c", True),
        ("[ab]", "a", False),
        ("[ab]", "[ab]", True),
        ("a+", "aa", False),
        (r"\*", "*", False),
        (r"\*", r"\anything", True),
        ("a*c", "a\nc", True),
        ("a", "a\n", False),
        ("a*", "a\n\nb", True),
        ("*é", "café", True),
    ],
)
def test_only_the_star_is_special_in_a_pattern(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


names = st.text(alphabet="ab._\n?[", max_size=8)
patterns = st.text(alphabet="ab._\n?[*", max_size=8)


@given(pattern=patterns, name=names)
def test_matching_agrees_with_an_anchored_regular_expression(pattern: str, name: str) -> None:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))

    assert matches(pattern, name) == bool(re.fullmatch(expression, name, re.DOTALL))


@given(name=names)
def test_a_name_without_a_star_matches_itself(name: str) -> None:
    assert matches(name, name)


def test_a_hostile_name_does_not_make_matching_slow() -> None:
    assert not matches("*a" * 30 + "*b", "a" * 100_000)


lists = st.none() | st.lists(
    st.sampled_from(["*", "a*", "*b", "ab", "b", "", "a.*"]), max_size=3
).map(tuple)
scopes = st.builds(
    Scope,
    tool_allowlist=lists,
    tool_denylist=lists,
    capability_allowlist=lists,
    capability_denylist=lists,
)
tools = st.builds(
    FakeTool,
    name=st.sampled_from(["a", "b", "ab", "aab", "system_a", "a.b"]),
    capabilities=st.lists(st.sampled_from(["a", "b", "ab", "a.b"]), max_size=3).map(tuple),
)


def allowed_by_the_seed(scope: Scope, tool: FakeTool) -> bool:
    """The seed's function, transcribed term by term."""

    def some(patterns: tuple[str, ...], name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    lists = (
        scope.tool_allowlist,
        scope.tool_denylist,
        scope.capability_allowlist,
        scope.capability_denylist,
    )
    if all(patterns is None for patterns in lists):
        return True
    allow, deny, can, cannot = lists
    return tool.name.startswith("system_") or (
        (allow is None or some(allow, tool.name))
        and (deny is None or not some(deny, tool.name))
        and (
            not tool.capabilities
            or (
                (can is None or all(some(can, name) for name in tool.capabilities))
                and (cannot is None or not any(some(cannot, name) for name in tool.capabilities))
            )
        )
    )


@given(scope=scopes, tool=tools)
def test_the_decision_is_that_of_the_seed(scope: Scope, tool: FakeTool) -> None:
    assert is_allowed(scope, tool) == allowed_by_the_seed(scope, tool)


@given(scope=scopes, tool=tools)
def test_a_denied_name_is_refused_whatever_else_allows_it(scope: Scope, tool: FakeTool) -> None:
    denying = Scope(
        tool_allowlist=scope.tool_allowlist,
        tool_denylist=(*(scope.tool_denylist or ()), tool.name),
        capability_allowlist=scope.capability_allowlist,
        capability_denylist=scope.capability_denylist,
    )

    assert is_allowed(denying, tool) == tool.name.startswith("system_")


@pytest.mark.parametrize(
    ("scope", "target", "rule"),
    [
        (NameScope(), FakeAgent("todo"), None),
        (NameScope(allowlist=("todo", "jour*")), FakeAgent("journal"), None),
        (NameScope(allowlist=("todo",)), FakeAgent("journal"), ScopeRule.AGENT_ALLOWLIST),
        (NameScope(allowlist=()), FakeAgent("journal"), ScopeRule.AGENT_ALLOWLIST),
        (NameScope(denylist=("jour*",)), FakeAgent("journal"), ScopeRule.AGENT_DENYLIST),
        (NameScope(denylist=()), FakeAgent("journal"), None),
        (NameScope(allowlist=("*",), denylist=("*",)), FakeAgent("todo"), ScopeRule.AGENT_DENYLIST),
        (NameScope(allowlist=("*",)), FakeAgent("todo", ui_visible=False), ScopeRule.UI_VISIBLE),
        (NameScope(), FakeAgent("system_x", ui_visible=False), ScopeRule.UI_VISIBLE),
    ],
)
def test_a_peer_is_reached_when_it_is_visible_and_allowed(
    scope: NameScope, target: FakeAgent, rule: ScopeRule | None
) -> None:
    assert agent_verdict(scope, target).rule == rule


def test_a_definition_is_not_its_own_peer_but_may_message_itself() -> None:
    agents = (FakeAgent("a"), FakeAgent("b"), FakeAgent("hidden", ui_visible=False))

    assert visible_agents(NameScope(), agents, itself="a") == (FakeAgent("b"),)
    assert visible_agents(NameScope(), agents) == agents[:2]
    assert agent_verdict(NameScope(), FakeAgent("a"))


def test_skills_are_scoped_by_the_name_of_their_plugin() -> None:
    scope = NameScope(allowlist=("notes", "lists*"), denylist=("lists_admin",))

    assert skill_verdict(scope, "notes")
    assert skill_verdict(scope, "lists_admin").rule == ScopeRule.SKILL_DENYLIST
    assert skill_verdict(scope, "shell").rule == ScopeRule.SKILL_ALLOWLIST
