"""An agent in memory: what the store holds of it, kept in step with every commit."""

import asyncio
from bisect import insort
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct, structs

from retinue.agents.command import StopCommand, interrupts
from retinue.agents.context import Context
from retinue.agents.history import History
from retinue.agents.inbox import FINAL, Item
from retinue.agents.state import AgentState, Lifecycle
from retinue.engine.agent.state_effects import with_effects
from retinue.ids import AgentId, ItemId, OwnerId
from retinue.records import AssistantRecord, KnownRecord
from retinue.stores.port import NO_EFFECTS, Commit, Effects, FateChange, Post, Snapshot
from retinue.stores.request_port import Voiding

RecordT = TypeVar("RecordT", bound=KnownRecord)

_BYTES_PER_CHARACTER = 3  # of context: the record, the model message and what holds them


class Draft(Struct):
    """A commit being put together."""

    at: datetime
    epoch: int
    next_seq: int
    state: AgentState
    records: list[KnownRecord] = []
    fates: list[FateChange] = []
    effects: Effects = NO_EFFECTS
    context_from: int | None = None
    lifecycle: Lifecycle | None = None
    definition: str | None = None  # another one from here on
    begins: Post | None = None
    is_completed: bool = False  # whoever has to hear of the ends in here is in here, too
    from_hooks: int = 0  # of the agent's hook effects, how many are in here

    def add(self, record: RecordT) -> RecordT:
        """Stamp a record with its place and time."""
        seq = self.next_seq + len(self.records)
        stamped = structs.replace(record, seq=seq, at=self.at)
        self.records.append(stamped)
        return stamped

    def void_all(self, reason: str) -> None:
        """Close all requests of the agent, whatever else was said about some of them."""
        voids = (Voiding(reason=reason),)
        self.effects = self.effects._replace(voids=voids)

    def emit(self, effects: Effects) -> None:
        """Add effects, and what they change about the agent itself."""
        self.effects = self.effects.merge(effects)
        self.state = with_effects(self.state, effects, self.at)


class LiveAgent:
    """One agent's working memory."""

    def __init__(self, snapshot: Snapshot) -> None:
        agent = snapshot.agent
        self.id: AgentId = agent.id
        self.owner: OwnerId = agent.owner
        self.kind = agent.kind
        self.descriptor = agent.descriptor
        self.is_secluded = False  # it, or whom it works for, is a swarm's
        self.is_preview = False  # made to show people what the next step would be
        self.definition = agent.definition
        self.state = agent.state
        self.epoch = snapshot.epoch
        self.next_seq = snapshot.next_seq
        self.history = History(snapshot.records)
        self.context = Context(self.history.records)  # what the model whose turn it is sees
        self._contexts = {"": self.context}  # by who sees it
        self._seen_by: str = ""  # the side that acts, where both are models
        self.waiting: list[Item] = []
        self._last_item_seq = 0
        self.has_crashed = False  # the process before this one died with a turn going on
        self.has_begun_call = False  # a call of this process has begun, without a result yet
        self.system = ""  # the system prompt with what only this agent is told
        self.system_of: object = None  # the plan that it is made of
        self.system_since = -1  # what the roster had gone through by then
        self.closing = ""  # what the model is told after the conversation
        self.closing_since = -1  # the turn that first asked for it
        self.closing_about: tuple[int, int, frozenset[str]] | None = None  # what it was made of
        self.is_deleted = False
        self.is_ended = agent.lifecycle != "active"
        self.hook_effects: list[Effects] = []  # what hooks asked for, for the next commit
        self.has_listeners = agent.kind != "user"  # somebody may have to hear how items end
        self.running: dict[ItemId, Item] = {}  # the turn's items
        self._is_interrupted = False
        self.cut_off: AssistantRecord | None = None  # what was said when a person pressed Stop
        self.aside: asyncio.Task[None] | None = None  # a command beside the work that goes on
        self._working: asyncio.Task[Any] | None = None
        self.is_running_tools = False
        for item in snapshot.items:
            if item.fate == "queued":
                self.receive(item)
            else:
                self.running[item.id] = item
                self.has_listeners |= item.body.sender.type != "user"

    def look_as(self, side: str) -> None:
        """From here on the context is what this side sees; no side, where one is a person."""
        if side != self._seen_by:
            self._seen_by = side
            if side not in self._contexts:
                self._contexts[side] = Context(self.history.records, side=side)
            self.context = self._contexts[side]

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        return 4096 + self.context.characters * _BYTES_PER_CHARACTER

    @property
    def is_working(self) -> bool:
        return self._working is not None

    @property
    def is_stopped_next(self) -> bool:
        """Whether a person's Stop is what breaks off the work, and not a reset or the end."""
        first = next((item for item in self.waiting if interrupts(item.body.command)), None)
        return first is not None and isinstance(first.body.command, StopCommand)

    @property
    def has_commands(self) -> bool:
        return bool(self.waiting) and any(item.kind == "command" for item in self.waiting)

    def receive(self, item: Item) -> None:
        """Take an admitted item; one that was seen already changes nothing."""
        if item.body.sender.type != "user":
            self.has_listeners = True
        if item.seq > self._last_item_seq:
            self.waiting.append(item)
            self._last_item_seq = item.seq
        elif all(item.seq != known.seq for known in self.waiting) and item.fate == "queued":
            insort(self.waiting, item, key=lambda entry: entry.seq)

    def item(self, item_id: ItemId) -> Item | None:
        """The item of that id, running or waiting."""
        running = self.running.get(item_id)
        return running or next((item for item in self.waiting if item.id == item_id), None)

    def spoken(self, up_to: int) -> list[Item]:
        """Give what people said, up to that item, and wait for an answer to."""
        return [
            item
            for item in self.waiting
            if item.is_user_input and not item.silent and item.seq <= up_to
        ]

    def interrupt(self) -> None:
        """Break off the model call or the tools that are running, if any."""
        if self._working is not None:
            self._is_interrupted = True
            self._working.cancel()

    def begin_work(self, task: asyncio.Task[Any] | None, *, is_tool: bool) -> None:
        """From here on this task may be interrupted, until `end_work`."""
        self._working = task
        self.is_running_tools = is_tool

    def end_work(self) -> bool:
        """No longer; tells whether it was interrupted."""
        was_interrupted = self._is_interrupted
        self._working = None
        self._is_interrupted = False
        self.is_running_tools = False
        return was_interrupted

    def commit_of(self, draft: Draft) -> Commit:
        for effects in self.hook_effects[draft.from_hooks :]:
            draft.emit(effects)
        draft.from_hooks = len(self.hook_effects)
        return Commit(
            agent_id=self.id,
            epoch=self.epoch,
            at=draft.at,
            begins=draft.begins,
            state=draft.state if draft.state is not self.state else None,
            records=draft.records,
            context_from=draft.context_from,
            fates=draft.fates,
            effects=draft.effects,
            lifecycle=draft.lifecycle,
            definition=draft.definition,
        )

    def apply(self, draft: Draft) -> None:
        """Follow what was committed."""
        self.state = draft.state
        if draft.from_hooks:
            del self.hook_effects[: draft.from_hooks]
        self.next_seq += len(draft.records)
        for record in draft.records:
            self.history.append(record)
            for context in self._contexts.values():
                context.append(record)
        if draft.lifecycle is not None:
            self.is_ended = draft.lifecycle != "active"
        if draft.definition is not None:
            self.definition = draft.definition
        if draft.fates:
            self._follow_fates(draft.fates)

    def _follow_fates(self, changes: Sequence[FateChange]) -> None:
        if self.waiting:
            changed = {change.item_id for change in changes}
            for item in self.waiting:
                if item.id in changed:
                    self.running[item.id] = item
            self.waiting = [item for item in self.waiting if item.id not in changed]
        for change in changes:
            if change.fate in FINAL:
                self.running.pop(change.item_id, None)

    def turn_items(self) -> Sequence[ItemId]:
        return self.state.turn.items if self.state.turn else ()
