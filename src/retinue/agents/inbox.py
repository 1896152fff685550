"""Items: what is in an inbox."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from retinue.agents.fate import Fate
from retinue.ids import AgentId, ItemId
from retinue.messages import FileReference

ItemKind = Literal["message", "system"]
"""`message` = a person's words; `system` = an agent's or the engine's."""


class Sender(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who put the item there; set by the door or the engine, never taken from a text."""

    type: Literal["user", "agent", "schedule", "engine"]
    id: str = ""  # user id, agent id, schedule id
    connector: str = ""
    message_ids: list[str] = []  # as the connector numbers them


class ItemBody(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the item says."""

    text: str
    sender: Sender
    files: list[FileReference] = []


class Item(Struct, frozen=True, kw_only=True, rename="camel"):
    """One message in an inbox."""

    id: ItemId
    agent_id: AgentId
    seq: int  # per agent, from 1, in the order of admission
    kind: ItemKind
    silent: bool  # recorded with the next step that runs anyway; wakes nothing
    body: ItemBody
    admitted_at: datetime
    fate: Fate = "queued"
    reason: str = ""  # why it failed, was refused, waits
    reply_seq: int | None = None  # the record that answers it
    ended_at: datetime | None = None

    @property
    def is_user_input(self) -> bool:
        return self.kind == "message"
