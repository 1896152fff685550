"""Inbox items and their fates; every item gets exactly one final fate."""

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
"""The reason of items that were cancelled by their senders."""

ItemKind = Literal["message", "system", "answer", "withdrawal", "command", "status", "boot"]
"""`message`: text to answer, from a person or a delegating agent. `system`: a notice from an agent
or the engine. `answer`: the outcome of a request of this agent. `withdrawal`: cancels an earlier
item. `command`: an order from the agent's owner or parent. `status`: a child's status, for the
registry only. `boot`: the agent is new, and its prompt starts subagents."""


class Sender(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The sender of an item; set by the server or the engine, never parsed from text."""

    type: Literal["user", "agent", "schedule", "engine"]
    id: str = ""  # user id, agent id, schedule id
    connector: str = ""


class ReplyTo(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The agent that delegated an item, and the call that receives the outcome."""

    agent_id: AgentId
    call: CallId
    mode: Literal["sync", "async", "child"]  # child = a subagent's run
    created: bool = False  # the session was created for this item


class Answer(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The result for a waiting call. If the call no longer waits, the item's text is used instead.

    With `runs`, there is no result: the call was approved and runs now.
    """

    call: CallId
    text: str = ""
    status: ToolStatus = "ok"
    runs: bool = False
    grants: list[str] = []  # new permissions of the agent
    request: RequestId | None = None  # the decided request; call ids are not unique
    approves: list[str] = []  # digests of calls that may run once without approval


class Trail(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The origin of a message: the delegations that wait for it, and hops since a person wrote."""

    agents: list[AgentId] = []
    definitions: list[str] = []  # the definitions of these agents
    hops: int = 0


class ItemBody(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The content of an item."""

    text: str
    sender: Sender
    files: list[FileReference] = []
    trail: Trail | None = None
    reply_to: ReplyTo | None = None
    report_to: AgentId | None = None  # receives the outcome as a system message
    answer: Answer | None = None  # of kind `answer`
    command: Command | None = None  # of kind `command`
    route: Route | None = None  # the chat that it was written in, if that is another agent's
    to_side: SideName = "side_a"  # the side that answers, if both sides are models
    child: ChildUpdate | None = None  # a change to the registry of children
    about: ItemId | None = None  # the item that a withdrawal or an outcome refers to


class Item(Struct, frozen=True, kw_only=True, rename="camel"):
    """One message in an inbox."""

    id: ItemId
    agent_id: AgentId
    seq: int  # per agent, starting at 1, in order of admission
    kind: ItemKind
    silent: bool  # recorded with the next step; does not wake the agent
    body: ItemBody
    admitted_at: datetime
    fate: Fate = "queued"
    reason: str = ""  # why it failed, was refused, or waits
    code: str = ""  # of a command: the code of its error, or `unchanged`
    reply_seq: int | None = None  # the record that answers it
    ended_at: datetime | None = None

    @property
    def is_user_input(self) -> bool:
        return self.kind == "message"

    @property
    def is_delegated(self) -> bool:
        """Whether an agent receives the outcome; such an item has its own turn."""
        return self.body.reply_to is not None

    @property
    def is_from_person(self) -> bool:
        return self.kind == "message" and self.body.sender.type == "user"


def is_final(fate: Fate) -> TypeGuard[FinalFate]:
    return fate in FINAL


# A client can put a context line before a person's message, for the model only. It is ordinary
# message text and grants no rights. It is parsed only to hide it from people, and only a line
# that consists of nothing but the tag is hidden.
_CONTEXT_LINE = re.compile(
    r"""\A<context(?:[ \t]+[A-Za-z][\w-]*="[^"\n]*")*[ \t]*/>[ \t]*(?:\r?\n|\Z)""", re.ASCII
)


def without_context_line(text: str) -> str:
    """Return the message as people see it."""
    return _CONTEXT_LINE.sub("", text, count=1) if text.startswith("<context") else text


def seen_text(text: str, sender: str) -> str:
    """Return a message as people see it; messages of agents are shown in full."""
    return text if is_agent_id(sender) else without_context_line(text)


def has_context_line(text: str) -> bool:
    return text.startswith("<context") and _CONTEXT_LINE.match(text) is not None
