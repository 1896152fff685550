"""An agent's ancestors and children as an indented tree."""

from collections.abc import Iterator
from datetime import datetime

from retinue.cli.message_timeline import awaited_line
from retinue.cli.output import one_line
from retinue.cli.phrases import plural
from retinue.events import AgentView
from retinue.server.wire import AgentTree, TreeBranch

_NAME = 40


def tree_lines(tree: AgentTree, now: datetime) -> list[str]:
    """Return ancestors, the agent and its children, each with its status; empty if it is alone."""
    if not tree.ancestors and not tree.tree.children and not tree.tree.agent.waits:
        return []
    lines: list[str] = []
    for depth, ancestor in enumerate(reversed(tree.ancestors)):
        lines += _agent_lines(ancestor, "   " * depth, now)
    indent = "   " * len(tree.ancestors)
    return [*lines, *_branch_lines(tree.tree, indent, now, is_subject=True)]


def _branch_lines(
    branch: TreeBranch, indent: str, now: datetime, *, is_subject: bool = False
) -> Iterator[str]:
    yield from _agent_lines(branch.agent, indent, now, is_subject=is_subject)
    for child in branch.children:
        yield from _branch_lines(child, indent + "   ", now)
    if branch.hidden:
        yield f"{indent}   and {branch.hidden} more"


def _agent_lines(
    agent: AgentView, indent: str, now: datetime, *, is_subject: bool = False
) -> Iterator[str]:
    named = agent.name or agent.descriptor.get("name") or agent.definition
    life = agent.status if agent.lifecycle == "awake" else agent.lifecycle
    mark = "→ " if is_subject else ""
    queue = f", {plural(agent.queued, 'message')} queued" if agent.queued else ""
    yield f"{indent}{mark}{one_line(str(named), _NAME)}  {agent.id}  {life}{queue}"
    for wait in agent.waits:
        yield f"{indent}   waiting for {awaited_line(wait, now)}"
