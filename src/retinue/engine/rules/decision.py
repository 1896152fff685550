"""What comes next for an agent: a pure function of what is stored about it.

A restarted process calls the same function on the same records, so recovery is not a second path.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from retinue.agents.command import SwitchCommand, interrupts, reaches_ended_agents
from retinue.agents.inbox import Item
from retinue.agents.state import Handoff, Suspension, Turn
from retinue.definitions.side import Side
from retinue.engine.agent.limits import Limits
from retinue.engine.rules.stopping import (
    GoesOn,
    NeedsReminder,
    RunEnds,
    RunOutcome,
    TurnEnds,
    judge,
)
from retinue.errors import ContextTooLongError
from retinue.ids import CallId, ItemId
from retinue.records import AssistantRecord, CallPart, ToolRecord

Pressure = Literal["low", "warning", "critical", "full"]
"""How full the context is: under 75 %, under 90 %, under 100 % of the limit, or over it."""


class Rules(Struct, frozen=True, kw_only=True):
    """How a side's turn and the run end, and what the side did last."""

    side: Side
    is_dual: bool
    max_turns: int | None
    response: AssistantRecord | None  # of this turn of the side, with all its results
    results: Mapping[CallId, ToolRecord]


class TurnView(Struct, frozen=True, kw_only=True):
    """Everything that the decision depends on."""

    turn: Turn | None
    is_ended: bool = False  # it takes no more messages
    waiting: Sequence[Item]  # in order of admission
    open_calls: Sequence[CallPart]
    unwanted: Sequence[ItemId] = ()  # asked of others, and withdrawn
    answer: AssistantRecord | None  # the last response, when it ends a turn
    rules: Rules | None = None  # of the acting side, where an answer in words is not all there is
    pressure: Pressure
    can_compact: bool  # there is something old enough to sum up, and the last try did not fail
    can_prune: bool  # there is a whole exchange that could be dropped, and reason to do it
    are_boots_due: bool = False  # the prompt lists subagents that begin before its model
    has_crashed: bool = False  # the process before this one died while the turn went on
    epoch: int  # of the agent's claim: open calls of another epoch may have been begun
    now: datetime
    limits: Limits


class Rest(Struct, frozen=True, kw_only=True):
    """Nothing to do until a message comes."""


class Gather(Struct, frozen=True, kw_only=True):
    """A burst may still be coming in: wait this long before the turn begins."""

    seconds: float


class NoteSilent(Struct, frozen=True, kw_only=True):
    """Write silent items into the history; no turn follows."""

    items: Sequence[Item]


class Drain(Struct, frozen=True, kw_only=True):
    """Write items into the history; the turn begins, or goes on with them."""

    items: Sequence[Item]


class CallModel(Struct, frozen=True, kw_only=True):
    """Ask the model for the next response."""


class RunTools(Struct, frozen=True, kw_only=True):
    """Run calls in order; the outcome of `in_doubt` was lost with the process that ran it."""

    calls: Sequence[CallPart]
    in_doubt: CallPart | None


class Compact(Struct, frozen=True, kw_only=True):
    """Sum up the older part of the context."""

    reason: Literal["warning", "critical", "command"]


class Prune(Struct, frozen=True, kw_only=True):
    """Drop the oldest whole exchanges from the context, without asking a model."""

    reason: Literal["emergency", "overflow"]


class Wait(Struct, frozen=True, kw_only=True):
    """Nothing to do until a message comes or, at the latest, that time."""

    until: datetime | None


class Settle(Struct, frozen=True, kw_only=True):
    """Give suspended calls their results, which came in."""

    answers: Sequence[Item]


class TimeOut(Struct, frozen=True, kw_only=True):
    """Wait no longer for these calls; their outcome comes as a message of its own."""

    suspended: Sequence[Suspension]


class PutOff(Struct, frozen=True, kw_only=True):
    """Go on with what people wrote, although nobody has decided about these calls yet."""

    suspended: Sequence[Suspension]


class Discard(Struct, frozen=True, kw_only=True):
    """Drop answers that crossed the withdrawal of what they answer."""

    answers: Sequence[Item]


class Withdraw(Struct, frozen=True, kw_only=True):
    """Drop items that their senders no longer want."""

    withdrawals: Sequence[Item]


class Obey(Struct, frozen=True, kw_only=True):
    """Carry out a command, whatever the agent is doing."""

    command: Item


class EndLate(Struct, frozen=True, kw_only=True):
    """Give what came while the agent ended its fate too."""

    items: Sequence[Item]


class Register(Struct, frozen=True, kw_only=True):
    """Take up what children are doing, for the registry alone."""

    updates: Sequence[Item]


class Boot(Struct, frozen=True, kw_only=True):
    """Begin what the agent's prompt begins by itself, before anybody has written."""

    items: Sequence[Item]


class StartSubagents(Struct, frozen=True, kw_only=True):
    """Begin the subagents that the acting side's prompt begins by itself, before its model."""


class CountCrash(Struct, frozen=True, kw_only=True):
    """Count that a process died in this turn."""


class BeginTrial(Struct, frozen=True, kw_only=True):
    """One more crash fails the turn: it runs alone from here on, so that the crash is its own."""


class EndTrial(Struct, frozen=True, kw_only=True):
    """The turn rests, so that another process that dies did not die of it."""


class Park(Struct, frozen=True, kw_only=True):
    """All that was begun so is done; the agent rests until somebody writes."""


class SwitchSides(Struct, frozen=True, kw_only=True):
    """The acting side's turn is over; the other side's begins."""


class HandOver(Struct, frozen=True, kw_only=True):
    """Another definition goes on, at once, whatever else the step said about its end."""

    handoff: Handoff


class EndRun(Struct, frozen=True, kw_only=True):
    """The run is over, by a call of the acting side or by a limit."""

    outcome: RunOutcome
    code: str
    text: str
    paths: Sequence[str] = ()


class Remind(Struct, frozen=True, kw_only=True):
    """Tell the acting side how its turn ends, since words do not end it."""

    text: str
    is_dual: bool


class Answered(Struct, frozen=True, kw_only=True):
    """The turn ends with this response: only after a crash, else both are one commit."""

    by: AssistantRecord


class Failed(Struct, frozen=True, kw_only=True):
    """The turn ends without an answer, and says why."""

    code: str
    reason: str


Action = (
    Rest
    | Gather
    | NoteSilent
    | Drain
    | CallModel
    | RunTools
    | Compact
    | Prune
    | Wait
    | Settle
    | TimeOut
    | PutOff
    | Discard
    | Withdraw
    | Obey
    | EndLate
    | Register
    | Boot
    | StartSubagents
    | CountCrash
    | BeginTrial
    | EndTrial
    | Park
    | SwitchSides
    | HandOver
    | EndRun
    | Remind
    | Answered
    | Failed
)


_AT_ONCE = frozenset({"command", "withdrawal", "status", "boot"})
"""Items that are taken up whatever the agent is doing."""


UNTRIED = Obey | Withdraw | EndLate
"""Actions of a suspect that do not wait for its trial."""


def ends_turn(response: AssistantRecord) -> bool:
    """A response that asks for nothing is the answer."""
    return not response.calls


def next_action(view: TurnView) -> Action:
    """Say what comes next."""
    turn = view.turn
    if turn is None:
        return _next(view)
    if view.has_crashed and _counts_crash(view, turn):
        return CountCrash()
    action = _next(view)
    if isinstance(action, Rest | Wait):
        return EndTrial() if turn.on_trial else action
    if turn.on_trial or isinstance(action, UNTRIED):
        return action
    return BeginTrial() if is_suspect(turn, view.limits.crash_attempts) else action


def is_suspect(turn: Turn, attempts: int) -> bool:
    """Whether one more crash of the process fails the turn."""
    return 0 < turn.crashes == attempts - 1


def _counts_crash(view: TurnView, turn: Turn) -> bool:
    """Whether the process may have died of this turn.

    A turn that only waited did not kill it. The first crashes count for every turn that went on;
    the one that would be its last counts only if the turn was on trial.
    """
    if turn.retry_at is not None and turn.retry_at > view.now:
        return False
    if turn.suspended and not runnable_calls(view.open_calls, turn):
        return False
    return turn.on_trial or not is_suspect(turn, view.limits.crash_attempts)


def _next(view: TurnView) -> Action:
    if view.waiting and any(item.kind in _AT_ONCE for item in view.waiting):
        action = _at_once(view)
        if action is not None:
            return action
    if view.is_ended:
        return EndLate(items=view.waiting) if view.waiting else Rest()
    if view.unwanted and view.waiting:
        late = [i for i in view.waiting if i.kind == "answer" and i.body.about in view.unwanted]
        if late:
            return Discard(answers=late)
    return _begin(view) if view.turn is None else _go_on(view, view.turn)


def due_command(view: TurnView) -> Item | None:
    """The first command that can be carried out now.

    An account of what was said elsewhere must not come between a call and its result. An agent that
    ended obeys few commands; the others get their fate as late items.
    """
    for item in view.waiting:
        command = item.body.command
        if command is None or (view.is_ended and not reaches_ended_agents(command)):
            continue
        if view.open_calls and isinstance(command, SwitchCommand) and not command.is_return:
            continue
        return item
    return None


def breaks_off(item: Item, turn: Turn | None) -> bool:
    """Whether there is no use in finishing the model call or the tools that are running."""
    if item.kind == "withdrawal":
        return turn is not None and list(turn.items) == [item.body.about]
    return interrupts(item.body.command)


def _at_once(view: TurnView) -> Action | None:
    command = due_command(view)
    if command is not None:
        return Obey(command=command)
    if view.is_ended:
        return None
    withdrawals = [item for item in view.waiting if item.kind == "withdrawal"]
    if withdrawals:
        return Withdraw(withdrawals=withdrawals)
    updates = [item for item in view.waiting if item.kind == "status"]
    if updates:
        return Register(updates=updates)
    news = [item for item in view.waiting if item.kind == "boot"]
    return Boot(items=news) if news else None


def _begin(view: TurnView) -> Action:
    if any(not item.silent for item in view.waiting):
        seconds = _gathering_seconds(view)
        return (
            Gather(seconds=seconds) if seconds > 0 else Drain(items=_first_together(view.waiting))
        )
    if view.waiting:
        return NoteSilent(items=view.waiting)
    if view.pressure != "low" and view.can_compact:
        return Compact(reason="warning")
    return Rest()


def _first_together(waiting: Sequence[Item]) -> Sequence[Item]:
    """What begins a turn together: a delegated item alone, or all the others.

    An answer that one agent asked for must not be made of what a person wrote meanwhile, nor the
    other way round.
    """
    first = next(item for item in waiting if not item.silent)
    if first.is_delegated:
        return [item for item in waiting if item is first or item.silent]
    return [item for item in waiting if not item.is_delegated]


def _joining(waiting: Sequence[Item], turn: Turn) -> Sequence[Item]:
    """What joins a turn that is going on."""
    if turn.is_delegated:
        return [item for item in waiting if item.silent]
    return [item for item in waiting if not item.is_delegated]


def _by_rules(rules: Rules, turn: Turn) -> Action | None:
    """What a side's rules say after its last response; None when it takes another step."""
    if rules.response is not None:
        verdict = judge(rules.side, rules.response, rules.results, is_dual=rules.is_dual)
        match verdict:
            case RunEnds():
                return EndRun(
                    outcome=verdict.outcome,
                    code=verdict.code,
                    text=verdict.text,
                    paths=verdict.paths,
                )
            case TurnEnds():
                return SwitchSides() if rules.is_dual else Answered(by=rules.response)
            case NeedsReminder():
                return Remind(text=verdict.text, is_dual=rules.is_dual)
            case GoesOn():
                pass
    return _limit(rules, turn)


def _limit(rules: Rules, turn: Turn) -> EndRun | None:
    if rules.max_turns is not None and turn.turns >= rules.max_turns:
        text = f"The run ended after {turn.turns} turns of both sides, its limit."
        return EndRun(outcome="failed", code="max_session_turns", text=text)
    if rules.side.max_steps is not None and turn.side_steps >= rules.side.max_steps:
        text = f"The run ended after {turn.side_steps} steps of one turn, the limit of that side."
        return EndRun(outcome="failed", code="max_steps", text=text)
    return None


def calls_in_doubt(turn: Turn, epoch: int) -> bool:
    """Whether the first open call may have been begun, and nobody saw its end."""
    return turn.calls_epoch != epoch and not turn.calls_unbegun


def runnable_calls(open_calls: Sequence[CallPart], turn: Turn) -> Sequence[CallPart]:
    """Calls that wait for nobody; a call that a person decides about holds those after it."""
    suspended = {suspension.call: suspension for suspension in turn.suspended}
    runnable: list[CallPart] = []
    for call in open_calls:
        suspension = suspended.get(call.id)
        if suspension is None:
            runnable.append(call)
        elif suspension.holds:
            break
    return runnable


def _resume(view: TurnView, turn: Turn) -> Action:
    """What to do while calls wait for their results."""
    answers = [i for i in view.waiting if any(s.is_settled_by(i) for s in turn.suspended)]
    if answers:
        return Settle(answers=answers)
    runnable = runnable_calls(view.open_calls, turn)
    if runnable:
        is_in_doubt = calls_in_doubt(turn, view.epoch)
        return RunTools(calls=runnable, in_doubt=runnable[0] if is_in_doubt else None)
    late = [s for s in turn.suspended if s.until is not None and s.until <= view.now]
    if late:
        return TimeOut(suspended=late)
    is_undecided = all(suspension.holds for suspension in turn.suspended)
    if is_undecided and any(not item.silent for item in view.waiting):
        return PutOff(suspended=turn.suspended)
    return Wait(until=min((s.until for s in turn.suspended if s.until is not None), default=None))


def _gathering_seconds(view: TurnView) -> float:
    """Wait for the window after the newest of a person's messages, four windows at the most."""
    window = view.limits.gather_seconds
    spoken = [item for item in view.waiting if item.is_user_input and item.body.sender.connector]
    if not window or not spoken:
        return 0
    since_first = (view.now - spoken[0].admitted_at).total_seconds()
    since_last = (view.now - spoken[-1].admitted_at).total_seconds()
    if since_first < 0 or since_first >= 4 * window or since_last < 0:
        return 0
    return max(0.0, min(window - since_last, 4 * window - since_first))


def _go_on(view: TurnView, turn: Turn) -> Action:
    if turn.crashes >= view.limits.crash_attempts:
        return Failed(
            code="poison",
            reason=f"the process died {turn.crashes} times while working on this message",
        )
    if turn.suspended:
        return _resume(view, turn)
    if view.open_calls:
        in_doubt = view.open_calls[0] if calls_in_doubt(turn, view.epoch) else None
        return RunTools(calls=view.open_calls, in_doubt=in_doubt)
    if turn.handoff is not None:
        return HandOver(handoff=turn.handoff)
    if not turn.items:
        joining = _joining(view.waiting, turn)
        return Drain(items=joining) if any(not item.silent for item in joining) else Park()
    if view.rules is not None:
        action = _by_rules(view.rules, turn)
        if action is not None:
            return action
    elif view.answer is not None and view.answer.seq >= turn.first_seq:
        return Answered(by=view.answer)
    if view.waiting:
        joining = _joining(view.waiting, turn)
        if joining:
            return Drain(items=joining)
    return _step(view, turn)


def _step(view: TurnView, turn: Turn) -> Action:
    """The model is next, unless it has to wait, or something is in its way."""
    if turn.overflow:
        if turn.overflowed or not view.can_prune:
            return Failed(code=ContextTooLongError.code, reason=turn.overflow)
        return Prune(reason="overflow")
    if turn.retry_at is not None and turn.retry_at > view.now:
        return Wait(until=turn.retry_at)
    if turn.steps >= view.limits.steps:
        return Failed(
            code="steps", reason=f"stopped after {turn.steps} steps, the limit for one run"
        )
    if view.are_boots_due:
        return StartSubagents()
    if view.pressure == "full" and view.can_prune:
        return Prune(reason="emergency")
    if view.pressure in ("critical", "full") and view.can_compact:
        return Compact(reason="critical")
    return CallModel()
