"""Requests from an agent to its owner; only the owner decides, and only once."""

from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import Struct

from retinue.agents.form import Field
from retinue.ids import AgentId, CallId, OwnerId, RequestId

Question = Literal["permission", "approval", "question"]
"""What a call waits for. `permission`: a grant. `approval`: consent to run one call with exactly
these arguments. `question`: a completed form."""

RequestKind = Literal[Question, "variables"]
"""`variables`: values that a subagent needs to start; they are never part of the request."""

RequestStatus = Literal["pending", "allowed", "denied", "answered", "expired", "void"]
"""`void`: closed by a reset, a stop or the end of the agent before it was decided."""

_encoder = msgspec.json.Encoder(order="deterministic")


class Asked(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The immutable content of a request. Texts are as the model wrote them."""

    requester: str = ""  # the agent's name, if it has one
    definition: str = ""
    is_background: bool = False
    permission: str = ""
    reason: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    title: str = ""
    fields: list[Field] = []


class Request(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A request to the owner and its outcome."""

    id: RequestId
    owner: OwnerId
    agent_id: AgentId
    call: CallId
    kind: RequestKind
    asked: Asked
    digest: str  # hash of exactly what is being decided
    created_at: datetime
    expires_at: datetime
    status: RequestStatus = "pending"
    decided_at: datetime | None = None
    decided_by: str = ""
    note: str = ""
    values: dict[str, Any] = {}  # the answers to a question


def digest_of_call(tool: str, arguments: dict[str, Any]) -> str:
    """Return a hash of a tool and its arguments, independent of the order of keys."""
    return sha256(_encoder.encode([tool, arguments])).hexdigest()


def why_settled(request: Request) -> str:
    """Explain why a request can no longer be decided."""
    at = f" at {request.decided_at.isoformat(timespec='seconds')}" if request.decided_at else ""
    match request.status:
        case "expired":
            what = f"it expired{at}"
        case "void":
            what = f"it was closed{at} ({request.note})"
        case status:
            what = f"it was already decided: {status}{at}"
    return f"this request is no longer open: {what}; nothing was changed"
