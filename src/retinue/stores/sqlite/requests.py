"""Requests in the embedded store: writes and queries."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from retinue.agents.request import Request, RequestStatus, why_settled
from retinue.clock import from_microseconds, to_microseconds
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import AgentId, OwnerId, RequestId
from retinue.stores.port import NewItem, Post
from retinue.stores.request_port import Decision, Voiding
from retinue.stores.sqlite.access import Access
from retinue.stores.sqlite.batch import Batch
from retinue.stores.sqlite.queries import READING, WRITING
from retinue.stores.sqlite.rows import request_of
from retinue.stores.sqlite.write_operations import SettleRequest
from retinue.stores.sqlite.writer_cache import CachedAgent
from retinue.text import clean_text

SETTLED_KEPT = 200  # per agent

T = TypeVar("T")

_encode = msgspec.json.encode


class KnownRequests:
    """The requests that a group refers to, including the group's own changes."""

    def __init__(
        self, connection: sqlite3.Connection, ids: Iterable[str], agents: Iterable[str]
    ) -> None:
        self._known: dict[RequestId, Request] = {}
        for statement, wanted in (("load_requests", ids), ("load_pending_requests", agents)):
            names = list(wanted)
            if names:
                rows = connection.execute(WRITING[statement], (_encode(names).decode(),))
                for request in map(request_of, rows):
                    self._known[request.id] = request

    def make(self, entry: CachedAgent, requests: Sequence[Request], batch: Batch) -> list[Request]:
        made = [replace(request, owner=entry.owner, agent_id=entry.id) for request in requests]
        for request in made:
            self._known[request.id] = request
            expires_at = to_microseconds(request.expires_at)
            row = (request.id, entry.owner, entry.number, expires_at, _encode(request))
            batch.statements.append(("insert_request", row))
        return made

    def restore(
        self, entry: CachedAgent, requests: Sequence[Request], batch: Batch
    ) -> list[Request]:
        """Restore the agent's requests with their outcomes."""
        asked = [
            replace(one, status="pending", decided_at=None, decided_by="", note="", values={})
            for one in requests
        ]
        made = self.make(entry, asked, batch)
        return [
            new
            if old.status == "pending"
            else self._settle(entry, replace(old, owner=new.owner, agent_id=new.agent_id), batch)
            for old, new in zip(requests, made, strict=True)
        ]

    def check(self, entry: CachedAgent, voiding: Voiding) -> None:
        """Raise `ConflictError` if the commit fulfils a request that is already settled."""
        if voiding.status == "void":
            return
        for request_id in voiding.requests or ():
            request = self._known.get(request_id)
            if request is None or request.agent_id != entry.id:
                raise ConflictError(f"there is no pending request {request_id!r}")
            if request.status != "pending":
                raise _closed(request)

    def void(
        self, entry: CachedAgent, voiding: Voiding, at: datetime, batch: Batch
    ) -> list[Request]:
        """Close the agent's pending requests that the voiding names."""
        meant = voiding.requests
        closed = {
            "status": voiding.status,
            "decided_at": at,
            "decided_by": voiding.by,
            "note": clean_text(voiding.reason),
        }
        return [
            self._settle(entry, replace(request, **closed), batch)
            for request in list(self._known.values())
            if request.agent_id == entry.id
            and request.status == "pending"
            and (meant is None or request.id in meant)
        ]

    def open(self, decision: Decision) -> Request:
        """The request of the decision, if it can still be decided."""
        request = self._known.get(decision.request_id)
        if request is None or request.owner != decision.owner:
            raise NotFoundError(f"there is no request {decision.request_id!r}")
        is_late = decision.at >= request.expires_at
        if request.status == "pending" and is_late and decision.status != "expired":
            ended = replace(request, status="expired", decided_at=request.expires_at)
            raise _closed(ended)
        if request.status == "pending" and not is_late and decision.status == "expired":
            raise ConflictError(f"the request {request.id!r} has not expired yet")
        if request.status != "pending":
            raise _closed(request)
        return request

    def decide(self, entry: CachedAgent, decision: Decision, batch: Batch) -> Request:
        decided = replace(
            self._known[decision.request_id],
            status=decision.status,
            decided_at=decision.at,
            decided_by=decision.by,
            note=clean_text(decision.note),
            values=decision.values,
        )
        return self._settle(entry, decided, batch)

    def _settle(self, entry: CachedAgent, request: Request, batch: Batch) -> Request:
        assert request.decided_at is not None
        self._known[request.id] = request
        decided_at = to_microseconds(request.decided_at)
        answers = _encode(request.values) if request.values else None
        row = (request.id, request.status, decided_at, request.decided_by, request.note, answers)
        batch.statements.append(("settle_request", row))
        batch.statements.append(("prune_requests", (entry.number, SETTLED_KEPT)))
        return request


def _closed(request: Request) -> ConflictError:
    at = request.decided_at.isoformat() if request.decided_at else None
    details = {"status": request.status, "decidedAt": at, "note": request.note}
    return ConflictError(why_settled(request), details=details)


def item_of_decision(decision: Decision) -> NewItem:
    return NewItem(
        id=decision.item_id, kind="answer", body=decision.answer, admitted_at=decision.at
    )


def _notices(decision: Decision) -> list[tuple[Post, bytes]]:
    notice = decision.notice
    if notice is None:
        return []
    item = NewItem(
        id=notice.item_id, kind="system", body=notice.body, admitted_at=decision.at, silent=True
    )
    post = Post(to=notice.to, item=item, owner=decision.owner, is_optional=True)
    return [(post, _encode(notice.body))]


class SqliteRequests:
    """Implements `RequestStore` for the embedded store."""

    def __init__(self, access: Access) -> None:
        self._future, self._write, self._read = access

    async def settle(self, decision: Decision) -> Request:
        asked = await self._read(_read, "request", decision.request_id, decision.owner)
        if not asked:
            raise NotFoundError(f"there is no request {decision.request_id!r}")
        body, notices = _encode(decision.answer), _notices(decision)
        operation = SettleRequest(self._future(), asked[0].agent_id, decision, body, notices)
        return await self._write(operation)

    async def get(self, owner: OwnerId, request_id: RequestId) -> Request:
        found = await self._read(_read, "request", request_id, owner)
        if not found:
            raise NotFoundError(f"there is no request {request_id!r}")
        return found[0]

    async def list(
        self,
        owner: OwnerId,
        *,
        status: RequestStatus | None = None,
        agent_id: AgentId | None = None,
        before: RequestId | None = None,
        limit: int = 100,
    ) -> Sequence[Request]:
        return await self._read(_read, "requests", owner, status, agent_id, before, limit)

    async def due(self, now: datetime, limit: int) -> Sequence[Request]:
        return await self._read(_read, "due_requests", to_microseconds(now), limit)

    async def earliest(self) -> datetime | None:
        return await self._read(_read_earliest)


def _read(connection: sqlite3.Connection, query: str, *parameters: object) -> list[Request]:
    return [request_of(row) for row in connection.execute(READING[query], parameters)]


def _read_earliest(connection: sqlite3.Connection) -> datetime | None:
    (earliest,) = connection.execute(READING["earliest_request"]).fetchone()
    return None if earliest is None else from_microseconds(earliest)
