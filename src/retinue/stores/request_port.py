"""The requests' part of the store port: a decision is one transaction.

`settle` checks that the request is the owner's, open and in time, writes what was decided, and puts
the answer into the inbox of the agent that asked: all of it or nothing, and at most once.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from retinue.agents.inbox import ItemBody
from retinue.agents.request import Request, RequestStatus
from retinue.ids import AgentId, ItemId, OwnerId, RequestId


class Voiding(Struct, frozen=True, kw_only=True):
    """Requests of the committing agent that nobody has to decide any more."""

    reason: str
    requests: Sequence[RequestId] | None = None  # None = all that are pending
    status: Literal["void", "answered"] = "void"
    """`answered` = the commit does what was asked: it is refused when that was decided already"""
    by: str = ""


class Notice(Struct, frozen=True, kw_only=True):
    """What another agent is told, silently, of a decision, if it is still there."""

    to: AgentId
    item_id: ItemId
    body: ItemBody


class Decision(Struct, frozen=True, kw_only=True):
    """What becomes of a request, and the answer for the agent that asked."""

    owner: OwnerId
    request_id: RequestId
    status: Literal["allowed", "denied", "answered", "expired"]
    by: str  # who decided, for the audit
    at: datetime
    item_id: ItemId
    answer: ItemBody
    note: str = ""
    values: dict[str, Any] = {}
    notice: Notice | None = None


class RequestStore(Protocol):
    """Requests; they are made and voided by commits, and settled here."""

    async def settle(self, decision: Decision) -> Request:
        """Decide a request, or let it expire.

        Raises `NotFoundError` when there is none or it is another owner's, and `ConflictError` when
        it is no longer open, too late or too early to expire, or its agent ended: then nothing
        changed.
        """
        ...

    async def get(self, owner: OwnerId, request_id: RequestId) -> Request:
        """Raises `NotFoundError`."""
        ...

    async def list(
        self,
        owner: OwnerId,
        *,
        status: RequestStatus | None = None,
        agent_id: AgentId | None = None,
        before: RequestId | None = None,
        limit: int = 100,
    ) -> Sequence[Request]:
        """An owner's requests, the newest first; `before` goes on after a page."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[Request]:
        """Everybody's open requests whose time is up, the longest overdue first."""
        ...

    async def earliest(self) -> datetime | None:
        """When the next open request of anybody expires."""
        ...
