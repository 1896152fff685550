"""The client that asks the server of the project."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from retinue.agents.descriptor import Kind
from retinue.agents.request import RequestStatus
from retinue.agents.usage import UsageKey, UsageReport
from retinue.cli.client import (
    GENERATIONS_SHOWN,
    Admission,
    AgentDetail,
    AgentList,
    AgentTree,
    Decision,
    Definitions,
    Facts,
    MessageView,
    Place,
    PluginsView,
    ScheduleOrder,
    SkillsView,
    VariableView,
)
from retinue.engine.prompting.context_view import ContextView
from retinue.errors import BusyError, RetinueError
from retinue.events import (
    AgentView,
    Event,
    HelloEvent,
    ItemView,
    RequestView,
    ResyncEvent,
    ScheduleView,
    SlotView,
)
from retinue.records import FileReference, decode_record

if TYPE_CHECKING:
    from retinue.definitions.definition_graph import DefinitionGraph
    from retinue.records import AnyRecord

T = TypeVar("T")

_REFUSING = 503
_TIMEOUT_SECONDS = 30.0
_OPERATION_SECONDS = 86_400.0  # the server has limits for them, and knows how each ended
_RECONNECT_SECONDS = 30.0
_PAUSE_SECONDS = 0.5
_NO_END = 2**53 - 1


class _Error(msgspec.Struct):
    code: str
    message: str
    details: dict[str, Any] = {}


class _ErrorAnswer(msgspec.Struct):
    error: _Error


class _History(msgspec.Struct):
    records: list[msgspec.Raw]


class _Files(msgspec.Struct):
    files: list[FileReference]


class _Requests(msgspec.Struct):
    requests: list[RequestView]


class _Items(msgspec.Struct):
    items: list[ItemView]


class _Applied(msgspec.Struct):
    applied: bool


class _Ended(msgspec.Struct):
    ended: list[str]


class _Health(msgspec.Struct):
    store: Facts
    reason: str = ""


class _Code(msgspec.Struct):
    code: str


class ServerError(RetinueError):
    """What the server answered, with its own code."""

    def __init__(self, error: _Error) -> None:
        super().__init__(error.message, details=error.details)
        self.code = error.code


class _Result(msgspec.Struct):
    result: Any


class _Variables(msgspec.Struct):
    variables: list[VariableView]


class _Wanted(msgspec.Struct):
    missing: list[str]


class _Begun(msgspec.Struct):
    child_thread_id: str


class _Schedules(msgspec.Struct):
    schedules: list[ScheduleView]


class _Runs(msgspec.Struct):
    runs: list[SlotView]


class RemoteClient:
    """Speaks HTTP with the server, and follows its event stream."""

    is_remote = True
    is_working = True
    models = None

    def __init__(self, url: str, token: str) -> None:
        # The server is on this machine: a proxy of the environment must not see the token.
        self._url = url.rstrip("/")
        self._http = httpx2.AsyncClient(
            base_url=self._url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    # -- definitions and agents

    async def definitions(self) -> Definitions:
        return await self._get("/api/definitions", Definitions)

    async def graph(self, definition: str) -> "DefinitionGraph":
        from retinue.definitions.definition_graph import DefinitionGraph

        return await self._get(f"/api/definitions/{quote(definition)}/graph", DefinitionGraph)

    async def agents(
        self,
        *,
        definition: str | None = None,
        kind: Kind | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> AgentList:
        wanted = {
            "definition": definition,
            "kind": kind,
            "query": query,
            "limit": limit,
            "cursor": cursor,
        }
        return await self._get("/api/agents", AgentList, _given(wanted))

    async def agent(self, agent_id: str) -> AgentView:
        return await self._get(_agent(agent_id), AgentView)

    async def detail(self, agent_id: str) -> AgentDetail:
        agent, files, items = await asyncio.gather(
            self._get(_agent(agent_id), AgentDetail),
            self._get(f"{_agent(agent_id)}/files", _Files, {"recursive": "true"}),
            self._get(f"{_agent(agent_id)}/messages", _Items),
        )
        return msgspec.structs.replace(agent, files=files.files, messages=items.items)

    async def tree(self, agent_id: str) -> AgentTree:
        return await self._get(f"{_agent(agent_id)}/tree", AgentTree, {"depth": GENERATIONS_SHOWN})

    async def context(self, agent_id: str) -> ContextView:
        return await self._get(f"{_agent(agent_id)}/context", ContextView)

    async def open_place(self, place: Place) -> AgentView:
        body = {"definition": place.definition, "descriptor": place.descriptor}
        return await self._send("POST", "/api/agents", AgentView, body)

    # -- messages

    async def post(
        self,
        agent_id: str,
        text: str,
        *,
        key: str | None = None,
        files: Sequence[FileReference] = (),
    ) -> Admission:
        body = _given({"content": text, "key": key, "attachments": [file.path for file in files]})
        return await self._send("POST", f"{_agent(agent_id)}/messages", Admission, body)

    async def message(
        self, message_id: str, *, agent_id: str | None = None, wait_seconds: float = 0
    ) -> MessageView:
        parent = _agent(agent_id) if agent_id else "/api"
        return await self._get(
            f"{parent}/messages/{quote(message_id, safe='')}",
            MessageView,
            {"wait": wait_seconds},
            extra_seconds=wait_seconds,
        )

    async def history(self, agent_id: str, *, after: int, limit: int) -> "Sequence[AnyRecord]":
        return await self._history(agent_id, {"after": after, "limit": limit})

    async def recent(self, agent_id: str, *, limit: int) -> "Sequence[AnyRecord]":
        records: list[AnyRecord] = []
        before = _NO_END
        while len(records) < limit and before > 1:
            wanted = min(limit - len(records), 1000)
            page = await self._history(agent_id, {"before": before, "limit": wanted})
            if not page:
                break
            records = [*page, *records]
            before = page[0].seq
        return records

    async def _history(self, agent_id: str, query: Mapping[str, int]) -> "list[AnyRecord]":
        page = await self._get(f"{_agent(agent_id)}/history", _History, query)
        return [decode_record(bytes(record)) for record in page.records]

    # -- commands

    async def reset(self, agent_id: str) -> None:
        await self._send("POST", f"{_agent(agent_id)}/reset", _Applied)

    async def stop(self, agent_id: str) -> bool:
        return (await self._send("POST", f"{_agent(agent_id)}/stop", _Applied)).applied

    async def compact(self, agent_id: str) -> bool:
        # A model writes the summary, and it may take its time.
        path = f"{_agent(agent_id)}/compact"
        return (await self._send("POST", path, _Applied, extra_seconds=300)).applied

    async def switch_back(self, agent_id: str, *, leaving: str | None = None) -> bool:
        path, body = f"{_agent(agent_id)}/switch-back", {"from": leaving} if leaving else {}
        return (await self._send("POST", path, _Applied, body)).applied

    async def terminate(self, agent_id: str, reason: str) -> Sequence[str]:
        body = {"reason": reason}
        return (await self._send("POST", f"{_agent(agent_id)}/terminate", _Ended, body)).ended

    async def requests(
        self,
        *,
        status: RequestStatus | None = None,
        agent_id: str | None = None,
        limit: int = 100,
    ) -> list[RequestView]:
        wanted = _given({"status": status, "agent": agent_id, "limit": limit})
        return (await self._get("/api/permissions", _Requests, wanted)).requests

    async def request(self, request_id: str) -> RequestView:
        return await self._get(f"/api/permissions/{quote(request_id, safe='')}", RequestView)

    async def decide(
        self,
        request_id: str,
        decision: Decision,
        *,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> RequestView:
        body = {"decision": decision, "note": note, "values": values or {}}
        path = f"/api/permissions/{quote(request_id, safe='')}"
        return await self._send("POST", path, RequestView, body)

    async def upload(self, agent_id: str, path: str, data: bytes) -> FileReference:
        answer = await self._request(
            "PUT", f"{_agent(agent_id)}/files/{quote(path.lstrip('/'))}", content=data
        )
        return msgspec.json.decode(answer, type=FileReference)

    # -- variables

    async def usage(self, by: UsageKey, *, first: date | None, last: date | None) -> UsageReport:
        days = {"from": first, "to": last}
        query = {"by": by, **{name: day.isoformat() for name, day in days.items() if day}}
        return await self._get("/api/usage", UsageReport, query)

    async def variables(self, agent_id: str | None) -> Sequence[VariableView]:
        return (await self._get(_variables(agent_id), _Variables)).variables

    async def set_variable(self, name: str, value: str, *, agent_id: str | None) -> None:
        path = f"{_variables(agent_id)}/{quote(name, safe='')}"
        content = msgspec.json.encode({"value": value})
        headers = {"Content-Type": "application/json"}
        await self._request("PUT", path, content=content, headers=headers)

    async def unset_variable(self, name: str, *, agent_id: str | None) -> None:
        await self._request("DELETE", f"{_variables(agent_id)}/{quote(name, safe='')}")

    async def missing_variables(self, agent_id: str, request_id: str) -> Sequence[str]:
        return (await self._get(_wanted(agent_id, request_id), _Wanted)).missing

    async def provide(self, agent_id: str, request_id: str, values: Mapping[str, str]) -> str:
        path = _wanted(agent_id, request_id)
        return (await self._send("POST", path, _Begun, {"env": values})).child_thread_id

    # -- plugins

    async def plugins(self) -> PluginsView:
        return await self._get("/api/plugins", PluginsView)

    async def operate(
        self,
        plugin: str,
        operation: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
        agent_id: str | None = None,
    ) -> Any:
        path = f"/api/plugins/{quote(plugin, safe='')}/operations/{quote(operation, safe='')}"
        body = {"arguments": arguments, "key": key, "agentId": agent_id}
        answer = await self._send("POST", path, _Result, body, extra_seconds=_OPERATION_SECONDS)
        return answer.result

    async def skills(self) -> SkillsView:
        return await self._get("/api/skills", SkillsView)

    # -- schedules

    async def schedules(self) -> Sequence[ScheduleView]:
        return (await self._get("/api/schedules", _Schedules)).schedules

    async def add_schedule(self, order: ScheduleOrder) -> ScheduleView:
        return await self._send(
            "POST", "/api/schedules", ScheduleView, _given(msgspec.to_builtins(order))
        )

    async def pause_schedule(self, name: str, *, paused: bool) -> ScheduleView:
        return await self._send("PATCH", _schedule(name), ScheduleView, {"paused": paused})

    async def run_schedule(self, name: str) -> Admission:
        return await self._send("POST", f"{_schedule(name)}/run", Admission)

    async def delete_schedule(self, name: str) -> None:
        await self._request("DELETE", _schedule(name))

    async def schedule_runs(self, name: str, *, limit: int) -> Sequence[SlotView]:
        return (await self._get(f"{_schedule(name)}/runs", _Runs, {"limit": limit})).runs

    async def facts(self) -> Facts:
        try:
            answer = await self._http.get("/api/health")
        except httpx2.TransportError as error:
            raise self._silent() from error
        if answer.status_code not in (200, _REFUSING):
            raise _error(answer.status_code, answer.content)
        health = msgspec.json.decode(answer.content, type=_Health)
        refusal = health.reason if answer.status_code == _REFUSING else ""
        return msgspec.structs.replace(health.store, refusal=refusal)

    async def settle_folders(self) -> None:
        """Nothing: the server does it all the time."""

    async def login_link(self) -> str:
        """Ask for a fresh one-time code."""
        answer = await self._send("POST", "/api/login-codes", _Code)
        return f"{self._url}/#login={answer.code}"

    # -- events

    async def events(self, agent_id: str, *, after: int | None = None) -> AsyncIterator[Event]:
        """Follow the stream; a connection that breaks is taken up again where it was."""
        loop = asyncio.get_running_loop()
        cursor = after
        lost_at: float | None = None
        is_begun = False
        while True:
            try:
                async for event in self._stream(agent_id, cursor):
                    lost_at = None
                    if isinstance(event, HelloEvent):
                        cursor = event.cursor
                        if is_begun:
                            continue
                        is_begun = True
                    yield event
                    cursor = max(cursor or 0, getattr(event, "cursor", 0))
                    if isinstance(event, ResyncEvent):
                        cursor = event.cursor
            except httpx2.TransportError:
                pass
            now = loop.time()
            lost_at = now if lost_at is None else lost_at
            if now - lost_at > _RECONNECT_SECONDS:
                raise self._silent()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _stream(self, agent_id: str, after: int | None) -> AsyncIterator[Event]:
        query = _given({"agent": agent_id, "after": after})
        timeout = httpx2.Timeout(_TIMEOUT_SECONDS, read=60.0)
        async with self._http.stream("GET", "/api/events", params=query, timeout=timeout) as answer:
            if answer.is_error:
                raise _error(answer.status_code, await answer.aread())
            decoder = msgspec.json.Decoder(Event)
            async for line in answer.aiter_lines():
                if line.startswith("data:"):
                    yield decoder.decode(line[5:])

    # -- requests

    async def _get(
        self,
        path: str,
        shape: type[T],
        query: Mapping[str, Any] | None = None,
        *,
        extra_seconds: float = 0,
    ) -> T:
        answer = await self._request("GET", path, params=query, extra_seconds=extra_seconds)
        return msgspec.json.decode(answer, type=shape)

    async def _send(
        self,
        method: str,
        path: str,
        shape: type[T],
        body: Mapping[str, Any] | None = None,
        *,
        extra_seconds: float = 0,
    ) -> T:
        content = None if body is None else msgspec.json.encode(body)
        answer = await self._request(method, path, content=content, extra_seconds=extra_seconds)
        return msgspec.json.decode(answer, type=shape)

    async def _request(
        self, method: str, path: str, *, extra_seconds: float = 0, **arguments: Any
    ) -> bytes:
        if method in ("POST", "PATCH"):
            arguments["headers"] = {"Content-Type": "application/json"}
        timeout = _TIMEOUT_SECONDS + extra_seconds
        try:
            answer = await self._http.request(method, path, timeout=timeout, **arguments)
        except httpx2.TransportError as error:
            raise self._silent() from error
        if answer.is_error:
            raise _error(answer.status_code, answer.content)
        return answer.content

    def _silent(self) -> BusyError:
        return BusyError(
            f"the server at {self._url} does not answer: is it stopping? Try again soon"
        )


def _schedule(name: str) -> str:
    return f"/api/schedules/{quote(name, safe='')}"


def _agent(agent_id: str) -> str:
    return f"/api/agents/{quote(agent_id, safe='')}"


def _variables(agent_id: str | None) -> str:
    return "/api/variables" if agent_id is None else f"{_agent(agent_id)}/variables"


def _wanted(agent_id: str, request_id: str) -> str:
    return f"/api/threads/{quote(agent_id, safe='')}/variables/{quote(request_id, safe='')}"


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _error(status: int, body: bytes) -> RetinueError:
    try:
        return ServerError(msgspec.json.decode(body, type=_ErrorAnswer).error)
    except msgspec.DecodeError:
        return RetinueError(f"the server answered {status} and nothing that could be understood")
