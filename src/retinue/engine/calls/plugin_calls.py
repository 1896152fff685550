"""Operations of plugins as doors call them: for their owner, or for an agent within its scope."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from retinue.agents.permission import Permission, is_held
from retinue.clock import Clock
from retinue.engine.calls.scope_check import denial, skill_denial
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.variables.values import (
    AccountVariables,
    Environment,
    Variables,
    redact_secrets,
    redacted_json,
)
from retinue.errors import (
    NotFoundError,
    OperationError,
    RefusedError,
    RetinueError,
    TerminatedError,
    UsageError,
)
from retinue.ids import AgentId, OwnerId, SideName, new_id
from retinue.plugins.port import Operation, OperationContext, Plugin
from retinue.project.snapshot import ProjectSnapshot
from retinue.project.watcher import ProjectWatcher
from retinue.stores.port import Agent, Store
from retinue.text import clean_json
from retinue.tools.execution import Raised, Unfinished, as_plain, describe, within

logger = logging.getLogger(__name__)

ConfigOf = Callable[[ProjectSnapshot, str, SideName, Agent], PromptConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """For whom a door calls."""

    owner: OwnerId
    agent_id: AgentId | None = None  # None: the owner
    side: SideName = "side_a"  # of the agent, whose prompt lists the tools
    is_skill: bool = False  # a skill's command line calls


class Operations:
    """Finds an operation, decides whether the caller may, and runs it within the limits."""

    def __init__(
        self,
        *,
        project: ProjectWatcher,
        snapshots: TurnSnapshots,
        store: Store,
        clock: Clock,
        config_of: ConfigOf,
        environment: Environment,
        seconds: float,
    ) -> None:
        self._project = project
        self._snapshots = snapshots
        self._store = store
        self._clock = clock
        self._config_of = config_of
        self._environment = environment
        self._seconds = seconds

    async def call(
        self,
        caller: Caller,
        plugin_id: str,
        operation_id: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
    ) -> Any:
        """Give the result as plain JSON.

        Calls with one key take effect once; an operation that cannot promise that takes none.
        """
        agent, snapshot = await self._snapshot(caller)
        plugin, operation = _found(snapshot, plugin_id, operation_id)
        name = plugin.tool_name(operation)
        await self._environment.load()
        if agent is not None:
            variables = await self._require(caller, agent, snapshot, plugin, name)
        elif operation.needs_agent:
            raise UsageError(f"{name} is done by agents: say which one it is done for")
        else:
            variables = self._variables_of(caller.owner, operation)
        if key is not None and operation.effect == "once":
            raise UsageError(f"{name} takes no key: it would take effect again with each call")
        try:
            accepted = operation.validate(clean_json(dict(arguments)))
        except RecursionError:
            raise UsageError("the arguments are nested too deeply") from None
        context = OperationContext(
            owner=caller.owner,
            agent_id=caller.agent_id,
            idempotency_key=_key(caller, name, key),
            clock=self._clock,
            env=partial(_env, variables),
        )
        variables.check(operation.variables, name)
        return await self._run(name, operation, context, accepted, variables)

    async def _snapshot(self, caller: Caller) -> tuple[Agent | None, ProjectSnapshot]:
        """The calling agent, and what its turn works with; doors see files as they are now."""
        if not caller.is_skill:
            await self._project.look()
        if caller.agent_id is None:
            return None, self._project.current
        agent = await self._store.agent(caller.owner, caller.agent_id)
        return agent, self._snapshots.peek(agent.id, agent.state.turn, agent.definition)

    async def _require(
        self, caller: Caller, agent: Agent, snapshot: ProjectSnapshot, plugin: Plugin, name: str
    ) -> Variables:
        """Raise what keeps the agent from it; give the variables that it has for that."""
        if agent.lifecycle != "active":
            raise TerminatedError("the agent has ended")
        config = self._config_of(snapshot, agent.definition, caller.side, agent)
        tool = config.known.get(name)
        if tool is not None and tool.source != plugin.source:
            tool = None  # another tool that took the name: its rights are not the operation's
        refused = denial(config, name, tool, call="")
        if refused is None and caller.is_skill:
            refused = skill_denial(config, plugin.id)
        if refused is not None:
            await self._store.note(caller.owner, agent.id, refused.line)
            raise RefusedError(refused.text, details={"tool": name})
        if _asks_first(config, agent, name):
            raise RefusedError(
                f"The owner is asked before each call of {name!r}: call it as a tool.",
                details={"tool": name},
            )
        own = self._environment.of(agent, config.definition, config.side.prompt, config.scoped)
        return own.during(name)

    def _variables_of(self, owner: OwnerId, operation: Operation) -> AccountVariables:
        texts = frozenset(one.name for one in operation.variables if one.type == "text")
        return AccountVariables(environment=self._environment, owner=owner, texts=texts)

    async def _run(
        self,
        name: str,
        operation: Operation,
        context: OperationContext,
        arguments: Mapping[str, Any],
        variables: Variables | AccountVariables,
    ) -> Any:
        seconds = operation.timeout_seconds or self._seconds
        ended = await within(partial(_contained, operation, context, arguments), seconds, name)
        secrets = list(variables.secrets())
        redact = partial(redact_secrets, secrets=secrets)
        match ended:
            case Unfinished(reason):
                raise OperationError(reason)
            case Raised(RetinueError() as error):
                error.message = redact(error.message)
                error.details = redacted_json(error.details, redact)
                raise error
            case Raised(error):
                told = redact("".join(traceback.format_exception(error)))
                logger.info("operation failed", extra={"operation": name, "error": told})
                cause = None if secrets else error
                raise OperationError(redact(f"{name} failed with {describe(error)}")) from cause
            case _:
                return redacted_json(ended, redact) if secrets else ended


def _found(
    snapshot: ProjectSnapshot, plugin_id: str, operation_id: str
) -> tuple[Plugin, Operation]:
    plugin = snapshot.plugins.get(plugin_id)
    if plugin is None:
        raise NotFoundError(f"there is no plugin {plugin_id[:64]!r}")
    operation = plugin.operation(operation_id)
    if operation is None:
        raise NotFoundError(f"{plugin_id!r} has no operation {operation_id[:64]!r}")
    return plugin, operation


async def _contained(
    operation: Operation, context: OperationContext, arguments: Mapping[str, Any]
) -> Any:
    """Let nothing but a cancellation leave the task: a SystemExit would end more than this call."""
    try:
        return as_plain(await operation.run(context, arguments))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  (an operation may raise anything)
        return Raised(error)


def _env(variables: Variables | AccountVariables, name: str, default: str | None = None) -> str:
    if default is None:
        return variables.require(name)
    value = variables.get(name)
    return default if value is None else value


def _asks_first(config: PromptConfig, agent: Agent, name: str) -> bool:
    return config.definition.needs_approval(name) and not is_held(
        Permission("tool", name), agent.state.grants
    )


def _key(caller: Caller, name: str, key: str | None) -> str:
    """One that no call of a model, of another caller or of another operation can have."""
    if key is None:
        return f"door/{new_id('k')}"
    return f"door/{caller.owner}/{caller.agent_id or ''}/{name}/{key}"
