"""Calls that agents were not allowed to make, from the audit log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from retinue.ids import AgentId
from retinue.server.endpoints import AnyEndpoint, Endpoint, RouteCall, answer
from retinue.server.wire import Answer, Asked, Nothing
from retinue.stores.port import AuditEntry

Refused = Literal["tool", "skill"]

_ACTIONS: Mapping[str, Refused] = {"tool_refused": "tool", "skill_refused": "skill"}


class RefusalQuery(Asked, frozen=True, kw_only=True):
    """The page of refused calls to list."""

    before: Annotated[int, Meta(ge=1)] | None = None  # the number of an entry
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class RefusalEntry(Answer, frozen=True, kw_only=True):
    """A refused call."""

    number: int  # grows with time
    at: datetime
    agent_id: AgentId
    kind: Refused
    name: str  # of the tool or the skill
    rule: str  # which rule refused it


class RefusalList(Answer, frozen=True, kw_only=True):
    """Refused calls, newest first."""

    refusals: list[RefusalEntry]
    has_more: bool


async def refusals(call: RouteCall[RefusalQuery, Nothing]) -> Response:
    query = call.query
    found = await call.engine.store.audited(
        call.owner, list(_ACTIONS), before=query.before, limit=query.limit + 1
    )
    shown = found[: query.limit]
    return answer(
        RefusalList(refusals=[_entry(one) for one in shown], has_more=len(found) > len(shown))
    )


def _entry(entry: AuditEntry) -> RefusalEntry:
    kind = _ACTIONS[entry.action]
    return RefusalEntry(
        number=entry.number,
        at=entry.at,
        agent_id=entry.agent_id,
        kind=kind,
        name=entry.detail.get(kind, ""),
        rule=entry.detail.get("rule", ""),
    )


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/refusals",
        summary="List calls that agents were not allowed to make, newest first",
        run=refusals,
        query=RefusalQuery,
        body=Nothing,
        answer=RefusalList,
    ),
]
