"""An agent's ancestors, and its descendants as a tree."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from retinue.agents.command import TerminateCommand
from retinue.agents.descriptor import Descriptor, parent_of
from retinue.agents.inbox import Sender
from retinue.errors import NotFoundError
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Agent, Post, Store, command_item

LARGEST = 200
"""The most agents of a tree that are shown; busy ones come first."""

_FARTHEST = 64  # ancestors; well above the nesting limit


@dataclass(slots=True, kw_only=True)
class Branch:
    """An agent and those of its children that are shown."""

    agent: Agent
    children: "list[Branch]" = field(default_factory=list["Branch"])
    hidden: int = 0  # children that are not shown


class Relative(Protocol):
    """Anything with ancestors: an agent, or one of its calls."""

    @property
    def owner(self) -> OwnerId: ...

    @property
    def descriptor(self) -> Descriptor: ...


async def ancestors_of(store: Store, agent: Relative) -> Sequence[Agent]:
    """The agent's ancestors that still exist, nearest first."""
    found: list[Agent] = []
    parent_id = parent_of(agent.descriptor)
    while parent_id is not None and len(found) < _FARTHEST:
        try:
            parent = await store.agent(agent.owner, parent_id)
        except NotFoundError:
            break
        found.append(parent)
        parent_id = parent_of(parent.descriptor)
    return found


async def living_family(store: Store, owner: OwnerId, agent_id: AgentId) -> list[AgentId]:
    """The active descendants, which end with this agent; parents before their children."""
    found: list[AgentId] = []
    for child in await store.children(owner, agent_id):
        if child.lifecycle == "active":
            found += [child.id, *await living_family(store, owner, child.id)]
    return found


async def tree_of(store: Store, owner: OwnerId, agent_id: AgentId, *, depth: int) -> Branch:
    """The agent with its descendants; when there are too many, the nearest are shown."""
    root = Branch(agent=await store.agent(owner, agent_id))
    left = LARGEST - 1
    level = deque([(root, depth)])
    while level:
        branch, deeper = level.popleft()
        children = sorted(await store.children(owner, branch.agent.id), key=_rank)
        shown = children[: max(0, left)] if deeper else []
        left -= len(shown)
        branch.children = [Branch(agent=child) for child in shown]
        branch.hidden = len(children) - len(shown)
        level.extend((child, deeper - 1) for child in branch.children)
    return root


def ending_of(parent: AgentId, child: Agent, at: datetime) -> Post:
    """The command that terminates a child along with its parent."""
    command = TerminateCommand(reason="its parent was terminated")
    item = command_item(command, Sender(type="agent", id=parent), at)
    return Post(to=child.id, item=item, owner=child.owner, is_optional=True)


def _rank(child: Agent) -> int:
    if child.lifecycle != "active":
        return 2
    return 0 if child.is_busy else 1
