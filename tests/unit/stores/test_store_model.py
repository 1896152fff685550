"""Whatever is done to a store, in any order, it is what a few dictionaries would be."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from retinue.errors import ConflictError, FencedError, NotFoundError, TerminatedError
from retinue.ids import LOCAL_OWNER, AgentId, ItemId
from retinue.stores.port import Change, FateChange
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import SampleRunner, chat, new_agent, post

T = TypeVar("T")
CHANNELS = st.sampled_from(["a", "b", "c"])
KEYS = st.sampled_from([None, "k1", "k2"])
TEXTS = st.sampled_from(["hello", "bye"])


@dataclass
class Modelled:
    id: AgentId
    fates: dict[ItemId, str] = field(default_factory=dict[ItemId, str])
    records: int = 1
    is_terminated: bool = False
    runner: SampleRunner | None = None
    fenced: SampleRunner | None = None

    @property
    def open(self) -> list[ItemId]:
        return [item for item, fate in self.fates.items() if fate in ("queued", "running")]


class StoreMachine(RuleBasedStateMachine):
    """Compares the store with a model after every step."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.data = Path(tempfile.mkdtemp())
        self.agents: dict[str, Modelled] = {}
        self.keys: dict[str, tuple[ItemId, str, str]] = {}
        self.heard: list[Change] = []
        self.open_store()

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(work)

    def open_store(self) -> None:
        self.store = SqliteStore(self.data, changes_kept=50)
        self.store.listen(self.heard.extend)
        self.run(self.store.open())

    def teardown(self) -> None:
        self.run(self.store.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.data)

    @rule(channel=CHANNELS)
    def create(self, channel: str) -> None:
        agent, is_new = self.run(self.store.create(new_agent(chat(channel))))
        assert is_new == (channel not in self.agents)
        if is_new:
            self.agents[channel] = Modelled(agent.id)
        assert agent.id == self.agents[channel].id

    @rule(channel=CHANNELS, key=KEYS, text=TEXTS)
    def admit(self, channel: str, key: str | None, text: str) -> None:
        modelled = self.agents.get(channel)
        known = self.keys.get(key) if key else None
        act = self.store.admit(post(new_agent(chat(channel)), text, key=key))
        if known is not None and known[1:] != (text, channel):
            with pytest.raises(ConflictError):
                self.run(act)
        elif known is not None:
            receipt = self.run(act)
            assert receipt.is_repeat
            assert receipt.item.id == known[0]
        elif modelled is not None and modelled.is_terminated:
            with pytest.raises(TerminatedError):
                self.run(act)
        else:
            receipt = self.run(act)
            if modelled is None:
                modelled = self.agents[channel] = Modelled(receipt.agent_id)
            assert receipt.position == len(modelled.open)
            modelled.fates[receipt.item.id] = "queued"
            assert receipt.item.seq == len(modelled.fates)
            if key:
                self.keys[key] = (receipt.item.id, text, channel)

    @precondition(lambda self: bool(self.agents))
    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        modelled = self.pick(data)
        runner = self.run(SampleRunner.claim(self.store, modelled.id))
        assert runner.next_seq == modelled.records + 1
        assert [item.id for item in runner.snapshot.items] == modelled.open
        modelled.fenced, modelled.runner = modelled.runner, runner

    @precondition(lambda self: any(one.runner for one in self.agents.values()))
    @rule(data=st.data(), records=st.integers(0, 3), fate=st.sampled_from(["running", "answered"]))
    def commit(self, data: st.DataObject, records: int, fate: Any) -> None:
        modelled = self.pick(data, needs_runner=True)
        runner = modelled.runner
        assert runner is not None
        chosen = data.draw(st.sampled_from([None, *modelled.open]))
        if records:
            self.run(runner.append(*["text"] * records))
            modelled.records += records
        if chosen is not None:
            self.run(runner.commit(runner.step(fates=[FateChange(item_id=chosen, fate=fate)])))
            modelled.fates[chosen] = fate

    @precondition(lambda self: any(one.fenced for one in self.agents.values()))
    @rule(data=st.data())
    def commit_too_late(self, data: st.DataObject) -> None:
        late = [one.fenced for one in self.agents.values() if one.fenced]
        runner = data.draw(st.sampled_from(late))
        with pytest.raises(FencedError):
            self.run(runner.append("too late"))

    @precondition(lambda self: bool(self.agents))
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        modelled = self.pick(data)
        self.run(self.store.delete(LOCAL_OWNER, modelled.id))
        channel = next(name for name, one in self.agents.items() if one is modelled)
        del self.agents[channel]
        self.keys = {key: value for key, value in self.keys.items() if value[2] != channel}
        with pytest.raises(NotFoundError):
            self.run(self.store.agent(LOCAL_OWNER, modelled.id))

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.open_store()
        for modelled in self.agents.values():
            if modelled.runner is not None:
                old = modelled.runner
                modelled.runner = self.run(SampleRunner.claim(self.store, modelled.id))
                modelled.fenced = None
                assert modelled.runner.epoch > old.epoch

    @invariant()
    def the_store_is_the_model(self) -> None:
        assert self.run(self.store.facts()).agents == len(self.agents)
        for modelled in self.agents.values():
            agent = self.run(self.store.agent(LOCAL_OWNER, modelled.id))
            fates = list(modelled.fates.values())
            assert (agent.queued, agent.running) == (fates.count("queued"), fates.count("running"))
            history = self.run(self.store.history(LOCAL_OWNER, modelled.id, after=0, limit=999))
            assert [record.seq for record in history] == list(range(1, modelled.records + 1))
        waking = {agent_id for agent_id, _ in self.run(self.store.waking())}
        assert waking == {one.id for one in self.agents.values() if one.open}
        cursors = [change.cursor for change in self.heard]
        assert cursors == list(range(1, len(cursors) + 1))
        assert self.run(self.store.cursor()) == len(cursors)

    def pick(self, data: st.DataObject, *, needs_runner: bool = False) -> Modelled:
        names = [
            name for name, one in self.agents.items() if one.runner is not None or not needs_runner
        ]
        return self.agents[data.draw(st.sampled_from(names))]


StoreMachine.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestStoreMachine = StoreMachine.TestCase
