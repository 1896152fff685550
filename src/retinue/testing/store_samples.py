"""Sample agents, items and commits for store tests."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from retinue.agents.descriptor import Descriptor, PermanentDescriptor, UserDescriptor
from retinue.agents.inbox import Fate, ItemBody, ItemKind, Sender
from retinue.agents.state import AgentState, Turn
from retinue.ids import LOCAL_OWNER, AgentId, ItemId, OwnerId, new_agent_id, new_item_id
from retinue.records import AnyRecord, AssistantRecord, TextPart, UserRecord
from retinue.stores.port import (
    NO_EFFECTS,
    Agent,
    Change,
    Commit,
    Committed,
    Effects,
    FateChange,
    NewAgent,
    NewItem,
    Post,
    Receipt,
    Snapshot,
    Store,
)

START = datetime(2026, 11, 16, 8, 0, 0, 123456, tzinfo=UTC)
STRANGER = OwnerId("stranger")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def chat(channel: str = "1") -> UserDescriptor:
    return UserDescriptor(connector="web", user_id="ada", channel_id=channel)


def permanent(name: str, agent_id: AgentId | None = None) -> PermanentDescriptor:
    return PermanentDescriptor(
        id=agent_id or new_agent_id(), name=name, description="Keeps.", system_prompt="Keep."
    )


def new_agent(
    descriptor: Descriptor | None = None,
    *,
    owner: OwnerId = LOCAL_OWNER,
    agent_id: AgentId | None = None,
    definition: str = "helper",
    state: AgentState | None = None,
) -> NewAgent:
    return NewAgent(
        id=agent_id or new_agent_id(),
        owner=owner,
        descriptor=descriptor or chat(new_agent_id()),
        definition=definition,
        state=state or AgentState(created_at=START, updated_at=START),
    )


def post(
    to: AgentId | NewAgent,
    text: str = "hello",
    *,
    owner: OwnerId = LOCAL_OWNER,
    key: str | None = None,
    silent: bool = False,
    kind: ItemKind = "message",
) -> Post:
    item = NewItem(
        id=new_item_id(),
        kind=kind,
        body=ItemBody(text=text, sender=Sender(type="user", id="ada")),
        admitted_at=START,
        silent=silent,
        dedupe_key=key,
        digest=text if key is not None else "",
    )
    return Post(to=to, item=item, owner=owner)


def said(seq: int, text: str = "hello", item: str = "m1") -> UserRecord:
    return UserRecord(seq=seq, at=at(seq), item=ItemId(item), text=text)


def answered(seq: int, text: str = "hi") -> AssistantRecord:
    return AssistantRecord(seq=seq, at=at(seq), parts=[TextPart(text=text)], model="scripted:one")


class SampleRunner:
    """Owns one agent's epoch and commits steps, as the engine does."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self.agent: Agent = snapshot.agent
        self.id = snapshot.agent.id
        self.epoch = snapshot.epoch
        self.next_seq = snapshot.next_seq
        self.state = snapshot.agent.state
        self.snapshot = snapshot

    @classmethod
    async def claim(cls, store: Store, agent_id: AgentId) -> "SampleRunner":
        return cls(store, await store.claim(agent_id))

    def step(
        self,
        records: Sequence[Callable[[int], AnyRecord]] = (),
        *,
        state: AgentState | None = None,
        fates: Sequence[FateChange] = (),
        effects: Effects = NO_EFFECTS,
    ) -> Commit:
        made = [make(self.next_seq + index) for index, make in enumerate(records)]
        return Commit(
            agent_id=self.id,
            epoch=self.epoch,
            at=at(self.next_seq),
            state=state,
            records=made,
            fates=fates,
            effects=effects,
        )

    async def commit(self, commit: Commit) -> Committed:
        done = await self._store.commit(commit)
        self.next_seq += len(commit.records)
        if commit.state is not None:
            self.state = commit.state
        return done

    async def append(self, *texts: str) -> Committed:
        makes = [_saying(text) for text in texts]
        return await self.commit(self.step(makes))

    async def decide(self, item_id: ItemId, fate: Fate, reason: str = "") -> Committed:
        change = FateChange(item_id=item_id, fate=fate, reason=reason)
        return await self.commit(self.step(fates=[change]))

    async def take_turn(self, receipt: Receipt, text: str = "hi") -> Committed:
        """Start and end a turn for one item."""
        item = receipt.item
        turn = Turn(items=[item.id], first_seq=self.next_seq)
        state = AgentState(created_at=START, updated_at=at(self.next_seq), turn=turn)
        begin = self.step(
            [lambda seq: said(seq, item.body.text, item.id)],
            state=state,
            fates=[FateChange(item_id=item.id, fate="running")],
        )
        await self.commit(begin)
        state = AgentState(created_at=START, updated_at=at(self.next_seq), last_snippet=text)
        fate = FateChange(item_id=item.id, fate="answered", reply_seq=self.next_seq)
        return await self.commit(
            self.step([lambda seq: answered(seq, text)], state=state, fates=[fate])
        )


def _saying(text: str) -> Callable[[int], AnyRecord]:
    return lambda seq: said(seq, text)


class Heard:
    """Collects all change notifications of a store."""

    def __init__(self, store: Store) -> None:
        self.changes: list[Change] = []
        self.undo = store.listen(self.changes.extend)

    def of(self, agent_id: AgentId) -> list[Change]:
        return [change for change in self.changes if change.agent_id == agent_id]
