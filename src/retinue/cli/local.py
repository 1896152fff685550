"""The client that opens the project's store in this process."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from retinue.agents.descriptor import Kind, UserDescriptor
from retinue.agents.inbox import Sender
from retinue.agents.request import RequestStatus
from retinue.agents.usage import UsageKey, UsageReport
from retinue.assembly import App, open_app
from retinue.cli.client import (
    GENERATIONS_SHOWN,
    Admission,
    AgentDetail,
    AgentList,
    AgentTree,
    Decision,
    Definitions,
    DefinitionView,
    Facts,
    MessageView,
    OperationView,
    PackageView,
    Place,
    PluginsView,
    PluginView,
    Problem,
    ScheduleOrder,
    SkillsView,
    TreeBranch,
    VariableView,
)
from retinue.engine.calls.plugin_calls import Caller
from retinue.engine.feed.agent_views import item_view, wait_view
from retinue.engine.feed.request_views import request_view
from retinue.engine.feed.usage_summary import UsageSummaries
from retinue.engine.lineage.family_tree import Branch, ancestors_of, tree_of
from retinue.engine.scheduling.schedule_service import NewSchedule, ScheduleChanges
from retinue.engine.scheduling.schedule_views import run_views, schedule_view, schedule_views
from retinue.errors import NotFoundError, StoreError
from retinue.ids import LOCAL_OWNER, AgentId, ItemId, RequestId, ScheduleId
from retinue.stores.port import AgentQuery

if TYPE_CHECKING:
    from retinue.definitions.definition import Definition
    from retinue.definitions.definition_graph import DefinitionGraph
    from retinue.engine.engine import Engine
    from retinue.engine.prompting.context_view import ContextView
    from retinue.events import AgentView, Event, RequestView, ScheduleView, SlotView
    from retinue.models.port import Models
    from retinue.plugins.port import Plugin
    from retinue.problems import LoadProblem
    from retinue.records import AnyRecord, FileReference

_FILES_LISTED = 1000
_BY = f"{LOCAL_OWNER} (terminal)"


class LocalClient:
    """Asks the engine of this process; it works on messages only when it was told to."""

    is_remote = False

    def __init__(self, app: App, *, is_working: bool) -> None:
        self._app = app
        self.is_working = is_working
        self._engine = app.engine
        self._store = app.engine.store

    @classmethod
    async def open(
        cls, project: Path, env: Mapping[str, str], *, is_working: bool
    ) -> "LocalClient":
        return cls(await open_app(project, env, starts=is_working), is_working=is_working)

    @property
    def models(self) -> "Models":
        return self._app.models

    async def close(self) -> None:
        await self._app.close()

    # -- definitions

    async def definitions(self) -> Definitions:
        catalog = self._engine.catalog
        default = self._default_name()
        return Definitions(
            definitions=[_definition_view(one, default) for one in catalog.definitions()],
            problems=problems_of(self._engine),
        )

    async def graph(self, definition: str) -> "DefinitionGraph":
        from retinue.definitions.definition_graph import graph_of

        catalog = self._engine.catalog
        return graph_of(catalog, catalog.definition(definition))

    def _default_name(self) -> str:
        try:
            preferred = self._app.settings.agents.default_definition
            return self._engine.catalog.default(preferred).name
        except NotFoundError:
            return ""

    # -- agents

    async def agents(
        self,
        *,
        definition: str | None = None,
        kind: Kind | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> AgentList:
        page = await self._store.agents(
            AgentQuery(
                owner=LOCAL_OWNER,
                definition=definition,
                kind=kind,
                text=query,
                limit=limit,
                cursor=cursor,
            )
        )
        return AgentList(
            agents=[self._engine.view(agent) for agent in page.agents], next_cursor=page.next_cursor
        )

    async def agent(self, agent_id: str) -> "AgentView":
        return self._engine.view(await self._store.agent(LOCAL_OWNER, AgentId(agent_id)))

    async def detail(self, agent_id: str) -> AgentDetail:
        agent = await self._store.agent(LOCAL_OWNER, AgentId(agent_id))
        items = await self._store.open_items(LOCAL_OWNER, agent.id)
        files = await self._engine.tree(agent.id).list("/", recursive=True)
        return AgentDetail(
            **_fields(self._engine.view(agent)),
            messages=[item_view(item) for item in items],
            stats=agent.state.stats,
            tokens=agent.state.tokens,
            files=list(files[:_FILES_LISTED]),
        )

    async def context(self, agent_id: str) -> "ContextView":
        return await self._engine.contexts.view(LOCAL_OWNER, AgentId(agent_id))

    async def open_place(self, place: Place) -> "AgentView":
        descriptor = UserDescriptor(
            connector=place.connector, user_id=place.user, channel_id=place.channel
        )
        agent = await self._engine.create(LOCAL_OWNER, place.definition, descriptor=descriptor)
        return self._engine.view(agent)

    async def tree(self, agent_id: str) -> AgentTree:
        branch = await tree_of(self._store, LOCAL_OWNER, AgentId(agent_id), depth=GENERATIONS_SHOWN)
        ancestors = await ancestors_of(self._store, branch.agent)
        return AgentTree(
            ancestors=[self._engine.view(agent) for agent in ancestors],
            tree=self._branch(branch),
        )

    def _branch(self, branch: Branch) -> TreeBranch:
        return TreeBranch(
            agent=self._engine.view(branch.agent),
            children=[self._branch(child) for child in branch.children],
            hidden=branch.hidden,
        )

    # -- messages

    async def post(
        self,
        agent_id: str,
        text: str,
        *,
        key: str | None = None,
        files: "Sequence[FileReference]" = (),
    ) -> Admission:
        sender = Sender(type="user", id=LOCAL_OWNER, connector="terminal")
        receipt = await self._engine.post(
            LOCAL_OWNER, AgentId(agent_id), text, key=key, files=files, sender=sender
        )
        return Admission(
            id=receipt.item.id,
            agent_id=receipt.agent_id,
            fate=receipt.item.fate,
            position=receipt.position,
        )

    async def message(
        self, message_id: str, *, agent_id: str | None = None, wait_seconds: float = 0
    ) -> MessageView:
        outcome = await self._engine.outcome(
            LOCAL_OWNER, ItemId(message_id), wait_seconds=wait_seconds
        )
        if agent_id not in (None, outcome.item.agent_id):
            raise NotFoundError(f"there is no message {message_id!r} of that agent")
        return MessageView(
            **_fields(item_view(outcome.item)),
            position=outcome.position,
            reply=outcome.reply,
            waiting_until=outcome.waiting_until,
            waits=[wait_view(wait) for wait in outcome.waits],
        )

    async def history(self, agent_id: str, *, after: int, limit: int) -> "Sequence[AnyRecord]":
        return await self._store.history(LOCAL_OWNER, AgentId(agent_id), after=after, limit=limit)

    async def recent(self, agent_id: str, *, limit: int) -> "Sequence[AnyRecord]":
        last = await self._last_seq(AgentId(agent_id))
        return await self.history(agent_id, after=max(last - limit, 0), limit=limit)

    async def _last_seq(self, agent_id: AgentId) -> int:
        """Find the end of the history by halving: numbers have no gaps."""

        async def exists(seq: int) -> bool:
            return await self._store.record(LOCAL_OWNER, agent_id, seq) is not None

        low, high = 0, 1  # every record up to `low` exists, and none from `high` on
        while await exists(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if await exists(middle) else (low, middle)
        return low

    # -- commands

    async def reset(self, agent_id: str) -> None:
        await self._engine.reset(LOCAL_OWNER, AgentId(agent_id))

    async def stop(self, agent_id: str) -> bool:
        return await self._engine.interrupt(LOCAL_OWNER, AgentId(agent_id))

    async def compact(self, agent_id: str) -> bool:
        return await self._engine.compact(LOCAL_OWNER, AgentId(agent_id))

    async def switch_back(self, agent_id: str, *, leaving: str | None = None) -> bool:
        left = None if leaving is None else AgentId(leaving)
        return await self._engine.switch_back(LOCAL_OWNER, AgentId(agent_id), leaving=left)

    async def terminate(self, agent_id: str, reason: str) -> Sequence[str]:
        return await self._engine.terminate(LOCAL_OWNER, AgentId(agent_id), reason=reason)

    async def requests(
        self,
        *,
        status: RequestStatus | None = None,
        agent_id: str | None = None,
        limit: int = 100,
    ) -> "list[RequestView]":
        found = await self._store.requests.list(
            LOCAL_OWNER,
            status=status,
            agent_id=AgentId(agent_id) if agent_id else None,
            limit=limit,
        )
        return [request_view(request) for request in found]

    async def request(self, request_id: str) -> "RequestView":
        return request_view(await self._store.requests.get(LOCAL_OWNER, RequestId(request_id)))

    async def decide(
        self,
        request_id: str,
        decision: Decision,
        *,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> "RequestView":
        decided = await self._engine.requests.decide(
            LOCAL_OWNER,
            RequestId(request_id),
            decision,
            by=_BY,
            note=note,
            values=values,
        )
        return request_view(decided)

    async def upload(self, agent_id: str, path: str, data: bytes) -> "FileReference":
        await self._store.agent(LOCAL_OWNER, AgentId(agent_id))
        return await self._engine.tree(AgentId(agent_id)).write(path, data)

    # -- usage

    async def usage(self, by: UsageKey, *, first: date | None, last: date | None) -> UsageReport:
        desk = UsageSummaries(self._store, self._engine.settings, self._engine.catalog)
        return await desk.report(LOCAL_OWNER, by, first=first, last=last)

    # -- variables

    async def variables(self, agent_id: str | None) -> Sequence[VariableView]:
        office = self._engine.variables
        if agent_id is None:
            found = await office.of_account(LOCAL_OWNER)
        else:
            found = await office.of_agent(LOCAL_OWNER, AgentId(agent_id))
        return [VariableView(**_fields(one)) for one in found]

    async def set_variable(self, name: str, value: str, *, agent_id: str | None) -> None:
        office = self._engine.variables
        if agent_id is None:
            await office.set_account(LOCAL_OWNER, name, value)
        else:
            await office.set_agent(LOCAL_OWNER, AgentId(agent_id), {name: value})

    async def unset_variable(self, name: str, *, agent_id: str | None) -> None:
        office = self._engine.variables
        if agent_id is None:
            await office.unset_account(LOCAL_OWNER, name)
        else:
            await office.set_agent(LOCAL_OWNER, AgentId(agent_id), {name: None})

    async def missing_variables(self, agent_id: str, request_id: str) -> Sequence[str]:
        office = self._engine.variables
        wanted = await office.request(LOCAL_OWNER, AgentId(agent_id), RequestId(request_id))
        return wanted.missing

    async def provide(self, agent_id: str, request_id: str, values: Mapping[str, str]) -> str:
        office = self._engine.variables
        parent, request = AgentId(agent_id), RequestId(request_id)
        return await office.provide(LOCAL_OWNER, parent, request, values, by=_BY)

    # -- plugins

    async def plugins(self) -> PluginsView:
        source = self._engine.operations.source
        found = await source.plugins()
        return PluginsView(
            plugins=[_plugin_view(plugin) for plugin in found.values()],
            problems=[_problem(one) for one in source.problems()],
        )

    async def operate(
        self,
        plugin: str,
        operation: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
        agent_id: str | None = None,
    ) -> Any:
        caller = Caller(owner=LOCAL_OWNER, agent_id=AgentId(agent_id) if agent_id else None)
        return await self._engine.operations.call(caller, plugin, operation, arguments, key=key)

    async def skills(self) -> SkillsView:
        found = self._engine.skills
        return SkillsView(
            skills=list(found.known()), problems=[_problem(one) for one in found.problems()]
        )

    # -- schedules

    async def schedules(self) -> "Sequence[ScheduleView]":
        return await schedule_views(self._engine.schedules, LOCAL_OWNER)

    async def add_schedule(self, order: ScheduleOrder) -> "ScheduleView":
        schedules = self._engine.schedules
        stored = await schedules.create(
            LOCAL_OWNER,
            NewSchedule(
                title=order.title,
                prompt=order.prompt,
                cron=order.cron,
                at=order.at,
                timezone=order.timezone,
                catch_up=order.catch_up,
                definition=order.definition,
            ),
        )
        return await schedule_view(schedules, LOCAL_OWNER, stored.schedule.id)

    async def pause_schedule(self, name: str, *, paused: bool) -> "ScheduleView":
        schedules = self._engine.schedules
        await schedules.change(LOCAL_OWNER, ScheduleId(name), ScheduleChanges(is_paused=paused))
        return await schedule_view(schedules, LOCAL_OWNER, ScheduleId(name))

    async def run_schedule(self, name: str) -> Admission:
        receipt = await self._engine.schedules.run(LOCAL_OWNER, ScheduleId(name))
        return Admission(
            id=receipt.item.id,
            agent_id=receipt.agent_id,
            fate=receipt.item.fate,
            position=receipt.position,
        )

    async def delete_schedule(self, name: str) -> None:
        await self._engine.schedules.delete(LOCAL_OWNER, ScheduleId(name))

    async def schedule_runs(self, name: str, *, limit: int) -> "Sequence[SlotView]":
        return await run_views(self._engine.schedules, LOCAL_OWNER, ScheduleId(name), limit=limit)

    async def facts(self) -> Facts:
        facts = await self._store.facts()
        refusal = ""
        try:
            await self._store.check()
        except StoreError as error:
            refusal = error.message
        return Facts(
            kind=facts.kind,
            schema=facts.schema,
            agents=facts.agents,
            items_open=facts.items_open,
            bytes=facts.bytes,
            problems=list(facts.problems),
            refusal=refusal,
        )

    async def settle_folders(self) -> None:
        await self._app.mirror.start()
        await self._app.mirror.stop()

    def events(self, agent_id: str, *, after: int | None = None) -> "AsyncIterator[Event]":
        return self._engine.subscribe(LOCAL_OWNER, after=after, agent_id=AgentId(agent_id))


def _fields(view: msgspec.Struct) -> dict[str, Any]:
    return msgspec.structs.asdict(view)


def problems_of(engine: "Engine") -> list[Problem]:
    """What does not load: definitions, prompts, tools."""
    return [_problem(one) for one in (*engine.catalog.errors(), *engine.toolbox.problems())]


def _problem(problem: "LoadProblem") -> Problem:
    return Problem(
        message=problem.message,
        file=problem.file,
        field=problem.field,
        line=problem.line,
        severity=problem.severity,
        using_last_good=problem.using_last_good,
    )


def _plugin_view(plugin: "Plugin") -> PluginView:
    return PluginView(
        id=plugin.id,
        title=plugin.title,
        description=plugin.description,
        operations=[
            OperationView(
                id=one.id,
                tool=plugin.tool_name(one),
                summary=one.summary,
                description=one.description,
                parameters=dict(one.parameters),
                effect=one.effect,
                capabilities=list(one.capabilities),
                needs_agent=one.needs_agent,
            )
            for one in plugin.operations
        ],
        file=plugin.file,
    )


def _definition_view(definition: "Definition", default: str) -> DefinitionView:
    home = definition.home
    return DefinitionView(
        name=definition.name,
        display_name=definition.display_name,
        description=definition.description,
        type="external" if definition.is_external else definition.kind,
        model=definition.model,
        file=definition.file,
        is_default=definition.name == default,
        package=PackageView(name=home.package, version=home.version) if home else None,
    )
