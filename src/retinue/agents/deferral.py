"""A subagent that cannot begin before its owner gives it its variables."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from retinue.agents.inbox import Trail
from retinue.definitions.subagent_config import SubagentConfig
from retinue.ids import AgentId, CallId, RequestId, SideName


class Deferral(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The creation as it was asked for, kept in the parent's state until the values come."""

    id: RequestId
    call: CallId
    child: AgentId  # what its id will be
    config: SubagentConfig
    side: SideName  # of the parent, whose prompt has the entry
    message: str
    name: str = ""
    attachments: list[str] = []
    arguments: dict[str, Any] = {}
    trail: Trail | None = None
    required: list[str]  # names of variables that each child has to be given
    asked_at: datetime
    expires_at: datetime

    def is_open(self, now: datetime) -> bool:
        return now < self.expires_at


def endpoint_of(parent: AgentId, request_id: RequestId) -> str:
    """Where the owner posts the values."""
    return f"/threads/{parent}/variables/{request_id}"
