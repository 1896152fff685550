"""What a decision is about: everything stored of an agent that it depends on, as one value."""

from retinue.clock import Clock
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.context_room import ContextRoom
from retinue.engine.rules.decision import TurnView
from retinue.engine.subagents.immediate import Boots
from retinue.errors import RetinueError


class TurnViews:
    """Makes views; the same records, settings and definitions give the same view in any process."""

    def __init__(self, *, setup: StepSetup, room: ContextRoom, boots: Boots, clock: Clock) -> None:
        self._setup = setup
        self._room = room
        self._boots = boots
        self._clock = clock

    def view(self, live: LiveAgent) -> TurnView:
        setup, state = self._setup, live.state
        turn, open_calls = state.turn, live.history.open_calls
        setup.look(live)
        pressure = self._room.pressure(live)
        pruning = "overflow" if turn is not None and turn.overflow else "emergency"
        is_prunable = pressure == "full" or pruning == "overflow"
        has_step = turn is not None and not open_calls
        return TurnView(
            turn=turn,
            is_ended=live.is_ended,
            waiting=live.waiting,
            open_calls=open_calls,
            unwanted=state.unwanted,
            answer=live.history.answer,
            rules=setup.rules(live, turn) if turn and has_step else None,
            pressure=pressure,
            can_compact=pressure != "low" and self._room.can_compact(live),
            can_prune=is_prunable and self._room.pruned_to(live, pruning) is not None,
            are_boots_due=has_step and self._are_boots_due(live),
            has_crashed=live.has_crashed,
            epoch=live.epoch,
            now=self._clock.now(),
            limits=setup.limits,
        )

    def _are_boots_due(self, live: LiveAgent) -> bool:
        if not self._setup.may_boot(live):
            return False
        try:
            return self._boots.are_due(live, self._setup.config(live))
        except RetinueError:
            return False  # the step says what is wrong
