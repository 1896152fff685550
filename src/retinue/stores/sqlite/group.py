"""Computes the changes of a group of operations; each is checked before it changes anything."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from retinue.agents.descriptor import encode_descriptor, identity_of
from retinue.agents.inbox import Item, is_final
from retinue.agents.request import Request
from retinue.agents.state import encode_state
from retinue.clock import to_microseconds
from retinue.errors import ConflictError
from retinue.ids import AgentId, OwnerId
from retinue.records import StartRecord, encode_record
from retinue.stores.agent_export import StoredAgent
from retinue.stores.artifact_port import Changed, NewChange, news_of
from retinue.stores.port import (
    NO_EFFECTS,
    NOBODY,
    Agent,
    AuditLine,
    Change,
    Commit,
    Committed,
    Effects,
    FateChange,
    NewAgent,
    NewItem,
    Post,
    Receipt,
)
from retinue.stores.sqlite.artifact_writes import KnownArtifacts
from retinue.stores.sqlite.batch import AgentChange, Batch
from retinue.stores.sqlite.effects import apply_effects
from retinue.stores.sqlite.preconditions import Checks, Claims, KnownKeys
from retinue.stores.sqlite.requests import KnownRequests, item_of_decision
from retinue.stores.sqlite.restore import Restored
from retinue.stores.sqlite.schedules import KnownSchedules
from retinue.stores.sqlite.write_operations import (
    Admit,
    Apply,
    ChangeArtifacts,
    Claim,
    Create,
    DeleteAgent,
    Execute,
    Fire,
    Restore,
    RestoreArtifacts,
    RestoreSchedules,
    ScheduleOperation,
    SetAside,
    SettleRequest,
    SkipTo,
    WriteOperation,
)
from retinue.stores.sqlite.writer_cache import (
    CachedAgent,
    Claimed,
    Counters,
    OpenItem,
    WriterCache,
    details_differ,
)
from retinue.text import clean_text

_encode = msgspec.json.encode

# Limits how often a turn updates the sort order of agents: each update moves an index entry.
_ACTIVITY_MICROSECONDS = 1_000_000


class Loaders(NamedTuple):
    """Loads data that only some operations need; each is called at most once."""

    schedules: Callable[[], KnownSchedules]
    requests: Callable[[], KnownRequests]
    artifacts: Callable[[], KnownArtifacts]


class Group:
    """Operations that share one transaction."""

    def __init__(
        self,
        warm: WriterCache,
        counters: Counters,
        keys: KnownKeys,
        load: Loaders,
    ) -> None:
        self.batch = Batch()
        self._load = load
        self._warm = warm
        self._counters = counters
        self._keys = keys
        self._checks = Checks(warm, keys)
        self._changes: list[tuple[int, AgentChange]] = []
        self._apart: list[Change] = []  # changes without an existing agent

    @cached_property
    def _schedules(self) -> KnownSchedules:
        return self._load.schedules()

    @cached_property
    def _requests(self) -> KnownRequests:
        return self._load.requests()

    @cached_property
    def _artifacts(self) -> KnownArtifacts:
        return self._load.artifacts()

    def run(self, operation: WriteOperation) -> object:
        """Run one operation in memory; an error means that it changed nothing."""
        match operation:
            case Apply():
                return self._apply(operation)
            case Admit():
                return self._admit(operation)
            case Create():
                return self._create(operation.new)
            case Claim():
                return self._claim(operation.agent_id)
            case DeleteAgent():
                return self._delete(operation.owner, operation.agent_id)
            case Restore():
                return self._restore(operation.stored)
            case Fire():
                return self._fire(operation)
            case SettleRequest():
                return self._settle_request(operation)
            case _:
                return self._run_rare(operation)

    def _run_rare(self, operation: WriteOperation) -> object:
        match operation:
            case SetAside():
                self._set_aside(operation)
            case SkipTo(cursor=cursor):
                self._counters.cursor = self._counters.floor = cursor
                self.batch.statements.append(("set_meta", ("feed_floor", str(cursor))))
            case Execute():
                self._execute(operation)
                return None
            case ScheduleOperation() | RestoreSchedules():
                return self._schedules.run(operation, self.batch)
            case ChangeArtifacts(change=change):
                return self._change_artifacts(change)
            case RestoreArtifacts(kept=kept):
                self._artifacts.restore(kept, self.batch)
            case _:
                return None

    def changes(self) -> list[Change]:
        """The feed of this group, with each agent in its final state."""
        agents: dict[int, Agent] = {}
        changes: list[Change] = []
        for cursor, draft in self._changes:
            entry = draft.entry
            agent = agents.get(entry.number)
            if agent is None:
                agent = agents[entry.number] = entry.agent()
            changes.append(
                Change(
                    cursor=cursor,
                    agent_id=entry.id,
                    owner=entry.owner,
                    agent=agent,
                    records=draft.records,
                    items=draft.items or (),
                    requests=draft.requests,
                )
            )
        if self._apart:
            changes = sorted((*changes, *self._apart), key=lambda change: change.cursor)
        return changes

    def used(self) -> set[str]:
        return {draft.entry.id for _, draft in self._changes}

    # -- operations

    def _admit(self, operation: Admit) -> Receipt:
        post = operation.post
        self._checks.post(post, {}, set())
        drafts: dict[int, AgentChange] = {}
        receipt = self._post(post, operation.body, drafts)
        for draft in drafts.values():
            self._announce(draft)
        if operation.offset is not None:
            self.batch.offsets[operation.offset.source] = operation.offset.value
        return receipt

    def _fire(self, operation: Fire) -> Receipt | None:
        firing = operation.firing
        if not self._schedules.may_take(firing, self.batch):
            return None
        receipts = self._put_in(operation.posts)
        run = receipts[0] if firing.post is not None else None
        self._schedules.take(firing, run.item.id if run else None, self.batch)
        return run

    def _put_in(self, posts: Sequence[tuple[Post, bytes]]) -> list[Receipt]:
        """Put items into inboxes outside of a commit; notices only if their target accepts them."""
        keys: Claims = {}
        taken = self._checks.taken(posts)
        for post, _ in taken:
            self._checks.post(post, keys, set())
        drafts: dict[int, AgentChange] = {}
        receipts = [self._post(post, body, drafts) for post, body in taken]
        for draft in drafts.values():
            self._announce(draft)
        return receipts

    def _settle_request(self, operation: SettleRequest) -> Request:
        decision = operation.decision
        request = self._requests.open(decision)
        entry = self._checks.existing(request.agent_id, decision.owner)
        if entry.lifecycle != "active":
            raise ConflictError("the agent that asked has ended; nothing was changed")
        draft = AgentChange(entry)
        new = item_of_decision(decision)
        draft.items.append(self._new_item(entry, new, entry.owner, operation.body))
        draft.numbers.append(self._counters.item)
        draft.requests = [self._requests.decide(entry, decision, self.batch)]
        detail = {"request": request.id, "kind": request.kind, "by": decision.by}
        line = AuditLine(action=f"request_{decision.status}", detail=detail)
        self.batch.note(entry, decision.at, [line])
        self._announce(draft)
        self._put_in(operation.notices)
        return draft.requests[0]

    def _create(self, new: NewAgent) -> tuple[Agent, bool]:
        self._checks.new_agent(new)
        drafts: dict[int, AgentChange] = {}
        entry, is_new = self._find_or_create(new, drafts)
        for draft in drafts.values():
            self._announce(draft)
        return entry.agent(), is_new

    def _claim(self, agent_id: AgentId) -> Claimed:
        entry = self._checks.existing(agent_id)
        entry.epoch += 1
        self.batch.details[entry.number] = entry
        return Claimed(entry)

    def _apply(self, operation: Apply) -> Committed:
        commit = operation.commit
        entry = self._checks.existing(commit.agent_id)
        self._checks.commit(entry, commit)
        for voiding in commit.effects.voids:
            self._requests.check(entry, voiding)
        draft = AgentChange(entry)
        receipts: list[Receipt] = []
        if commit.begins is not None and operation.begun is not None:
            receipts.append(self._begin(draft, commit.begins, operation.begun))
            if receipts[0].is_repeat:
                return Committed(cursor=self._counters.cursor, receipts=receipts)
        if operation.bodies or commit.effects.creates:
            receipts += self._send(draft, commit.effects, operation.bodies)
        self._append(entry, operation.records)
        draft.records = commit.records
        for change in commit.fates:
            self._decide(draft, change, commit)
        if commit.effects is not NO_EFFECTS:
            self._carry_out(draft, commit.effects, commit.at)
        self._replace_state(entry, operation)
        return Committed(cursor=self._announce(draft), receipts=receipts)

    def _send(self, draft: AgentChange, effects: Effects, bodies: Sequence[bytes]) -> list[Receipt]:
        """Create agents and send posts; everything is checked first."""
        number = draft.entry.number
        posts = self._checks.taken(zip(effects.items, bodies, strict=True))
        self._checks.targets(effects.creates, [post for post, _ in posts])
        drafts = {number: draft}
        for new in effects.creates:
            self._find_or_create(new, drafts)
        receipts = [self._post(post, body, drafts) for post, body in posts]
        del drafts[number]
        for other in drafts.values():
            self._announce(other)
        return receipts

    def _carry_out(self, draft: AgentChange, effects: Effects, at: datetime) -> None:
        changed = apply_effects(draft, effects, at, self._warm, lambda: self._requests, self.batch)
        for other in changed:
            self._announce(AgentChange(other))

    def _delete(self, owner: OwnerId, agent_id: AgentId) -> None:
        entry = self._checks.deletable(agent_id, owner)
        self._warm.remove(entry)
        self.batch.deleted.append(entry.number)
        self._counters.cursor += 1
        cursor = self._counters.cursor
        self._apart.append(
            Change(cursor=cursor, agent_id=entry.id, owner=entry.owner, is_deleted=True)
        )
        self.batch.changes.append((cursor, entry.number, entry.owner, None, None, (), entry.id))

    def _restore(self, stored: StoredAgent) -> Agent:
        restored = Restored(stored, self._keys)
        new = restored.new
        if self._warm.get(stored.id) is not None:
            raise ConflictError(f"the agent {stored.id!r} already exists")
        if self._warm.find(new.owner, restored.identity) is not None:
            raise ConflictError(f"another agent already has the identity of {stored.id!r}")
        self._checks.new_agent(new)
        entry = self._insert(new, restored.identity, stored.descriptor, stored.state)
        draft = AgentChange(entry)
        entry.lifecycle = stored.lifecycle
        entry.context_from = stored.context_from
        self.batch.details[entry.number] = entry
        self._append(entry, restored.records)
        self.batch.restore_usage(entry, restored.spent)
        for item, key, digest in restored.items:
            self._insert_item(entry, item, _encode(item.body), (new.owner, key, digest))
            entry.next_item = max(entry.next_item, item.seq + 1)
            if key is not None:
                self._keys.take(new.owner, key, item, digest)
        draft.requests = self._requests.restore(entry, restored.requests, self.batch)
        at = to_microseconds(new.state.updated_at)
        for out in restored.deliveries:
            row = (entry.number, out.key, out.connector, out.channel, out.text, at)
            self.batch.deliveries.append(row)
        self._announce(draft)
        return entry.agent()

    def _change_artifacts(self, new: NewChange) -> Changed:
        changed = self._artifacts.run(new, self.batch)
        if not changed.is_repeat:
            self._counters.cursor += 1
            cursor, news = self._counters.cursor, news_of(changed.change)
            self._apart.append(
                Change(cursor=cursor, agent_id=NOBODY, owner=new.owner, artifacts=news)
            )
            self.batch.changes.append((cursor, 0, new.owner, None, None, (), None, (), news))
        return changed

    def _execute(self, operation: Execute) -> None:
        self.batch.statements.append((operation.statement, operation.parameters))
        entry = None if operation.agent_id is None else self._warm.get(operation.agent_id)
        if entry is not None:
            self._announce(AgentChange(entry))

    def _set_aside(self, operation: SetAside) -> None:
        row = (operation.agent_id, operation.owner, operation.identity, operation.reason)
        self._warm.set_aside(*row)
        self.batch.statements.append(("set_aside", row))

    # -- changing

    def _begin(self, draft: AgentChange, post: Post, body: bytes) -> Receipt:
        """Admit an item whose fate is part of the same commit."""
        self._checks.post(post, {}, set())
        self._checks.first_in_line(draft.entry, post)
        receipt = self._post(post, body, {draft.entry.number: draft})
        draft.items.clear()
        draft.numbers.clear()
        return receipt

    def _post(self, post: Post, body: bytes, drafts: dict[int, AgentChange]) -> Receipt:
        new_item = post.item
        first = self._keys.first(post.owner, new_item.dedupe_key)
        if first is not None:
            return self._repeat(first[0])
        if isinstance(post.to, NewAgent):
            entry, _ = self._find_or_create(post.to, drafts)
        else:
            entry = self._checks.existing(post.to, post.owner)
        position = entry.loud
        item = self._new_item(entry, new_item, post.owner, body)
        draft = drafts.get(entry.number)
        if draft is None:
            draft = drafts[entry.number] = AgentChange(entry)
        draft.items.append(item)
        draft.numbers.append(self._counters.item)
        return Receipt(
            item=item,
            agent_id=entry.id,
            is_repeat=False,
            position=position,
        )

    def _repeat(self, item: Item) -> Receipt:
        """The receipt of a repeat: the first item in its current state."""
        position = 0
        entry = self._warm.get(item.agent_id)
        held = None if entry is None else entry.open.get(item.id)
        if entry is not None and held is not None:
            item = held.item
            position = sum(
                not other.item.silent and other.item.seq < item.seq for other in entry.open.values()
            )
        return Receipt(
            item=item,
            agent_id=item.agent_id,
            is_repeat=True,
            position=position,
        )

    def _new_item(self, entry: CachedAgent, new: NewItem, owner: OwnerId, body: bytes) -> Item:
        item = Item(
            id=new.id,
            agent_id=entry.id,
            seq=entry.next_item,
            kind=new.kind,
            silent=new.silent,
            body=new.body,
            admitted_at=new.admitted_at,
        )
        entry.next_item += 1
        self._insert_item(entry, item, body, (owner, new.dedupe_key, new.digest))
        if new.dedupe_key is not None:
            self._keys.take(owner, new.dedupe_key, item, new.digest)
        return item

    def _insert_item(
        self, entry: CachedAgent, item: Item, body: bytes, key: tuple[OwnerId, str | None, str]
    ) -> None:
        self._counters.item += 1
        number = self._counters.item
        if item.ended_at is None:
            entry.open[item.id] = OpenItem(number, item)
            entry.count(item, 1)
        self.batch.add_item(number, entry, item, body, key)

    def _find_or_create(
        self, new: NewAgent, drafts: dict[int, AgentChange]
    ) -> tuple[CachedAgent, bool]:
        identity = identity_of(new.descriptor)
        entry = self._warm.find(new.owner, identity)
        if entry is not None:
            return entry, False
        descriptor = encode_descriptor(new.descriptor)
        entry = self._insert(new, identity, descriptor, encode_state(new.state))
        start = StartRecord(seq=1, at=new.state.created_at)
        self._append(entry, [encode_record(start)])
        draft = drafts[entry.number] = AgentChange(entry)
        draft.records = [start]
        return entry, True

    def _insert(
        self, new: NewAgent, identity: str, descriptor: bytes, encoded: bytes
    ) -> CachedAgent:
        self._counters.agent += 1
        entry = CachedAgent(
            self._counters.agent,
            new.id,
            new.owner,
            identity,
            new.descriptor,
            new.definition,
            new.state,
        )
        entry.encoded = encoded
        number, *details = entry.details()
        names = (number, new.id, new.owner, entry.identity, entry.kind, descriptor.decode())
        self.batch.agents.append((*names, *details, encoded.decode()))
        self._warm.add(entry)
        return entry

    def _append(self, entry: CachedAgent, records: Sequence[bytes]) -> None:
        rows, add = self.batch.records, self.batch.bodies.add
        number, seq = entry.number, entry.next_seq
        for body in records:
            start, length = add(body)
            rows.append((number, seq, start, length))
            seq += 1
        entry.next_seq = seq

    def _decide(self, draft: AgentChange, change: FateChange, commit: Commit) -> None:
        entry = draft.entry
        held = entry.open[change.item_id]
        entry.count(held.item, -1)
        ended_at = commit.at if is_final(change.fate) else None
        reason = clean_text(change.reason) if change.reason else ""
        item = msgspec.structs.replace(
            held.item,
            fate=change.fate,
            reason=reason,
            code=change.code,
            reply_seq=change.reply_seq,
            ended_at=ended_at,
        )
        if ended_at is None:
            held.item = item
            entry.count(item, 1)
        else:
            del entry.open[change.item_id]
        ended = None if ended_at is None else to_microseconds(ended_at)
        row = (held.number, change.fate, reason, change.reply_seq, ended, change.code)
        self.batch.fates[held.number] = row
        draft.items.append(item)
        draft.numbers.append(held.number)

    def _replace_state(self, entry: CachedAgent, operation: Apply) -> None:
        commit = operation.commit
        has_details = False
        if commit.state is not None and operation.state is not None:
            active_at = to_microseconds(commit.state.updated_at)
            has_details = (
                details_differ(entry.state, commit.state)
                or active_at - entry.active_at >= _ACTIVITY_MICROSECONDS
            )
            entry.state = commit.state
            entry.encoded = operation.state
            if has_details:
                entry.active_at = active_at
            else:
                self.batch.states[entry.number] = entry
        if commit.context_from is not None and commit.context_from != entry.context_from:
            entry.context_from = commit.context_from
            has_details = True
        if commit.lifecycle is not None and commit.lifecycle != entry.lifecycle:
            entry.lifecycle = commit.lifecycle
            has_details = True
            self._warm.rename(entry, identity_of(entry.descriptor, ended=entry.id))
            self.batch.renamed.append((entry.number, entry.identity))
        if commit.definition is not None and commit.definition != entry.definition:
            entry.definition = commit.definition
            has_details = True
        if has_details:
            self.batch.details[entry.number] = entry

    def _announce(self, draft: AgentChange) -> int:
        self._counters.cursor += 1
        cursor, entry, records = self._counters.cursor, draft.entry, draft.records
        first: Any = None
        last: Any = None
        if records:
            first, last = records[0].seq, records[-1].seq
        row = (cursor, entry.number, entry.owner, first, last, draft.numbers, None)
        asked = draft.requests
        self.batch.changes.append((*row, [one.id for one in asked]) if asked else row)
        self._changes.append((cursor, draft))
        return cursor
