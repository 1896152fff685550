"""The mutable state of an agent, stored with each commit."""

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

Lifecycle = Literal["active", "terminated"]


class TokenStats(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Totals over all calls of one model; not cleared by a reset."""

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
        """All tokens, including cached ones."""
        return self.input + self.output + self.cache_read + self.cache_write


def counted(
    stats: Mapping[str, dict[str, TokenStats]], model: str, usage: Usage
) -> dict[str, dict[str, TokenStats]]:
    """Add the tokens of a call to the totals of its provider and model."""
    provider, _, name = model.partition(":")
    name = name or provider
    models = stats.get(provider, {})
    sums = models.get(name, TokenStats()).plus(usage)
    return {**stats, provider: {**models, name: sums}}


class TokenSnapshot(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The size of the last model call: reported by the provider, and estimated."""

    model: str
    reported: int
    estimated: int


class PromptSize(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How much of the context the prompt takes, and how much there is: as of the last model call.

    It is stored, so that a process that just started sees the same limits as one that ran before.
    """

    overhead: int = 0  # characters of all that is sent beside the conversation
    own: int = 0  # of these, what is not the definition's: artifacts, other agents, subagents
    window: int | None = None  # tokens that the model takes


class Suspension(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call whose result arrives later as an inbox item."""

    call: CallId
    reason: WaitReason
    until: datetime | None = None
    at_timeout: str = ""  # the result of the call if it times out
    agent_id: AgentId | None = None  # the agent that works on it
    item: ItemId | None = None  # that agent's item; withdrawn if this turn ends early
    request: RequestId | None = None  # the request to the owner

    def is_settled_by(self, item: Item) -> bool:
        """Whether an item is its outcome; the call id is not enough, since providers reuse ids."""
        answer = item.body.answer
        if answer is None or answer.call != self.call:
            return False
        if answer.request != self.request:
            return False
        return self.item is None or item.body.about in (None, self.item)

    @property
    def holds(self) -> bool:
        """Whether later calls of the same response have to wait until a person decides."""
        return self.reason != "child"


class Handoff(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The definition that takes over after the current step, and its input."""

    to: str  # the name of the definition
    text: str = ""
    files: list[FileReference] = []
    arguments: dict[str, Any] = {}


class Turn(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The current turn; the state has `None` if the agent is idle."""

    items: list[ItemId]
    first_seq: int  # the first record of this turn
    steps: int = 0
    attempt: int = 0  # failed attempts of the current model call
    model_index: int = 0  # 0 = the chosen model, then its fallbacks
    retry_at: datetime | None = None  # None during a model call
    retry_is_asked: bool = False  # the provider set the retry time, so it is never shortened
    crashes: int = 0  # successive process crashes during this turn
    crashed_at_step: int = 0
    on_trial: bool = False  # it runs alone, so that the next crash can be attributed to it
    calls_unbegun: bool = False  # a clean shutdown happened before any open call was started
    calls_epoch: int = 0  # in this epoch, no open call was started and interrupted
    overflow: str = ""  # a context overflow that is not handled yet, as the provider reported it
    overflowed: bool = False  # a context overflow was handled once
    suspended: list[Suspension] = []
    boots: dict[CallId, int] = {}  # calls of immediate subagents, with the instance number
    approved: list[CallId] = []  # calls of the last response that a person approved
    messaged: list[AgentId] = []  # agents that this turn sent messages to
    side: SideName = "side_a"  # the active side, if both sides are models
    side_since: int = 0  # the first record of that side's turn
    side_steps: int = 0  # model calls in that side's turn
    turns: int = 0  # completed turns of both sides
    handoff: Handoff | None = None  # the last one requested by this step's calls
    trail: Trail | None = None
    is_delegated: bool = False  # its answer goes to one agent only

    def is_suspended(self, call: CallId) -> bool:
        return any(suspension.call == call for suspension in self.suspended)


class AgentState(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of an agent, including the current turn."""

    created_at: datetime
    updated_at: datetime
    active_at: datetime | None = None  # when the last message was taken from the inbox
    last_user_activity_at: datetime | None = None
    name: str | None = None
    pinned_at: datetime | None = None
    title: str | None = None  # the beginning of the conversation; shown if there is no name
    last_snippet: str | None = None
    attributes: dict[str, Any] = {}
    model: str | None = None  # overrides the definition's model
    is_introduced: bool = False  # its creation hooks have run
    arguments: dict[str, Any] = {}  # the arguments of the definition, for its prompts
    grants: list[str] = []
    unwanted: list[ItemId] = []  # withdrawn items; late answers to them are ignored
    approvals: list[str] = []  # digests of calls that may run once without approval
    tokens: TokenSnapshot | None = None
    prompt_size: PromptSize = PromptSize()
    compaction_failed_at: int = 0  # the next seq when it failed last
    stats: dict[str, dict[str, TokenStats]] = {}
    switched_to: AgentId | None = None  # the agent that answers this chat instead
    route: Route | None = None  # another agent's chat that this agent answers
    came_from: AgentId | None = None  # the agent that the person switched from
    child: ChildTerms | None = None  # set if this agent is a subagent
    children: list[ChildEntry] = []  # its own subagents
    env: dict[str, str] = {}  # its own variables, each encrypted for this agent
    booted: list[str] = []  # prompts whose immediate subagents were started
    deferred: list[Deferral] = []  # its subagents that wait for variables
    turn: Turn | None = None


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AgentState)

encode_state: Callable[[AgentState], bytes] = _encoder.encode
decode_state: Callable[[bytes], AgentState] = _decoder.decode
