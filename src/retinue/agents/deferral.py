"""A subagent that cannot start before its owner provides its variables."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from retinue.agents.inbox import Trail
from retinue.definitions.subagent_config import SubagentConfig
from retinue.ids import AgentId, CallId, RequestId, SideName


class Deferral(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The requested creation, kept in the parent's state until the values are provided."""

    id: RequestId
    call: CallId
    child: AgentId  # its future id
    config: SubagentConfig
    side: SideName  # the parent's side whose prompt has the entry
    message: str
    name: str = ""
    attachments: list[str] = []
    arguments: dict[str, Any] = {}
    trail: Trail | None = None
    required: list[str]  # names of variables that must be provided for each child
    asked_at: datetime
    expires_at: datetime

    def is_open(self, now: datetime) -> bool:
        return now < self.expires_at


def endpoint_of(parent: AgentId, request_id: RequestId) -> str:
    """Return the path that the owner posts the values to."""
    return f"/threads/{parent}/variables/{request_id}"
