"""What changes about an agent, as one small value stored with each commit."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from retinue.agents.children import ChildEntry, ChildTerms
from retinue.agents.deferral import Deferral
from retinue.agents.descriptor import Route
from retinue.agents.inbox import Item, Trail, WaitReason
from retinue.ids import AgentId, CallId, ItemId, RequestId, SideName
from retinue.records import FileReference, Usage

Lifecycle = Literal["active", "terminated", "deleted"]


class TokenStats(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Sums over all model calls of one model; a reset does not clear them."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, usage: Usage) -> "TokenStats":
        return TokenStats(
            calls=self.calls + 1,
            input=self.input + usage.input,
            output=self.output + usage.output,
            cache_read=self.cache_read + usage.cache_read,
            cache_write=self.cache_write + usage.cache_write,
        )

    def together(self, other: "TokenStats") -> "TokenStats":
        return TokenStats(
            calls=self.calls + other.calls,
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """All tokens, cached or not."""
        return self.input + self.output + self.cache_read + self.cache_write


def counted(
    stats: Mapping[str, dict[str, TokenStats]], model: str, usage: Usage
) -> dict[str, dict[str, TokenStats]]:
    """Add a call's tokens to the sums of its provider and model."""
    provider, _, name = model.partition(":")
    name = name or provider
    models = stats.get(provider, {})
    sums = models.get(name, TokenStats()).plus(usage)
    return {**stats, provider: {**models, name: sums}}


class TokenSnapshot(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The last model call's size: what the provider counted beside what we estimated."""

    model: str
    reported: int
    estimated: int


class Suspension(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call whose result comes later, as an item of the inbox."""

    call: CallId
    reason: WaitReason
    until: datetime | None = None
    at_timeout: str = ""  # the call's result when nothing came until then
    agent_id: AgentId | None = None  # who works on it
    item: ItemId | None = None  # on what: withdrawn when this turn ends early
    request: RequestId | None = None  # which permission or question it is about

    def is_settled_by(self, item: Item) -> bool:
        """Whether this is its outcome: providers number calls anew in each response."""
        answer = item.body.answer
        if answer is None or answer.call != self.call:
            return False
        if answer.request != self.request:
            return False
        return self.item is None or item.body.about in (None, self.item)

    @property
    def holds(self) -> bool:
        """Whether later calls of the same response must wait too: a person decides about it."""
        return self.reason != "child"


class Handoff(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Who goes on with the conversation after the step that is under way, and what they get."""

    to: str  # the definition
    text: str = ""
    files: list[FileReference] = []
    arguments: dict[str, Any] = {}


class Turn(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The turn that is going on; `None` in the state = the agent rests."""

    items: list[ItemId]
    first_seq: int  # the first record of this turn
    started_at: datetime
    steps: int = 0
    attempt: int = 0  # failed tries of the model call that is due
    model_index: int = 0  # 0 = the chosen model, then its fallbacks
    retry_at: datetime | None = None  # None while the model is asked
    retry_is_asked: bool = False  # the provider named that time: nothing cuts it short
    crashes: int = 0  # processes that died in this turn, one soon after the other
    crashed_at_step: int = 0
    on_trial: bool = False  # it runs as the only one that processes died in: the next is its own
    calls_unbegun: bool = (
        False  # a process that ended in good order had begun none of the open ones
    )
    overflowed: bool = False  # the provider's overflow was answered once
    suspended: list[Suspension] = []
    boots: dict[CallId, int] = {}  # calls of immediate subagents: which instance each begins
    approved: list[CallId] = []  # calls of the last response that a person let run
    messaged: list[AgentId] = []  # whom this turn wrote to
    side: SideName = "side_a"  # whose turn it is, where both sides are models
    side_since: int = 0  # the first record of that side's turn
    side_steps: int = 0  # model calls in it
    turns: int = 0  # of both sides, that ended
    handoff: Handoff | None = None  # the last one that this step's calls asked for
    trail: Trail | None = None
    is_delegated: bool = False  # its answer is for one agent alone

    def is_suspended(self, call: CallId) -> bool:
        return any(suspension.call == call for suspension in self.suspended)


class AgentState(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Selection, grants, times, token stats, what people see in a list, and the turn that runs."""

    created_at: datetime
    updated_at: datetime
    active_at: datetime | None = None  # when a message was taken up last
    last_user_activity_at: datetime | None = None
    name: str | None = None
    pinned_at: datetime | None = None
    title: str | None = None  # how the conversation began; people see it until they give a name
    last_snippet: str | None = None
    attributes: dict[str, Any] = {}
    model: str | None = None  # chosen for this agent; else the definition's
    is_introduced: bool = False  # the hooks of its first moment ran
    arguments: dict[str, Any] = {}  # what the definition was called with, for its prompts
    grants: list[str] = []
    unwanted: list[
        ItemId
    ] = []  # asked of others and withdrawn: an answer that crosses that is late
    approvals: list[str] = []  # digests of calls that may run once without being asked about
    tokens: TokenSnapshot | None = None
    stats: dict[str, dict[str, TokenStats]] = {}
    provider_session: str | None = None  # a provider-side session id; cleared by a reset
    switched_to: AgentId | None = None  # who answers this chat instead
    route: Route | None = None  # the chat that this agent answers, though it is another's
    came_from: AgentId | None = None  # the agent that the person left for this one
    child: ChildTerms | None = None  # it is the subagent of another agent
    children: list[ChildEntry] = []  # its own subagents
    env: dict[str, str] = {}  # its own variables, each sealed for this agent
    booted: list[str] = []  # prompts of its definition whose immediate subagents were begun
    deferred: list[Deferral] = []  # its subagents that wait for theirs
    turn: Turn | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AgentState)

encode_state: Callable[[AgentState], bytes] = _encoder.encode
decode_state: Callable[[bytes], AgentState] = _decoder.decode
