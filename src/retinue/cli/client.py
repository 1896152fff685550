"""The client of all commands: one method per request.

It speaks HTTP, to the project's server or, if none is running, to the same app in this process.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import msgspec

from retinue.agents.descriptor import Kind
from retinue.agents.request import RequestStatus
from retinue.agents.usage import UsageKey, UsageReport
from retinue.cli.channel import Channel
from retinue.errors import StoreError
from retinue.events import AgentView, Event, RequestView, ScheduleView, SlotView
from retinue.records import AnyRecord, FileReference, decode_record
from retinue.server.definition_wire import DefinitionGraph, DefinitionList
from retinue.server.descriptor_wire import NewAgent, UserPlace
from retinue.server.plugin_wire import OperationCall, OperationResult, PluginList, SkillList
from retinue.server.variable_wire import (
    NewValue,
    Provided,
    SubagentBegun,
    VariableEntry,
    VariableList,
    VariablesWanted,
)
from retinue.server.wire import (
    Admission,
    AgentDetail,
    AgentList,
    AgentsQuery,
    AgentTree,
    CommandAnswer,
    FileEntry,
    FileList,
    FilesQuery,
    Health,
    HistoryPage,
    HistoryQuery,
    LoginCode,
    MessageAnswer,
    MessageList,
    NewMessage,
    RequestEntry,
    RequestList,
    RequestsQuery,
    RunList,
    RunsQuery,
    ScheduleBody,
    ScheduleList,
    SchedulePatch,
    SwitchBackOrder,
    TerminateAnswer,
    TerminateOrder,
    TreeQuery,
    UsageQuery,
    Verdict,
    WaitQuery,
)

if TYPE_CHECKING:
    from retinue.assembly import App
    from retinue.engine.prompting.context_view import ContextView

Decision = Literal["allow", "deny"]

_REFUSING = 503
_OPERATION_SECONDS = 86_400.0  # the server applies the operation's own time limit
_SUMMARY_SECONDS = 300.0  # a model writes the summary
_LARGEST_PAGE = 1000
_NO_END = 2**53 - 1


class AgentReport(AgentDetail, frozen=True, kw_only=True):
    """An agent with its open messages, in order, and its files."""

    messages: list[MessageAnswer]
    files: list[FileEntry]


class Client:
    """One connection to the project's engine. Errors are the engine's own `RetinueError`s.

    `app` is the project opened in this process; None when connected to a server.
    """

    def __init__(
        self, channel: Channel, *, app: "App | None" = None, is_working: bool = True
    ) -> None:
        self._channel = channel
        self.app = app
        self.is_working = is_working  # whether an engine is processing messages

    @property
    def is_remote(self) -> bool:
        return self.app is None

    async def close(self) -> None:
        try:
            await self._channel.close()
        finally:
            if self.app is not None:
                await self.app.close()

    # -- definitions and agents

    async def definitions(self) -> DefinitionList:
        return await self._channel.get("/api/definitions", DefinitionList)

    async def graph(self, definition: str) -> DefinitionGraph:
        """Return a definition with all prompts and agents that it uses."""
        return await self._channel.get(
            f"/api/definitions/{quote(definition)}/graph", DefinitionGraph
        )

    async def agents(
        self,
        *,
        definition: str | None = None,
        kind: Kind | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> AgentList:
        wanted = AgentsQuery(
            definition=definition, kind=kind, query=query, limit=limit, cursor=cursor
        )
        return await self._channel.get("/api/agents", AgentList, wanted)

    async def agent(self, agent_id: str) -> AgentDetail:
        return await self._channel.get(_agent(agent_id), AgentDetail)

    async def report(self, agent_id: str) -> AgentReport:
        agent, files, items = await asyncio.gather(
            self._channel.get(_agent(agent_id), AgentDetail),
            self._channel.get(f"{_agent(agent_id)}/files", FileList, FilesQuery(recursive=True)),
            self._channel.get(f"{_agent(agent_id)}/messages", MessageList),
        )
        fields = msgspec.structs.asdict(agent)
        return AgentReport(**fields, messages=items.items, files=files.files)

    async def tree(self, agent_id: str) -> AgentTree:
        return await self._channel.get(f"{_agent(agent_id)}/tree", AgentTree, TreeQuery())

    async def context(self, agent_id: str) -> "ContextView":
        """Return the request that the model would receive now."""
        from retinue.engine.prompting.context_view import ContextView

        return await self._channel.get(f"{_agent(agent_id)}/context", ContextView)

    async def open_conversation(self, definition: str, place: UserPlace) -> AgentView:
        """Find the agent of this conversation, or create it."""
        wanted = NewAgent(definition=definition, descriptor=place)
        return await self._channel.send("POST", "/api/agents", AgentDetail, wanted)

    # -- messages

    async def post(
        self,
        agent_id: str,
        text: str,
        *,
        key: str | None = None,
        files: Sequence[FileReference] = (),
    ) -> Admission:
        message = NewMessage(content=text, key=key, attachments=[file.path for file in files])
        return await self._channel.send("POST", f"{_agent(agent_id)}/messages", Admission, message)

    async def message(
        self, message_id: str, *, agent_id: str | None = None, wait_seconds: float = 0
    ) -> MessageAnswer:
        parent = _agent(agent_id) if agent_id else "/api"
        return await self._channel.get(
            f"{parent}/messages/{quote(message_id, safe='')}",
            MessageAnswer,
            WaitQuery(wait=wait_seconds),
            extra_seconds=wait_seconds,
        )

    async def history(self, agent_id: str, *, after: int, limit: int) -> Sequence[AnyRecord]:
        return await self._history(agent_id, HistoryQuery(after=after, limit=limit))

    async def recent(self, agent_id: str, *, limit: int) -> Sequence[AnyRecord]:
        """Return the last records, oldest first."""
        records: list[AnyRecord] = []
        before = _NO_END
        while len(records) < limit and before > 1:
            wanted = min(limit - len(records), _LARGEST_PAGE)
            page = await self._history(agent_id, HistoryQuery(before=before, limit=wanted))
            if not page:
                break
            records = [*page, *records]
            before = page[0].seq
        return records

    async def _history(self, agent_id: str, query: HistoryQuery) -> list[AnyRecord]:
        page = await self._channel.get(f"{_agent(agent_id)}/history", HistoryPage, query)
        return [decode_record(bytes(record)) for record in page.records]

    def events(self, agent_id: str, *, after: int | None = None) -> AsyncIterator[Event]:
        return self._channel.events(agent_id, after)

    # -- commands

    async def reset(self, agent_id: str) -> None:
        await self._command(agent_id, "reset")

    async def stop(self, agent_id: str) -> bool:
        """Stop the running turn; false if there was none."""
        return await self._command(agent_id, "stop")

    async def compact(self, agent_id: str) -> bool:
        """Summarise the history; false if there was nothing to summarise."""
        return await self._command(agent_id, "compact", extra_seconds=_SUMMARY_SECONDS)

    async def switch_back(self, agent_id: str, *, leaving: str | None = None) -> bool:
        """Return to this agent; false if no other agent had taken over."""
        return await self._command(agent_id, "switch-back", SwitchBackOrder(leaving=leaving))

    async def _command(
        self,
        agent_id: str,
        name: str,
        order: SwitchBackOrder | None = None,
        *,
        extra_seconds: float = 0,
    ) -> bool:
        done = await self._channel.send(
            "POST", f"{_agent(agent_id)}/{name}", CommandAnswer, order, extra_seconds=extra_seconds
        )
        return done.applied

    async def terminate(self, agent_id: str, reason: str) -> Sequence[str]:
        """End the agent and its children; return the ids of all that ended."""
        path, order = f"{_agent(agent_id)}/terminate", TerminateOrder(reason=reason)
        return (await self._channel.send("POST", path, TerminateAnswer, order)).ended

    async def requests(
        self,
        *,
        status: RequestStatus | None = None,
        agent_id: str | None = None,
        limit: int = 100,
    ) -> Sequence[RequestView]:
        """Return requests of agents, newest first."""
        wanted = RequestsQuery(status=status, agent=agent_id, limit=limit)
        return (await self._channel.get("/api/permissions", RequestList, wanted)).requests

    async def request(self, request_id: str) -> RequestView:
        return await self._channel.get(_request(request_id), RequestEntry)

    async def decide(
        self,
        request_id: str,
        decision: Decision,
        *,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> RequestView:
        verdict = Verdict(decision=decision, note=note, values=dict(values or {}))
        return await self._channel.send("POST", _request(request_id), RequestEntry, verdict)

    async def upload(self, agent_id: str, path: str, data: bytes) -> FileReference:
        response = await self._channel.request(
            "PUT", f"{_agent(agent_id)}/files/{quote(path.lstrip('/'))}", body=data
        )
        return msgspec.json.decode(response.content, type=FileReference)

    # -- usage and variables

    async def usage(self, by: UsageKey, *, first: date | None, last: date | None) -> UsageReport:
        query = UsageQuery(by=by, first=first, last=last)
        return await self._channel.get("/api/usage", UsageReport, query)

    async def variables(self, agent_id: str | None) -> Sequence[VariableEntry]:
        """Return the variables of an agent, or of the account."""
        return (await self._channel.get(_variables(agent_id), VariableList)).variables

    async def set_variable(self, name: str, value: str, *, agent_id: str | None) -> None:
        path = f"{_variables(agent_id)}/{quote(name, safe='')}"
        await self._channel.request("PUT", path, body=NewValue(value=value))

    async def unset_variable(self, name: str, *, agent_id: str | None) -> None:
        await self._channel.request("DELETE", f"{_variables(agent_id)}/{quote(name, safe='')}")

    async def missing_variables(self, agent_id: str, request_id: str) -> Sequence[str]:
        """Return the names of variables that a subagent of this agent waits for."""
        path = _variable_request(agent_id, request_id)
        return (await self._channel.get(path, VariablesWanted)).missing

    async def provide(self, agent_id: str, request_id: str, values: Mapping[str, str]) -> str:
        """Give a waiting subagent its values and start it; return its id."""
        path, given = _variable_request(agent_id, request_id), Provided(env=dict(values))
        return (await self._channel.send("POST", path, SubagentBegun, given)).child_thread_id

    # -- plugins and skills

    async def plugins(self) -> PluginList:
        return await self._channel.get("/api/plugins", PluginList)

    async def operate(
        self,
        plugin: str,
        operation: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
        agent_id: str | None = None,
    ) -> Any:
        """Call an operation, as an agent within its scope or as the owner."""
        path = f"/api/plugins/{quote(plugin, safe='')}/operations/{quote(operation, safe='')}"
        call = OperationCall(arguments=dict(arguments), key=key, agent_id=agent_id)
        done = await self._channel.send(
            "POST", path, OperationResult, call, extra_seconds=_OPERATION_SECONDS
        )
        return done.result

    async def skills(self) -> SkillList:
        return await self._channel.get("/api/skills", SkillList)

    # -- schedules

    async def schedules(self) -> Sequence[ScheduleView]:
        return (await self._channel.get("/api/schedules", ScheduleList)).schedules

    async def add_schedule(self, new: ScheduleBody) -> ScheduleView:
        return await self._channel.send("POST", "/api/schedules", ScheduleView, new)

    async def pause_schedule(self, name: str, *, paused: bool) -> ScheduleView:
        changes = SchedulePatch(paused=paused)
        return await self._channel.send("PATCH", _schedule(name), ScheduleView, changes)

    async def run_schedule(self, name: str) -> Admission:
        return await self._channel.send("POST", f"{_schedule(name)}/run", Admission)

    async def delete_schedule(self, name: str) -> None:
        await self._channel.request("DELETE", _schedule(name))

    async def schedule_runs(self, name: str, *, limit: int) -> Sequence[SlotView]:
        runs = await self._channel.get(f"{_schedule(name)}/runs", RunList, RunsQuery(limit=limit))
        return runs.runs

    # -- the server itself

    async def health(self) -> Health:
        """Return the store's health; raises `StoreError` while nothing can be stored."""
        response = await self._channel.request("GET", "/api/health", allowed=_REFUSING)
        health = msgspec.json.decode(response.content, type=Health)
        if response.status_code == _REFUSING:
            raise StoreError(health.reason)
        return health

    async def settle_folders(self) -> None:
        """Bring the agents' folders up to date; a running server does this continuously."""
        if self.app is not None:
            await self.app.mirror.start()
            await self.app.mirror.stop()

    async def login_link(self) -> str:
        """Return a login link with a new one-time code."""
        answer = await self._channel.send("POST", "/api/login-codes", LoginCode)
        return f"{self._channel.url}/#login={answer.code}"


def _agent(agent_id: str) -> str:
    return f"/api/agents/{quote(agent_id, safe='')}"


def _request(request_id: str) -> str:
    return f"/api/permissions/{quote(request_id, safe='')}"


def _schedule(name: str) -> str:
    return f"/api/schedules/{quote(name, safe='')}"


def _variables(agent_id: str | None) -> str:
    return "/api/variables" if agent_id is None else f"{_agent(agent_id)}/variables"


def _variable_request(agent_id: str, request_id: str) -> str:
    return f"/api/threads/{quote(agent_id, safe='')}/variables/{quote(request_id, safe='')}"
