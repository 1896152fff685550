"""Takes one agent from what it holds to where it rests: decide, perform, commit, again."""

import logging
from collections.abc import Sequence
from typing import assert_never

from msgspec import structs

from retinue.agents.inbox import Item
from retinue.clock import Clock
from retinue.engine import ending, handing, sides, steps, suspending, switching
from retinue.engine.actions import (
    Action,
    Answered,
    Boot,
    CallModel,
    Compact,
    Discard,
    Drain,
    End,
    EndRun,
    Failed,
    Gather,
    HandOver,
    Note,
    Park,
    Prune,
    PutOff,
    Register,
    Remind,
    Rest,
    RunTools,
    Settle,
    Switch,
    SwitchSides,
    TimeOut,
    View,
    Wait,
    Withdraw,
    next_action,
    runnable_calls,
)
from retinue.engine.arriving import Arrival, Arrivals, arriving_item
from retinue.engine.calling import ModelCaller
from retinue.engine.committing import Committer, Interrupted
from retinue.engine.equipment import Equipment
from retinue.engine.hooking import Hooks
from retinue.engine.making_room import RoomMaker
from retinue.engine.space import Space
from retinue.engine.subagents.deferring import Deferred
from retinue.engine.tool_running import ToolRunner
from retinue.engine.warm import (
    Change,
    Command,
    CompactNow,
    Delete,
    Draft,
    Provide,
    Reset,
    Stop,
    SwitchBack,
    Terminate,
    Warm,
)
from retinue.errors import (
    BusyError,
    ConflictError,
    FencedError,
    RetinueError,
    StoreError,
    TerminatedError,
)
from retinue.stores.port import Store
from retinue.tools.port import FileTrees

logger = logging.getLogger(__name__)

_FIRST_SEQ = 2  # of the first record after the one that says that the agent began
_LATE_RESULTS = frozenset({"settle", "timeout", "putoff"})  # of calls that waited for them

Written = (
    Settle
    | TimeOut
    | PutOff
    | SwitchSides
    | HandOver
    | Remind
    | Discard
    | Withdraw
    | Switch
    | Answered
)


class Runner:
    """The loop of every agent, whatever its kind."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        store: Store,
        clock: Clock,
        committer: Committer,
        equipment: Equipment,
        room: RoomMaker,
        caller: ModelCaller,
        tools: ToolRunner,
        trees: FileTrees,
        arrivals: Arrivals,
        hooks: Hooks,
        deferred: Deferred,
    ) -> None:
        self._arrivals = arrivals
        self._hooks = hooks
        self._store = store
        self._clock = clock
        self._committer = committer
        self.equipment = equipment
        self._room = room
        self._caller = caller
        self._tools = tools
        self._trees = trees
        self._deferred = deferred

    @property
    def is_stopping(self) -> bool:
        return self._committer.is_stopping

    def begin_stopping(self) -> None:
        self._committer.is_stopping = True
        self.space.begin_ending()

    @property
    def space(self) -> Space:
        return self._committer.space

    def is_suspect(self, warm: Warm) -> bool:
        """Whether one more death of the process fails the turn that is going on."""
        return steps.is_suspect(warm.state.turn, self.equipment.limits.crash_attempts)

    async def obey(self, warm: Warm) -> None:
        """Carry out the commands that wait."""
        while warm.commands:
            await self._obey(warm, warm.commands.popleft())

    async def run(self, warm: Warm) -> float | None:
        """Work until the agent rests; gives the seconds after which to wake it again, if any."""
        if self.is_suspect(warm):
            await self._put_on_trial(warm, True)
        arrival = self._arrivals.take(warm.id)
        if arrival is not None:
            await self._take_in(warm, arrival)
        if warm.next_seq <= _FIRST_SEQ and not warm.state.is_introduced:
            await self._introduce(warm)
        seconds = await self._work(warm)
        if self._committer.is_stopping and warm.history.open_calls and not warm.is_in_doubt:
            await self._note_unbegun(warm)
        if warm.state.turn is not None and warm.state.turn.on_trial and not warm.is_deleted:
            await self._put_on_trial(warm, False)
        return seconds

    async def _take_in(self, warm: Warm, arrival: Arrival) -> None:
        """Begin with a message that nothing comes before; else it is admitted as usual."""
        post = arrival.post
        # Hooks take their time, and the message is to be on disk before that.
        is_late = self._committer.space.is_short or self.equipment.hooks(warm) is not None
        if self.is_stopping or is_late or not self._arrivals.can_begin(warm, post):
            arrival.settle(None)
            return
        draft = self._committer.draft(warm)
        steps.drained(draft, [arriving_item(warm.id, post)])
        draft.begins = post
        try:
            receipt = await self._committer.begin(warm, draft)
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
            self._arrivals.taken(arrival, receipt)

    async def _put_on_trial(self, warm: Warm, on_trial: bool) -> None:
        draft = self._committer.draft(warm)
        steps.tried(draft, on_trial=on_trial)
        await self._committer.commit(warm, draft)

    async def _note_unbegun(self, warm: Warm) -> None:
        """Write down that no open call was begun; without that the next process has to doubt."""
        draft = self._committer.draft(warm)
        steps.noted_unbegun(draft, True)
        try:
            await self._committer.commit(warm, draft)
        except StoreError as error:
            logger.warning("calls that never ran will be in doubt", extra={"error": error.message})

    async def _work(self, warm: Warm) -> float | None:
        while not self._committer.is_stopping:
            try:
                if warm.commands:
                    await self.obey(warm)
                    if warm.is_deleted:
                        return None
                if warm.is_ended:
                    await self._clear(warm)
                    return None
                if warm.hook_posts:
                    await self._committer.commit(warm, self._committer.draft(warm))
                action = next_action(self._view(warm))
                match action:
                    case Rest():
                        return None
                    case Wait():
                        until = action.until
                        return None if until is None else steps.due_in(until, self._clock.now())
                    case _ if self._committer.space.is_short:
                        await self._committer.wait_for_room(warm)
                    case _:
                        await self._perform(warm, action)
            except Interrupted:
                continue
        if warm.hook_posts:
            await self._committer.commit(warm, self._committer.draft(warm))
        return None

    async def note_crash(self, warm: Warm) -> None:
        """Count that a process died in the turn which is going on, unless it only waited.

        The first deaths count for every turn that was going on. Before the one that would be its
        last, a turn is put on trial: it counts only if the process died in that.
        """
        turn = warm.state.turn
        now = self._clock.now()
        if turn is None or (turn.retry_at is not None and turn.retry_at > now):
            return
        if turn.suspended and not runnable_calls(warm.history.open_calls, turn):
            return
        if self.is_suspect(warm) and not turn.on_trial:
            return
        draft = self._committer.draft(warm)
        steps.crashed(draft)
        await self._committer.commit(warm, draft)

    async def give_up(self, warm: Warm, reason: str) -> bool:
        """End the turn after a defect of our own, so that nothing waits for ever."""
        if warm.state.turn is None:
            return False
        await self._committer.fail(warm, "internal", reason)
        return True

    def _view(self, warm: Warm) -> View:
        state = warm.state
        turn, open_calls = state.turn, warm.history.open_calls
        pressure = self.equipment.pressure(warm)
        return View(
            turn=turn,
            waiting=warm.waiting,
            open_calls=open_calls,
            unwanted=state.unwanted,
            answer=warm.history.answer,
            rules=self.equipment.rules(warm, turn) if turn and not open_calls else None,
            pressure=pressure,
            can_compact=pressure != "low" and self._room.can_compact(warm),
            can_prune=pressure == "full" and self._room.can_prune(warm),
            is_in_doubt=warm.is_in_doubt,
            now=self._clock.now(),
            limits=self.equipment.limits,
        )

    async def _perform(self, warm: Warm, action: Action) -> None:
        match action:
            case CallModel():
                await self._call_model(warm)
            case RunTools():
                await self._tools.run(warm, action)
            case Drain() | Note():
                await self._drain(warm, action.items)
            case Gather():
                await self._committer.interruptibly(warm, self._clock.sleep(action.seconds))
            case Compact():
                await self._room.compact(warm, action.reason)
            case Prune():
                await self._room.prune(warm, action.reason)
            case End():
                told = action.items[0].body.text or "its parent was terminated"
                draft = await self._ended(warm, told)
                await self._committer.commit(warm, draft, "end")
            case EndRun():
                await self._end_run(warm, action)
            case Failed():
                await self._committer.fail(warm, action.code, action.reason)
            case Register() | Boot() | Park():
                await self._take_up(warm, action)
            case Rest() | Wait():
                pass
            case _:
                await self._write(warm, action)

    async def _call_model(self, warm: Warm) -> None:
        if warm.state.turn is not None and warm.state.turn.retry_at is not None:
            draft = self._committer.draft(warm)
            steps.due_again(draft)
            await self._committer.commit(warm, draft)
        await self._caller.call(warm)

    async def _take_up(self, warm: Warm, action: Register | Boot | Park) -> None:
        """Perform what comes of children, and needs no model."""
        draft = self._committer.draft(warm)
        match action:
            case Register():
                name = "register"
                steps.taken_up(draft, action.updates)
            case Boot():
                name = "boot"
                steps.taken_up(draft, action.items)
                await self._caller.boot_new(draft, warm)
            case Park():
                name = "park"
                draft.state = structs.replace(draft.state, turn=None)
        await self._committer.commit(warm, draft, name)

    async def _write(self, warm: Warm, action: Written) -> None:
        """Perform what is nothing but a commit."""
        draft = self._committer.draft(warm)
        match action:
            case Settle():
                name = "settle"
                suspending.settled(draft, warm, action.answers)
            case TimeOut():
                name = "timeout"
                suspending.timed_out(draft, warm, action.suspended)
            case PutOff():
                name = "putoff"
                suspending.put_off(draft, warm)
            case SwitchSides():
                name = "switch"
                sides.switched(draft)
            case HandOver():
                name = "handoff"
                is_known = self.equipment.knows(action.handoff.to)
                handing.handed_over(draft, warm, action.handoff, is_known=is_known)
            case Remind():
                name = "remind"
                sides.reminded(draft, action.text, is_dual=action.is_dual)
            case Discard():
                name = "discard"
                suspending.discarded(draft, action.answers)
            case Withdraw():
                name = "withdraw"
                ending.withdrawn(draft, warm, action.withdrawals)
            case Switch():
                name = "switch"
                switching.moved(draft, warm, action.moves)
            case Answered():
                name = "answer"
                steps.answered(draft, warm, action.by, self._committer.connectors)
            case _:
                assert_never(action)
        await self._commit_written(warm, draft, name)

    async def _commit_written(self, warm: Warm, draft: Draft, name: str) -> None:
        hooks = self.equipment.hooks(warm) if name in _LATE_RESULTS else None
        if hooks is not None:
            work = self._hooks.settled(warm, hooks, draft.records)
            draft.records = await self._committer.interruptibly(warm, work)
        await self._committer.commit(warm, draft, name)
        if hooks is not None:
            await self._hooks.told(warm, hooks, draft.records, are_updates=True)

    async def _drain(self, warm: Warm, items: Sequence[Item]) -> None:
        hooks = self.equipment.hooks(warm)
        if hooks is not None:
            work = self._hooks.taken(warm, hooks, items)
            items = await self._committer.interruptibly(warm, work)
        draft = self._committer.draft(warm)
        steps.drained(draft, items)
        await self._committer.commit(warm, draft, "drain")
        if hooks is not None:
            await self._hooks.told(warm, hooks, draft.records)

    async def _introduce(self, warm: Warm) -> None:
        """Let hooks see a new agent before it does anything."""
        hooks = self.equipment.hooks(warm)
        if hooks is not None and "after_thread_created" in hooks:
            await self._hooks.begun(warm, hooks)
            draft = self._committer.draft(warm)
            draft.state = structs.replace(draft.state, is_introduced=True)
            await self._committer.commit(warm, draft)

    async def _end_run(self, warm: Warm, action: EndRun) -> None:
        tree = self._trees.tree(warm.id)
        files = [await tree.stat(path) for path in action.paths]
        draft = self._committer.draft(warm)
        sides.run_ended(draft, warm, action, files, self._committer.connectors)
        await self._committer.commit(warm, draft, "run")

    async def _delete(self, warm: Warm) -> None:
        try:
            await self._store.delete(warm.owner, warm.id)
        except ConflictError:  # somebody asked it for something at the last moment
            draft = await self._ended(warm, "it was deleted")
            await self._committer.commit_now(warm, draft, "end")
            await self._clear(warm)
            await self._store.delete(warm.owner, warm.id)
        warm.is_deleted = True

    async def _concerns_others(self, warm: Warm) -> bool:
        turn = warm.state.turn
        if warm.has_listeners or (turn is not None and turn.suspended):
            return True
        return bool(await self._store.children(warm.owner, warm.id))

    async def _ended(self, warm: Warm, reason: str) -> Draft:
        children = await self._store.children(warm.owner, warm.id)
        draft = self._committer.draft(warm)
        ending.ended(draft, warm, reason, children)
        return draft

    async def _clear(self, warm: Warm) -> None:
        """Give what came while the agent ended its fate too."""
        if warm.waiting:
            draft = self._committer.draft(warm)
            ending.came_late(draft, warm)
            await self._committer.commit_now(warm, draft, "end")

    async def obey_aside(self, warm: Warm, command: Command) -> None:
        """Carry out a command while the agent's own task waits for a model or a tool."""
        try:
            await self._obey(warm, command)
        finally:
            warm.aside = None

    async def _obey(self, warm: Warm, command: Command) -> None:
        try:
            result = await self._carry_out(warm, command)
        except Interrupted:
            command.settle(False)
        except Exception as error:  # noqa: BLE001  whoever gave the command is told
            command.settle(error)
        else:
            command.settle(result)

    async def _reset(self, warm: Warm, order: Reset) -> None:
        if not steps.is_reset(warm):
            draft = self._committer.draft(warm)
            steps.was_reset(draft, warm, order)
            await self._committer.commit_now(warm, draft, "reset")

    async def _adjust(self, warm: Warm, draft: Draft, order: Change | Provide) -> None:
        if isinstance(order, Change):
            steps.patched(draft, order.patch)
            await self._committer.commit_now(warm, draft, "patch")
        else:
            if self.equipment.is_stale:
                await self.equipment.refresh()
            plan = self.equipment.plan(warm)
            await self._deferred.begin(draft, warm, plan, order)
            if plan.hooks is not None:
                await self._hooks.born(warm, plan.hooks, draft.posts)
            await self._committer.commit_now(warm, draft, "provide")

    async def _carry_out(self, warm: Warm, command: Command) -> bool:
        order = command.order
        if warm.is_ended and not isinstance(order, Change | Delete):
            raise TerminatedError(f"the agent {warm.id!r} has ended")
        draft = self._committer.draft(warm)
        match order:
            case Stop():
                gathered = [] if warm.state.turn else warm.spoken(order.up_to)
                if warm.state.turn is None and not gathered:
                    return False
                steps.stopped(draft, warm, gathered)
                await self._committer.commit_now(warm, draft, "stop")
            case Reset():
                await self._reset(warm, order)
            case Change() | Provide():
                await self._adjust(warm, draft, order)
            case SwitchBack():
                if not switching.went_back(draft, warm, order.leaving):
                    return False
                await self._committer.commit_now(warm, draft, "switch")
            case CompactNow():
                return await self._room.compact(warm, "command")
            case Terminate():
                draft = await self._ended(warm, order.reason)
                await self._committer.commit_now(warm, draft, "end")
            case Delete():
                if not warm.is_ended and await self._concerns_others(warm):
                    draft = await self._ended(warm, "it was deleted")
                    await self._committer.commit_now(warm, draft, "end")
                    await self._clear(warm)
                await self._delete(warm)
            case _:
                assert_never(order)
        return True
