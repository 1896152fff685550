"""Creates requests to an agent's owner: bounded in number, never duplicated, announced."""

from datetime import timedelta
from typing import Any, Protocol

from retinue.agents.descriptor import Descriptor
from retinue.agents.inbox import ItemBody, Sender
from retinue.agents.request import Asked, Question, Request, digest_of_call
from retinue.agents.state import AgentState
from retinue.agents.visible_text import visible
from retinue.clock import Clock
from retinue.engine.agent.limits import Limits
from retinue.engine.feed.request_views import headline
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.errors import ConflictError, RefusedError
from retinue.ids import AgentId, CallId, OwnerId, new_item_id, new_request_id
from retinue.stores.port import NewItem, Post, Store
from retinue.text import clean_json, clean_text

ALREADY_ASKED = (
    "You have already asked exactly this. It is pending, not denied: the decision will arrive as "
    "a message. Continue with other work until then."
)


class Asker(Protocol):
    """The agent that makes the request."""

    @property
    def id(self) -> AgentId: ...

    @property
    def owner(self) -> OwnerId: ...

    @property
    def descriptor(self) -> Descriptor: ...

    @property
    def definition(self) -> str: ...

    @property
    def state(self) -> AgentState: ...


class AskDesk:
    """Creates requests; they are committed with the step that suspends the call."""

    def __init__(self, store: Store, clock: Clock, limits: Limits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    async def ask(self, asker: Asker, call: CallId, kind: Question, asked: Asked) -> Request:
        """Create a request.

        Raises `ConflictError` if the same request is pending, `RefusedError` if too many are.
        """
        most = self._limits.pending_requests
        digest = _digest(kind, asked)
        pending = await self._store.requests.list(
            asker.owner, status="pending", agent_id=asker.id, limit=most
        )
        if any(request.digest == digest for request in pending):
            raise ConflictError(ALREADY_ASKED)
        if len(pending) >= most:
            raise RefusedError(
                f"{len(pending)} of your requests are waiting for the owner, which is the limit: "
                "continue with other work until some are decided"
            )
        now = self._clock.now()
        return Request(
            id=new_request_id(),
            owner=asker.owner,
            agent_id=asker.id,
            call=call,
            kind=kind,
            asked=_by(asker, asked),
            digest=digest,
            created_at=now,
            expires_at=now + timedelta(seconds=self._limits.permission_seconds),
        )

    async def notices(self, asker: Asker, request: Request) -> list[Post]:
        """A silent notice in the owner's most recent chat about a background agent's request."""
        if asker.descriptor.is_foreground:
            return []
        chat = await fetch(self._store, asker.owner, "most-recent-foreground")
        if chat is None or chat.id == asker.id:
            return []
        name = visible(request.asked.requester) or asker.definition
        reason = f" Its reason: {visible(request.asked.reason)}" if request.asked.reason else ""
        text = (
            f"The background agent {name!r} ({asker.id}) {headline(request)}.{reason} "
            f"Only the owner can decide (request {request.id}); it gets the decision directly."
        )
        item = NewItem(
            id=new_item_id(),
            kind="system",
            body=ItemBody(text=clean_text(text), sender=Sender(type="agent", id=asker.id)),
            admitted_at=request.created_at,
            silent=True,
        )
        return [Post(to=chat.id, item=item, owner=asker.owner, is_optional=True)]


def _by(asker: Asker, asked: Asked) -> Asked:
    name = asker.state.name or getattr(asker.descriptor, "name", "")
    return Asked(
        requester=clean_text(name),
        definition=asker.definition,
        is_background=not asker.descriptor.is_foreground,
        permission=asked.permission,
        reason=clean_text(asked.reason),
        tool=asked.tool,
        arguments=clean_json(asked.arguments),
        title=clean_text(asked.title),
        fields=asked.fields,
    )


def _digest(kind: Question, asked: Asked) -> str:
    match kind:
        case "approval":
            return digest_of_call(asked.tool, asked.arguments)
        case "permission":
            return digest_of_call("@", {"permission": asked.permission})
        case "question":
            fields: dict[str, Any] = {field.name: str(field) for field in asked.fields}
            return digest_of_call("?", {"title": asked.title, "fields": fields})
