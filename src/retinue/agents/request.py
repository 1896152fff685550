"""Requests: what an agent asks its owner, decided once, and by nobody else."""

from datetime import datetime
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import Struct

from retinue.agents.form import Field
from retinue.ids import AgentId, CallId, OwnerId, RequestId

Question = Literal["permission", "approval", "question"]
"""What a call waits for. `permission` = to hold a grant; `approval` = to run one call with exactly
these arguments; `question` = a form to fill in."""

RequestKind = Literal[Question, "variables"]
"""`variables` = values that a subagent needs to begin; they are never part of the request."""

RequestStatus = Literal["pending", "allowed", "denied", "answered", "expired", "void"]
"""`void` = what it was about ended first: a reset, a stop, the end of the agent."""

_encoder = msgspec.json.Encoder(order="deterministic")


class Asked(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is asked and by whom; never changes. Texts are as the model gave them."""

    requester: str = ""  # the agent's name, when it had one
    definition: str = ""
    is_background: bool = False
    permission: str = ""
    reason: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    title: str = ""
    fields: list[Field] = []


class Request(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A question to the owner and what became of it."""

    id: RequestId
    owner: OwnerId
    agent_id: AgentId
    call: CallId
    kind: RequestKind
    asked: Asked
    digest: str  # of what exactly a decision is about
    created_at: datetime
    expires_at: datetime
    status: RequestStatus = "pending"
    decided_at: datetime | None = None
    decided_by: str = ""
    note: str = ""
    values: dict[str, Any] = {}  # the answers to a question


def digest_of_call(tool: str, arguments: dict[str, Any]) -> str:
    """Tell one call from any other: the same tool with the same arguments, however ordered."""
    return sha256(_encoder.encode([tool, arguments])).hexdigest()


def why_settled(request: Request) -> str:
    """Say why a decision comes too late."""
    at = request.decided_at.isoformat(timespec="seconds") if request.decided_at else "some time"
    match request.status:
        case "expired":
            what = f"nobody decided in time, so it expired at {at}"
        case "void":
            what = f"it was closed at {at} ({request.note})"
        case status:
            what = f"it was decided already: {status} at {at}"
    return f"this request is no longer open: {what}; nothing was changed"
