"""The services that collaboration tools use."""

from dataclasses import dataclass
from typing import cast

from retinue.agents.descriptor import Descriptor
from retinue.agents.state import AgentState
from retinue.clock import Clock
from retinue.engine.agent.limits import Limits
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.variables.values import Environment
from retinue.ids import AgentId, new_agent_id
from retinue.project.watcher import ProjectWatcher
from retinue.settings import Settings
from retinue.stores.port import NewAgent, Store
from retinue.tools.port import FileTrees, ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaborationServices:
    """For reading. Changes go through the call's effects, which are committed with its result."""

    store: Store
    project: ProjectWatcher
    settings: Settings
    limits: Limits
    clock: Clock
    trees: FileTrees
    environment: Environment


def call_of(ctx: ToolContext) -> CallContext:
    """The call behind a context; the engine's own tools always get a `CallContext`."""
    return cast("CallContext", ctx)


def new_agent(
    call: CallContext, descriptor: Descriptor, definition: str, *, agent_id: AgentId | None = None
) -> NewAgent:
    """An agent that this call finds or creates. It starts without grants."""
    now = call.clock.now()
    return NewAgent(
        id=agent_id or new_agent_id(),
        owner=call.owner,
        descriptor=descriptor,
        definition=definition,
        state=AgentState(created_at=now, updated_at=now),
    )
