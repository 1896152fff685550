"""Lists and sets variables for users; values are never returned."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct, structs

from retinue.agents.command import AgentPatch, Command, PatchCommand, ProvideCommand
from retinue.agents.deferral import Deferral
from retinue.agents.request import why_settled
from retinue.clock import Clock
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Variable
from retinue.engine.subagents.deferred import Deferred, open_deferral
from retinue.engine.variables.required import Gates, all_variables, scoped_variables
from retinue.engine.variables.values import Environment, Scope, Variables, check_name, check_room
from retinue.errors import NotFoundError, RetinueError, UsageError
from retinue.ids import AgentId, OwnerId, RequestId
from retinue.project.watcher import ProjectWatcher
from retinue.stores.port import Agent, Store

GiveCommand = Callable[[OwnerId, AgentId, Command], Awaitable[bool]]


class VariableView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A variable as the API returns it, without its value."""

    name: str
    type: str = "secret"
    is_required: bool = False
    is_scoped: bool = False
    is_declared: bool = False
    description: str = ""
    scope: Scope | None = None  # the source of the value that applies; None = not set
    problem: str = ""  # why the value cannot be read


class VariableRequestView(Struct, frozen=True, kw_only=True):
    """The variables a subagent needs before it starts; field names follow the public API."""

    request_id: str
    parent_thread_id: str
    agent: str
    required: list[str]
    missing: list[str]
    expires_at: datetime


class VariableService:
    """Lists and sets the variables of accounts and agents."""

    def __init__(
        self,
        *,
        deferred: Deferred,
        clock: Clock,
        environment: Environment,
        store: Store,
        project: ProjectWatcher,
        command: GiveCommand,
    ) -> None:
        self._environment = environment
        self._store = store
        self._project = project
        self._command = command
        self._deferred = deferred
        self._clock = clock

    # -- accounts

    async def of_account(self, owner: OwnerId) -> Sequence[VariableView]:
        await self._environment.load()
        environment = self._environment
        return [
            VariableView(
                name=name,
                scope="account",
                problem=_problem(lambda name=name: environment.account_value(owner, name)),
            )
            for name in sorted(environment.account(owner))
        ]

    async def set_account(self, owner: OwnerId, name: str, value: str) -> None:
        await self._environment.load()
        await self._environment.set_account(owner, name, value)

    async def unset_account(self, owner: OwnerId, name: str) -> None:
        await self._environment.load()
        if not await self._environment.unset_account(owner, name):
            raise NotFoundError(f"your account has no variable {name[:100]!r}")

    # -- agents

    async def of_agent(self, owner: OwnerId, agent_id: AgentId) -> Sequence[VariableView]:
        """The variables that the agent's definition declares, and others set for it."""
        agent = await self._store.agent(owner, agent_id)
        await self._environment.load()
        definition, variables = await self._known(agent)
        declared: Mapping[str, Variable] = {}
        if definition is not None and variables is not None:
            found = all_variables(definition, self._project.current, self._gates(agent))
            declared = {one.name: one for one in found}
        names = sorted({*declared, *agent.state.env})
        return [self._view(agent, name, declared.get(name), variables) for name in names]

    def _view(
        self, agent: Agent, name: str, declared: Variable | None, variables: Variables | None
    ) -> VariableView:
        if variables is None:
            own, scope = agent.state.env, "thread" if name in agent.state.env else None
            problem = _problem(lambda: self._environment.own_value(agent.id, own, name))
        else:
            scope, problem = variables.scope(name), _problem(lambda: variables.get(name))
        view = VariableView(name=name, scope=scope, problem=problem)
        return view if declared is None else _declared(view, declared)

    async def set_agent(
        self, owner: OwnerId, agent_id: AgentId, values: Mapping[str, str | None]
    ) -> None:
        """Set an agent's own variables, and those of its children; None removes a variable.

        A child does not receive variables scoped in its own graph: those are set for it directly.
        """
        agent = await self._store.agent(owner, agent_id)
        for name, value in values.items():
            if value is None:
                check_name(name)
                if name not in agent.state.env:
                    raise NotFoundError(f"the agent has no variable {name!r}")
        check_room({*agent.state.env, *values})
        await self._change(agent, values)

    # -- subagents that wait for variables

    async def request(
        self, owner: OwnerId, parent: AgentId, request_id: RequestId
    ) -> VariableRequestView:
        agent, deferral = await self._waiting(owner, parent, request_id)
        return VariableRequestView(
            request_id=deferral.id,
            parent_thread_id=parent,
            agent=deferral.config.name,
            required=deferral.required,
            missing=self._deferred.missing(agent, deferral, ()),
            expires_at=deferral.expires_at,
        )

    async def provide(
        self,
        owner: OwnerId,
        parent: AgentId,
        request_id: RequestId,
        values: Mapping[str, str],
        *,
        by: str = "",
    ) -> AgentId:
        """Provide the variables of a subagent and start it, once; returns its id.

        Raises `UsageError` if some are missing; then the request stays open and nothing is stored.
        """
        agent, deferral = await self._waiting(owner, parent, request_id)
        given = {name: value for name, value in values.items() if value}
        missing = self._deferred.missing(agent, deferral, list(given))
        if missing:
            raise UsageError(
                f"these variables are still missing: {', '.join(missing)}",
                details={"missing": missing, "required": deferral.required},
            )
        sealed = self._environment.sealed_for(deferral.child, given)
        command = ProvideCommand(request_id=request_id, env=sealed, by=by)
        await self._command(owner, parent, command)
        return deferral.child

    async def _waiting(
        self, owner: OwnerId, parent: AgentId, request_id: RequestId
    ) -> tuple[Agent, Deferral]:
        request = await self._store.requests.get(owner, request_id)
        if request.agent_id == parent and request.status != "pending":
            raise NotFoundError(why_settled(request))  # its agent may not have processed it yet
        agent = await self._store.agent(owner, parent)
        deferral = open_deferral(agent, request_id, self._clock.now())
        await self._environment.load()
        await self._project.look()
        return agent, deferral

    async def _change(self, agent: Agent, values: Mapping[str, str | None]) -> None:
        given = {name: value for name, value in values.items() if value is not None}
        sealed: dict[str, str | None] = dict.fromkeys(values)
        sealed |= self._environment.sealed_for(agent.id, given)
        command = PatchCommand(patch=AgentPatch(env=sealed))
        await self._command(agent.owner, agent.id, command)
        for child in await self._store.children(agent.owner, agent.id):
            if child.lifecycle == "active":
                scoped = await self._scoped(child)
                passed = {name: value for name, value in values.items() if name not in scoped}
                if passed:
                    await self._change(child, passed)

    async def _scoped(self, child: Agent) -> frozenset[str]:
        definition, _ = await self._known(child)
        if definition is None:
            return frozenset()
        found = scoped_variables(definition, self._project.current, self._gates(child))
        return frozenset(one.name for one in found)

    def _gates(self, agent: Agent) -> Gates:
        return lambda definition, prompt: self._environment.of(agent, definition, prompt).on(
            prompt.gates
        )

    async def _known(self, agent: Agent) -> tuple[Definition | None, Variables | None]:
        snapshot = await self._project.look()
        try:
            definition = snapshot.catalog.definition(agent.definition)
        except RetinueError:
            return None, None
        prompt = definition.side_a.prompt
        return definition, self._environment.of(agent, definition, prompt)


def _declared(view: VariableView, variable: Variable) -> VariableView:
    return structs.replace(
        view,
        type=variable.type,
        is_required=variable.is_required,
        is_scoped=variable.is_scoped,
        is_declared=True,
        description=variable.description,
    )


def _problem(read: Callable[[], str | None]) -> str:
    try:
        read()
    except RetinueError as error:
        return error.message
    return ""
