"""The store port for requests: a decision is one transaction.

`settle` checks that the request belongs to the owner, is pending and has not expired, stores the
decision, and puts the answer into the inbox of the agent that asked: all or nothing, at most once.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

from msgspec import Struct

from retinue.agents.inbox import ItemBody
from retinue.agents.request import Request, RequestStatus
from retinue.ids import AgentId, ItemId, OwnerId, RequestId


class Voiding(Struct, frozen=True, kw_only=True):
    """Requests of the committing agent that no longer need a decision."""

    reason: str
    requests: Sequence[RequestId] | None = None  # None = all pending ones
    status: Literal["void", "answered"] = "void"
    """`answered`: the commit fulfils the request; it is refused if the request is settled."""
    by: str = ""


class Notice(Struct, frozen=True, kw_only=True):
    """A silent message about a decision to another agent; dropped if that agent is gone."""

    to: AgentId
    item_id: ItemId
    body: ItemBody


class Decision(Struct, frozen=True, kw_only=True):
    """The decision on a request, and the answer for the agent that asked."""

    owner: OwnerId
    request_id: RequestId
    status: Literal["allowed", "denied", "answered", "expired"]
    by: str  # who decided, for the audit log
    at: datetime
    item_id: ItemId
    answer: ItemBody
    note: str = ""
    values: dict[str, Any] = {}
    notice: Notice | None = None


class RequestStore(Protocol):
    """Requests. Commits create and void them; they are settled here."""

    async def settle(self, decision: Decision) -> Request:
        """Decide a request, or let it expire.

        Raises `NotFoundError` if it does not exist or belongs to another owner, and `ConflictError`
        if it is not pending, too late to decide, too early to expire, or its agent has ended. Then
        nothing changed.
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
        """An owner's requests, newest first; `before` continues after a page."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[Request]:
        """Pending requests of all owners that have expired, longest overdue first."""
        ...

    async def earliest(self) -> datetime | None:
        """The earliest expiry of all pending requests."""
        ...
