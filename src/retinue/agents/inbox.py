"""Items: what is in an inbox, and what becomes of each: exactly one final fate."""

import re
from datetime import datetime
from typing import Literal, TypeGuard

from msgspec import Struct

from retinue.agents.children import ChildUpdate
from retinue.agents.command import Command
from retinue.agents.descriptor import Route
from retinue.ids import AgentId, CallId, ItemId, RequestId, SideName, is_agent_id
from retinue.records import FileReference, ToolStatus

OpenFate = Literal["queued", "running", "waiting"]
FinalFate = Literal["answered", "failed", "cancelled", "refused", "expired"]
Fate = Literal[
    "queued", "running", "waiting", "answered", "failed", "cancelled", "refused", "expired"
]
WaitReason = Literal["permission", "child", "budget", "variables"]

FINAL: frozenset[str] = frozenset({"answered", "failed", "cancelled", "refused", "expired"})

WITHDRAWN = "withdrawn"
"""The reason of items that their senders took back."""

ItemKind = Literal["message", "system", "answer", "withdrawal", "command", "status", "boot"]
"""`message` = words to answer, a person's or a delegating agent's; `system` = an agent's or the
engine's notice; `answer` = what became of something that this agent asked for; `withdrawal` = an
earlier item is no longer wanted; `command` = an order of the agent's owner or parent; `status` =
what a child is doing, for the registry alone; `boot` = the agent is new, and its prompt has
something to begin."""


class Sender(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who put the item there; set by the door or the engine, never taken from a text."""

    type: Literal["user", "agent", "schedule", "engine"]
    id: str = ""  # user id, agent id, schedule id
    connector: str = ""
    message_ids: list[str] = []  # as the connector numbers them


class ReplyTo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who delegated an item, and the call that is told its outcome."""

    agent_id: AgentId
    call: CallId
    mode: Literal["sync", "async", "child"]  # child = it is a subagent's run
    created: bool = False  # the session was made for this item


class Answer(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The result of a call that waits for it; the item's text says the same to one that does not.

    `runs` lets the call run now instead: somebody approved it.
    """

    call: CallId
    text: str = ""
    status: ToolStatus = "ok"
    runs: bool = False
    grants: list[str] = []  # permissions that the agent holds from now on
    request: RequestId | None = None  # that was decided: a call's id may come again
    approves: list[str] = []  # digests of calls that may run once without being asked about


class Trail(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How a message came here: the delegations that wait for it, and hops since a person spoke."""

    agents: list[AgentId] = []
    definitions: list[str] = []  # of these agents
    hops: int = 0


class ItemBody(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the item says."""

    text: str
    sender: Sender
    files: list[FileReference] = []
    trail: Trail | None = None
    reply_to: ReplyTo | None = None
    report_to: AgentId | None = None  # is told the outcome as a system message
    answer: Answer | None = None  # of kind `answer`
    command: Command | None = None  # of kind `command`
    route: Route | None = None  # the chat that it was written in, when that is another agent's
    to_side: SideName = "side_a"  # whose turn it is then, where both sides are models
    child: ChildUpdate | None = None  # what it changes in the registry of children
    about: ItemId | None = None  # the item that a withdrawal or an outcome means


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
    code: str = ""  # of a command: the code of its error, or `unchanged`
    reply_seq: int | None = None  # the record that answers it
    ended_at: datetime | None = None

    @property
    def is_user_input(self) -> bool:
        return self.kind == "message"

    @property
    def is_delegated(self) -> bool:
        """Whether an agent is told the outcome: such an item has a turn of its own."""
        return self.body.reply_to is not None

    @property
    def is_from_person(self) -> bool:
        return self.kind == "message" and self.body.sender.type == "user"


def is_final(fate: Fate) -> TypeGuard[FinalFate]:
    return fate in FINAL


# A client may put one line before a person's message, for the model and not for people. It is a
# part of the message like any other and gives no rights. It is only parsed in order to be left
# out where people read, and only where the line is such a tag and nothing else.
_CONTEXT_LINE = re.compile(
    r"""\A<context(?:[ \t]+[A-Za-z][\w-]*="[^"\n]*")*[ \t]*/>[ \t]*(?:\r?\n|\Z)""", re.ASCII
)


def without_context_line(text: str) -> str:
    """The message as people see it."""
    return _CONTEXT_LINE.sub("", text, count=1) if text.startswith("<context") else text


def seen_text(text: str, sender: str) -> str:
    """The same, for any sender: agents have no window, so what they write is shown whole."""
    return text if is_agent_id(sender) else without_context_line(text)


def has_context_line(text: str) -> bool:
    return text.startswith("<context") and _CONTEXT_LINE.match(text) is not None
