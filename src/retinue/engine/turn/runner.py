"""Takes one agent from what it holds to where it rests: decide, perform, commit, again."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import assert_never

from msgspec import structs

from retinue.agents.inbox import Item
from retinue.agents.state import Turn
from retinue.clock import Clock
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.feed.crash_quarantine import CrashQuarantine
from retinue.engine.feed.disk_full import DiskFullGate
from retinue.engine.feed.dispatch import priority_of
from retinue.engine.feed.fast_admission import Arrival, FastAdmission, arriving_item
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.decision import (
    UNTRIED,
    Action,
    Answered,
    BeginTrial,
    Boot,
    CallModel,
    Compact,
    CountCrash,
    Discard,
    Drain,
    EndLate,
    EndRun,
    EndTrial,
    Failed,
    Gather,
    HandOver,
    NoteSilent,
    Obey,
    Park,
    Prune,
    PutOff,
    Register,
    Remind,
    Rest,
    RunTools,
    Settle,
    StartSubagents,
    SwitchSides,
    TimeOut,
    Wait,
    Withdraw,
    calls_in_doubt,
    next_action,
)
from retinue.engine.subagents.immediate import Boots
from retinue.engine.turn.command_runner import CommandRunner
from retinue.engine.turn.committing import Committer, Interrupted
from retinue.engine.turn.completion import Completion
from retinue.engine.turn.context_window import ContextWindow
from retinue.engine.turn.model_call import ModelCalls
from retinue.engine.turn.tool_batch import ToolBatches
from retinue.engine.turn.view import TurnViews
from retinue.engine.writes import handoff as handoff_writes
from retinue.engine.writes import sides as side_writes
from retinue.engine.writes import suspension, termination
from retinue.engine.writes import turn as turn_writes
from retinue.errors import (
    BusyError,
    FencedError,
    RetinueError,
    StoreError,
    StoreFullError,
)
from retinue.tools.port import FileTrees

logger = logging.getLogger(__name__)

_FIRST_SEQ = 2  # of the first record after the one that says that the agent began
_LATE_RESULTS = frozenset({"settle", "timeout", "putoff"})  # of calls that waited for them

Noted = Register | Boot | StartSubagents | Park | CountCrash | BeginTrial | EndTrial
Written = (
    Settle
    | TimeOut
    | PutOff
    | SwitchSides
    | HandOver
    | Remind
    | Discard
    | Withdraw
    | EndLate
    | Answered
)


class Runner:
    """The loop of every agent, whatever its kind."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        clock: Clock,
        committer: Committer,
        completion: Completion,
        quarantine: CrashQuarantine,
        views: TurnViews,
        boots: Boots,
        setup: StepSetup,
        room: ContextWindow,
        caller: ModelCalls,
        tools: ToolBatches,
        trees: FileTrees,
        fast_admission: FastAdmission,
        hooks: Hooks,
        commands: CommandRunner,
    ) -> None:
        self._fast_admission = fast_admission
        self._hooks = hooks
        self._clock = clock
        self._committer = committer
        self._completion = completion
        self._quarantine = quarantine
        self._views = views
        self._boots = boots
        self.setup = setup
        self._room = room
        self._caller = caller
        self._tools = tools
        self._trees = trees
        self.commands = commands

    @property
    def is_stopping(self) -> bool:
        return self._committer.is_stopping

    def begin_stopping(self) -> None:
        self._committer.is_stopping = True
        self.disk.begin_ending()

    @property
    def disk(self) -> DiskFullGate:
        return self._committer.disk

    async def run(self, live: LiveAgent) -> float | None:
        """Work until the agent rests; gives the seconds after which to wake it again, if any."""
        arrival = self._fast_admission.take(live.id)
        if arrival is not None:
            await self._take_in(live, arrival)
        if live.next_seq <= _FIRST_SEQ and not live.state.is_introduced:
            await self._introduce(live)
        seconds = await self._work(live)
        turn = live.state.turn
        if turn is None:
            self.setup.snapshots.release(live.id)
        if turn is not None and self.is_stopping and not live.is_deleted:
            await self._put_down(live, turn)
        return seconds

    def _may_perform(self, live: LiveAgent, action: Action) -> bool:
        """Whether no other suspect runs, if this is one; if one does, this is woken later."""
        turn = live.state.turn
        is_tried = turn is not None and turn.on_trial and not isinstance(action, UNTRIED)
        if isinstance(action, BeginTrial) or is_tried:
            return self._quarantine.begin(live.id, priority_of(live))
        return True

    async def _take_in(self, live: LiveAgent, arrival: Arrival) -> None:
        """Begin with a message that nothing comes before; else it is admitted as usual."""
        post = arrival.post
        # Hooks take their time, and the message is to be on disk before that.
        is_late = self._committer.disk.is_short or self.setup.hooks(live) is not None
        if self.is_stopping or is_late or not self._fast_admission.can_begin(live, post):
            arrival.settle(None)
            return
        draft = self._committer.draft(live)
        turn_writes.drained(draft, [arriving_item(live.id, post)])
        draft.begins = post
        try:
            receipt = await self._committer.begin(live, draft)
        except BusyError:
            arrival.settle(None)
        except FencedError:
            arrival.settle(None)
            raise
        except RetinueError as error:
            arrival.settle(error)
        except BaseException:
            arrival.settle(StoreError("nobody knows whether the message was stored"))
            raise
        else:
            self._fast_admission.taken(arrival, receipt)

    async def _put_down(self, live: LiveAgent, turn: Turn) -> None:
        """Leave a turn to the next process: what was not begun, and that nothing died of it."""
        draft = self._committer.draft(live)
        is_in_doubt = live.has_begun_call or calls_in_doubt(turn, live.epoch)
        if live.history.open_calls and not is_in_doubt:
            turn_writes.noted_unbegun(draft, True)
        if turn.on_trial:
            turn_writes.tried(draft, on_trial=False)
        if draft.state is live.state:
            return
        try:
            await self._committer.commit(live, draft)
        except StoreError as error:
            logger.warning("calls that never ran will be in doubt", extra={"error": error.message})

    async def _work(self, live: LiveAgent) -> float | None:
        while not self._committer.is_stopping:
            try:
                if live.is_deleted:
                    return None
                if live.hook_effects:
                    await self._committer.commit(live, self._committer.draft(live))
                action = next_action(self._views.view(live))
                if live.has_begun_call and await self._noted_broken_off(live, action):
                    continue
                if isinstance(action, Rest | Wait):
                    live.has_crashed = False
                    until = action.until if isinstance(action, Wait) else None
                    return None if until is None else turn_writes.due_in(until, self._clock.now())
                if self._committer.disk.is_short:
                    await self._committer.wait_for_room()
                elif not self._may_perform(live, action):
                    return None
                else:
                    await self._perform(live, action)
                    live.has_crashed = False
            except Interrupted:
                continue
        if live.hook_effects:
            await self._committer.commit(live, self._committer.draft(live))
        return None

    async def _noted_broken_off(self, live: LiveAgent, action: Action) -> bool:
        """Whether a call that was broken off had to be written down: the decision depends on it."""
        if isinstance(action, Obey | Withdraw):
            return False  # they may end the turn
        live.has_begun_call = False
        if live.state.turn is None or not live.history.open_calls:
            return False
        draft = self._committer.draft(live)
        turn_writes.call_broken_off(draft)
        await self._committer.commit(live, draft)
        return True

    async def give_up(self, live: LiveAgent, reason: str) -> bool:
        """End the turn after a defect of our own, so that nothing waits for ever."""
        if live.state.turn is None:
            return False
        await self._completion.fail(live, "internal", reason)
        return True

    async def _perform(self, live: LiveAgent, action: Action) -> None:
        match action:
            case CallModel():
                await self._call_model(live)
            case RunTools():
                await self._tools.run(live, action)
            case Drain() | NoteSilent():
                await self._drain(live, action.items)
            case Gather():
                await self._committer.interruptibly(live, self._clock.sleep(action.seconds))
            case Compact():
                await self._room.compact(live, action.reason)
            case Prune():
                await self._room.prune(live, action.reason)
            case Obey():
                with suppress(StoreFullError):  # it waits for room, like everything else
                    await self.commands.obey(live, action.command)
            case EndRun() | Failed():
                await self._end(live, action)
            case Rest() | Wait():
                pass
            case (
                Register()
                | Boot()
                | StartSubagents()
                | Park()
                | CountCrash()
                | BeginTrial()
                | EndTrial()
            ):
                await self._take_up(live, action)
            case (
                Settle()
                | TimeOut()
                | PutOff()
                | SwitchSides()
                | HandOver()
                | Remind()
                | Discard()
                | Withdraw()
                | EndLate()
                | Answered()
            ):
                await self._write(live, action)
            case _:
                assert_never(action)

    async def _call_model(self, live: LiveAgent) -> None:
        if live.state.turn is not None and live.state.turn.retry_at is not None:
            draft = self._committer.draft(live)
            turn_writes.due_again(draft)
            await self._committer.commit(live, draft)
        await self._caller.call(live)

    async def _boot_new(self, draft: Draft, live: LiveAgent) -> None:
        """Ask for what the prompt of a new agent begins by itself; a broken one waits."""
        if live.state.turn is not None:
            return  # its first step does it
        try:
            config = self.setup.config(live)
        except RetinueError:
            return
        if self._boots.are_due(live, config):
            self._boots.write(draft, live, config)

    async def _take_up(self, live: LiveAgent, action: Noted) -> None:
        """Perform what changes the agent's state alone, and needs no model."""
        draft = self._committer.draft(live)
        match action:
            case Register():
                name = "register"
                turn_writes.taken_up(draft, action.updates)
            case Boot():
                name = "boot"
                turn_writes.taken_up(draft, action.items)
                await self._boot_new(draft, live)
            case StartSubagents():
                name = "boot"
                try:
                    self._boots.write(draft, live, self.setup.config(live))
                except RetinueError as error:
                    await self._completion.fail(live, "definition", error.message)
                    return
            case Park():
                name = "park"
                draft.state = structs.replace(draft.state, turn=None)
            case CountCrash():
                name = "state"
                turn_writes.crashed(draft)
            case BeginTrial() | EndTrial():
                name = "state"
                turn_writes.tried(draft, on_trial=isinstance(action, BeginTrial))
            case _:
                assert_never(action)
        await self._completion.commit(live, draft, name)

    async def _write(self, live: LiveAgent, action: Written) -> None:
        """Perform what is nothing but a commit."""
        draft = self._committer.draft(live)
        match action:
            case Settle():
                name = "settle"
                suspension.settled(draft, live, action.answers)
            case TimeOut():
                name = "timeout"
                suspension.timed_out(draft, live, action.suspended)
            case PutOff():
                name = "putoff"
                suspension.put_off(draft, live)
            case SwitchSides():
                name = "switch"
                side_writes.switched(draft)
            case HandOver():
                name = "handoff"
                is_known = self.setup.knows(live, action.handoff.to)
                handoff_writes.handed_over(draft, live, action.handoff, is_known=is_known)
            case Remind():
                name = "remind"
                side_writes.reminded(draft, action.text, is_dual=action.is_dual)
            case Discard():
                name = "discard"
                suspension.discarded(draft, action.answers)
            case Withdraw():
                name = "withdraw"
                termination.withdrawn(draft, live, action.withdrawals)
            case EndLate():
                name = "end"
                termination.came_late(draft, action.items)
            case Answered():
                name = "answer"
                turn_writes.answered(draft, live, action.by, self._committer.connectors)
            case _:
                assert_never(action)
        await self._commit_written(live, draft, name)

    async def _commit_written(self, live: LiveAgent, draft: Draft, name: str) -> None:
        hooks = self.setup.hooks(live) if name in _LATE_RESULTS else None
        if hooks is not None:
            work = self._hooks.settled(live, hooks, draft.records)
            draft.records = await self._committer.interruptibly(live, work)
        await self._completion.commit(live, draft, name)
        if hooks is not None:
            await self._hooks.told(live, hooks, draft.records, are_updates=True)

    async def _drain(self, live: LiveAgent, items: Sequence[Item]) -> None:
        hooks = self.setup.hooks(live)
        if hooks is not None:
            work = self._hooks.taken(live, hooks, items)
            items = await self._committer.interruptibly(live, work)
        draft = self._committer.draft(live)
        turn_writes.drained(draft, items)
        await self._completion.commit(live, draft, "drain")
        if hooks is not None:
            await self._hooks.told(live, hooks, draft.records)

    async def _introduce(self, live: LiveAgent) -> None:
        """Let hooks see a new agent before it does anything."""
        hooks = self.setup.hooks(live)
        if hooks is not None and "after_thread_created" in hooks:
            await self._hooks.begun(live, hooks)
            draft = self._committer.draft(live)
            draft.state = structs.replace(draft.state, is_introduced=True)
            await self._committer.commit(live, draft)

    async def _end(self, live: LiveAgent, action: EndRun | Failed) -> None:
        """Complete the run or the turn."""
        match action:
            case EndRun():
                tree = self._trees.tree(live.id)
                files = [await tree.stat(path) for path in action.paths]
                draft = self._committer.draft(live)
                side_writes.run_ended(draft, live, action, files, self._committer.connectors)
                await self._completion.commit(live, draft, "run")
            case Failed():
                await self._completion.fail(live, action.code, action.reason)
            case _:
                assert_never(action)
