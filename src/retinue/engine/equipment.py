"""What a turn works with right now: its plan, its tools, and the model whose try it is."""

from collections.abc import Mapping, Sequence

from retinue.agents.descriptor import PermanentDescriptor
from retinue.agents.state import Turn
from retinue.agents.tokens import (
    CHARACTERS_PER_TOKEN,
    LARGEST_CORRECTION,
    corrected_tokens,
    estimated_tokens,
)
from retinue.clock import Clock
from retinue.definitions.declared import HookSet
from retinue.definitions.subagent import SideName
from retinue.engine.actions import Pressure, Rules
from retinue.engine.compaction import WARNING, pressure_of
from retinue.engine.environment import Environment, Holder
from retinue.engine.following import Following
from retinue.engine.limits import Limits
from retinue.engine.prompting.closing import MOST_ITEMS, closing_text, items_now, panels_now
from retinue.engine.prompting.planning import USUAL, Case, Plan, Planner
from retinue.engine.prompting.sections import Section, joined
from retinue.engine.prompting.sources import Artifacts
from retinue.engine.roster import WRITING_TOOL, Roster
from retinue.engine.warm import Warm
from retinue.engine.windows import Windows
from retinue.errors import RetinueError
from retinue.messages import clean_text
from retinue.models.port import Model, Models
from retinue.tools.port import Tool, Toolbox

_TOOLS_FRESH_SECONDS = 0.2
_CALM = WARNING * CHARACTERS_PER_TOKEN / LARGEST_CORRECTION
"""Characters for each token of the limit that are no pressure, however far off the estimate is."""


class Equipment:
    """Looks things up for a step; cheap enough to be asked before each one."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        planner: Planner,
        following: Following,
        toolbox: Toolbox,
        models: Models,
        clock: Clock,
        limits: Limits,
        roster: Roster,
        environment: Environment,
        artifacts: Artifacts,
        windows: Windows,
    ) -> None:
        self._roster = roster
        self._artifacts = artifacts
        self._windows = windows
        self._environment = environment
        self._following = following
        self._toolbox = toolbox
        self._models = models
        self._clock = clock
        self.limits = limits
        self._planner = planner
        self._known_models: dict[str, Model] = {}
        self.tools: Mapping[str, Tool] = {}
        self._tools_until = float("-inf")

    def plan(self, warm: Warm) -> Plan:
        side: SideName = warm.state.turn.side if warm.state.turn is not None else "side_a"
        plan = self._planner.plan(warm.definition, side, self.tools)
        if plan.gates or warm.state.children or warm.is_secluded:
            plan = self._suited(plan, warm, side, is_secluded=warm.is_secluded)
        if plan.variables or (plan.arguments and warm.state.arguments):
            texts = self._texts(warm, plan) if plan.variables else None
            plan = self._planner.told(plan, warm.state.arguments, texts)
        warm.overhead = plan.overhead + warm.own_overhead
        warm.look_as(side if plan.is_dual else "")
        return plan

    def _suited(
        self, plan: Plan, holder: Holder, side: SideName, *, is_secluded: bool = False
    ) -> Plan:
        """The plan as this agent's variables and subagents have it."""
        variables = self._environment.of(holder, plan.definition, plan.side.prompt)
        case = Case(
            on=variables.on(plan.gates),
            has_children=any(e.is_addressable and e.side == side for e in holder.state.children),
            is_secluded=is_secluded,
        )
        return plan if case == USUAL else self._planner.plan_for(plan, side, self.tools, case)

    def hooks(self, warm: Warm) -> HookSet | None:
        """The hooks of the side whose turn it is; none, while a definition cannot be used."""
        if not self._planner.has_hooks:
            return None
        try:
            return self.plan(warm).hooks
        except RetinueError:
            return None

    def _texts(self, warm: Warm, plan: Plan) -> Mapping[str, str]:
        """What the prompt shows of this agent's variables. Raises when one that it must have is
        missing: no model is asked then."""
        prompt = plan.side.prompt
        variables = self._environment.of(warm, plan.definition, prompt)
        variables.check(plan.variables, f"agent {plan.definition.name!r}")
        shown = (one.name for one in plan.variables if one.name in prompt.placeholders)
        return {name: clean_text(variables.get(name) or "") for name in shown}

    async def plan_of(
        self, definition: str, side: SideName = "side_a", holder: Holder | None = None
    ) -> Plan:
        """The plan of a definition, or of an agent of it, for whoever is no step of an agent."""
        await self.refresh()
        plan = self._planner.plan(definition, side, self.tools)
        return plan if holder is None else self._suited(plan, holder, side)

    async def tools_of(self, definition: str, holder: Holder | None) -> Sequence[Tool]:
        return list((await self.plan_of(definition, holder=holder)).tools.values())

    def knows(self, definition: str) -> bool:
        try:
            self._planner.definition(definition)
        except RetinueError:
            return False
        return True

    def rules(self, warm: Warm, turn: Turn) -> Rules | None:
        """How the acting side's turn ends, where it is not simply by an answer in words."""
        if self._planner.is_plain(warm.definition, turn.side):
            return None
        try:
            definition = self._planner.definition(warm.definition)
            side = definition.side(turn.side)
        except RetinueError:
            return None  # the next step says what is wrong
        history = warm.history
        response = history.unanswered
        if response is not None and response.seq < max(turn.first_seq, turn.side_since):
            response = None
        return Rules(
            side=side,
            is_dual=definition.is_dual,
            max_turns=definition.max_session_turns if definition.is_dual else None,
            response=response,
            results=history.results,
        )

    async def system(self, warm: Warm, plan: Plan) -> str:
        """The plan's system prompt, and after it what only this agent or its owner's are told."""
        changes = self._roster.changes
        if warm.system_of is plan and warm.system_since == changes:
            system = warm.system
        else:
            own = await self.own_sections(warm, plan)
            system = joined([Section("plan", plan.system), *own]) if own else plan.system
            if warm.kind != "permanent":  # what these are told can be changed by themselves
                warm.system, warm.system_of, warm.system_since = system, plan, changes
        warm.own_overhead = len(system) - len(plan.system)
        warm.overhead = plan.overhead + warm.own_overhead
        return system

    async def own_sections(self, warm: Warm, plan: Plan) -> Sequence[Section]:
        sections: list[Section] = []
        if isinstance(warm.descriptor, PermanentDescriptor):
            sections.append(Section("own", warm.descriptor.system_prompt))
        if WRITING_TOOL in plan.tools and not warm.is_secluded:
            if not self._roster.is_loaded(warm.owner):
                await self._roster.load(warm.owner)
            others = self._roster.section(warm.owner, itself=warm.id, definition=warm.definition)
            sections.append(Section("permanentAgents", others))
        return [section for section in sections if section.text]

    async def closing(self, warm: Warm, plan: Plan) -> str:
        """What changes by itself, as it was when this turn first asked."""
        since = warm.state.turn.first_seq if warm.state.turn else 0
        if warm.closing_since != since:
            about = (self._artifacts.revision, self._windows.revision, plan.artifacts)
            if warm.closing_about != about:
                warm.closing = closing_text(await self.closing_sections(warm, plan))
                warm.closing_about = about
            warm.closing_since = since
        warm.own_overhead += len(warm.closing)
        warm.overhead += len(warm.closing)
        return warm.closing

    async def closing_sections(self, warm: Warm, plan: Plan) -> Sequence[Section]:
        groups = await self._artifacts.listed(warm.owner, plan.artifacts, limit=MOST_ITEMS)
        sections = [items_now(groups), panels_now(self._windows.of(warm.owner))]
        return [section for section in sections if section is not None]

    @property
    def is_stale(self) -> bool:
        """Whether it is time to refresh: at most five times a second, since that looks at files."""
        return self._clock.monotonic() >= self._tools_until

    async def refresh(self) -> None:
        """Ask for tools, and definitions."""
        # Set first: whoever asks meanwhile takes what is known instead of asking too.
        now = self._clock.monotonic()
        self._tools_until = now + _TOOLS_FRESH_SECONDS if self.tools else now
        self.tools = await self._toolbox.tools()
        await self._following.definitions()

    async def model(self, warm: Warm, plan: Plan) -> tuple[Model, int]:
        """The model whose try it is, and how many there are."""
        names = [warm.state.model, *plan.models] if warm.state.model else plan.models
        turn = warm.state.turn
        index = min(turn.model_index, len(names) - 1) if turn else 0
        name = names[index]
        model = self._known_models.get(name)
        if model is None:
            model = self._known_models[name] = await self._models.get(name)
        warm.model_limit = model.window
        return model, len(names)

    def pressure(self, warm: Warm) -> Pressure:
        limit, window = self.limits.context_tokens, warm.model_limit
        if window and window < limit:
            limit = window
        if warm.context.characters + warm.overhead < limit * _CALM:
            return "low"  # whatever the correction; nearly every call ends here
        estimate, last = self.estimate(warm), warm.state.tokens
        return pressure_of(corrected_tokens(estimate, last, last.model if last else ""), limit)

    def limit(self, warm: Warm) -> int:
        limit, window = self.limits.context_tokens, warm.model_limit
        return window if window and window < limit else limit

    def room(self, warm: Warm) -> int:
        """How many tokens the records may take, estimated and corrected by the last call."""
        estimate = self.estimate(warm)
        last = warm.state.tokens
        corrected = corrected_tokens(estimate, last, last.model if last else "")
        scale = estimate / corrected if corrected else 1.0
        return max(0, round(self.limit(warm) * scale) - estimated_tokens(warm.overhead))

    def estimate(self, warm: Warm) -> int:
        return estimated_tokens(warm.context.characters + warm.overhead)
