"""A process that has just started decides as one that has run for long: over random histories.

The engine runs on a real store. Whenever it calls a model, runs a tool or rests, the parts of a new
engine load the agent from that store: they have to see the same view and choose the same action.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from retinue.engine.agent.limits import limits_of
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.feed.crash_quarantine import CrashQuarantine
from retinue.engine.feed.dispatch import LocalDispatch
from retinue.engine.feed.event_feed import Feed
from retinue.engine.feed.fast_admission import FastAdmission
from retinue.engine.feed.outbox import Outbox
from retinue.engine.feed.outcomes import Outcomes
from retinue.engine.panels.windows import Windows
from retinue.engine.prompting.artifact_index import ArtifactIndex
from retinue.engine.prompting.permanent_directory import PermanentDirectory
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.rules import decision
from retinue.engine.rules.context_room import ContextRoom
from retinue.engine.rules.decision import Action, Rest, TurnView
from retinue.engine.subagents.immediate import Boots
from retinue.engine.turn import runner
from retinue.engine.turn.view import TurnViews
from retinue.engine.wiring import Parts, make_setup
from retinue.errors import ContextTooLongError, ModelError
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import Usage
from retinue.stores.port import Agent, Snapshot
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.kit import Kit, Stage
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from tests.unit.engine.test_context_window import is_summary, words
from tests.waiting import until

LIMIT = 1_000
WIDE = f'name = "helper"\ndescription = "Helps."\n[sideA]\nprompt = "p"\nlabel = "{"x" * 9}"\n'
PAIR = (
    'name = "helper"\ndescription = "Helps."\ntype = "dual_ai"\nmaxSessionTurns = 3\n'
    '[sideA]\nlabel = "A"\nprompt = "p"\n[sideB]\nlabel = "B"\nprompt = "q"\n'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a model call comes to."""

    kind: str  # answer, call, overflow
    tokens: int
    reported: int  # what the provider counts for each token of the estimate, in tenths


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A message and what follows from it, or something that happens between messages."""

    kind: str  # say, whisper, reset, compact, restart
    tokens: int = 1
    steps: tuple[Step, ...] = ()
    summary: str = "in short"


STEPS = st.builds(
    Step,
    kind=st.sampled_from(["answer", "call", "call", "overflow"]),
    tokens=st.integers(1, 500),
    reported=st.sampled_from([0, 5, 10, 25]),
)
MOVES = st.one_of(
    st.builds(
        Move,
        kind=st.just("say"),
        tokens=st.integers(1, 500),
        steps=st.lists(STEPS, max_size=3).map(tuple),
        summary=st.sampled_from(["in short", "", "broken"]),
    ),
    st.sampled_from([Move(kind=kind) for kind in ("whisper", "reset", "compact", "restart")]),
)


@dataclass(slots=True)
class Trial:
    """One engine, what its model does next, and what it decided last."""

    kit: Kit = field(init=False)
    agent: Agent = field(init=False)
    steps: list[Step] = field(default_factory=list[Step])
    summary: str = "in short"
    decided: list[tuple[TurnView, Action]] = field(default_factory=list[tuple[TurnView, Action]])
    differences: list[Any] = field(default_factory=list[Any])

    def decide(self, view: TurnView) -> Action:
        action = decision.next_action(view)
        self.decided.append((structs.replace(view, waiting=list(view.waiting)), action))
        return action

    def model(self, request: ModelRequest) -> Answer:
        if is_summary(request):
            broken = ModelError("no summary") if self.summary == "broken" else None
            return Reply(text=self.summary, error=broken, before=self.compare)
        step = self.steps.pop(0) if self.steps else Step(kind="answer", tokens=1, reported=10)
        size = len(request.system) + sum(len(str(message)) for message in request.messages)
        usage = Usage(input=size * step.reported // 40, output=1) if step.reported else None
        if step.kind == "overflow":
            return Reply(error=ContextTooLongError("too long"), before=self.compare)
        calls = (
            [Call(name="look", arguments={"tokens": step.tokens})] if step.kind == "call" else []
        )
        text = "" if calls else words(step.tokens)
        return Reply(text=text, calls=calls, usage=usage, before=self.compare)

    def tools(self) -> list[Tool]:
        @tool(effect="keyed")
        async def look(tokens: int) -> str:
            """Look."""
            await self.compare()
            return words(tokens)

        return [look.as_tool()]

    async def compare(self) -> None:
        """The last decision is being carried out: nothing was stored since."""
        view, action = self.decided[-1]
        fresh = await fresh_view(self.kit, self.agent, view.epoch)
        chosen = decision.next_action(structs.replace(fresh, now=view.now))
        if plain(fresh) != plain(view) or chosen != action:  # an error here would fail the call
            self.differences.append(((plain(view), action), (plain(fresh), chosen)))

    async def rest(self) -> None:
        async def is_resting() -> bool:
            return bool(self.decided) and isinstance(self.decided[-1][1], Rest)

        await until(is_resting)
        await self.compare()

    async def play(self, move: Move) -> None:
        kit, agent = self.kit, self.agent
        self.summary = move.summary
        match move.kind:
            case "say":
                self.steps[:] = move.steps
                await kit.ask(agent, words(move.tokens))
                self.steps.clear()
                await self.rest()
            case "whisper":
                await kit.outcome(await kit.post_system(agent, words(50), silent=True))
                await self.rest()
            case "reset":
                await kit.engine.reset(agent.owner, agent.id)
            case "compact":
                await kit.engine.compact(agent.owner, agent.id)
            case _:
                await kit.restart()


def plain(view: TurnView) -> TurnView:
    """A view without the time, which nothing is stored of."""
    return structs.replace(view, now=None, open_calls=list(view.open_calls))


async def fresh_view(kit: Kit, agent: Agent, epoch: int) -> TurnView:
    """What a process sees that has just been started and has loaded the agent."""
    store = kit.store
    assert isinstance(store, SqliteStore)
    world = kit.stage.world(store, store.schedules)
    await world.project.look()
    limits, clock = limits_of(world.settings), world.clock
    dispatch = LocalDispatch(foreground=1, background=1, clock=clock)
    setup = make_setup(
        world,
        limits,
        Parts(
            feed=Feed(store, lambda _: False),
            snapshots=TurnSnapshots(world.project),
            outbox=Outbox(store, {}, clock),
            directory=PermanentDirectory(store),
            fast_admission=FastAdmission(dispatch, Outcomes(store), limits),
            windows=Windows(clock),
            artifacts=ArtifactIndex(store),
            quarantine=CrashQuarantine(dispatch.wake),
        ),
    )
    records = await store.context(agent.owner, agent.id)
    snapshot = Snapshot(
        agent=await store.agent(agent.owner, agent.id),
        epoch=epoch,
        next_seq=records[-1].seq + 1,
        records=records,
        items=await store.open_items(agent.owner, agent.id),
    )
    boots = Boots(world.environment)
    views = TurnViews(setup=setup, room=ContextRoom(limits), boots=boots, clock=clock)
    return views.view(LiveAgent(snapshot))


async def play(definition: str, prompt: int, window: int | None, moves: list[Move]) -> Trial:
    trial = Trial()
    with TemporaryDirectory() as folder:
        stage = Stage(
            directory=Path(folder),
            models={"main": ScriptedModel(trial.model, name="main", window=window)},
            tools=trial.tools(),
            definitions={"helper.toml": definition},
            prompts={"p.md": words(prompt), "q.md": "You check."},
            context_limit=LIMIT,
        )
        trial.kit = Kit(stage)
        runner.next_action = trial.decide
        await trial.kit.open()
        try:
            trial.agent = await trial.kit.agent()
            for move in moves:
                await trial.play(move)
                assert trial.differences == []
        finally:
            await trial.kit.close()
            runner.next_action = decision.next_action
    return trial


@settings(max_examples=30, deadline=None)
@given(
    definition=st.sampled_from([WIDE, WIDE, PAIR]),
    prompt=st.sampled_from([1, 400]),
    window=st.sampled_from([None, 700]),
    moves=st.lists(MOVES, min_size=1, max_size=7),
)
def test_a_new_process_decides_as_an_old_one(
    definition: str, prompt: int, window: int | None, moves: list[Move]
) -> None:
    asyncio.run(play(definition, prompt, window, moves))
