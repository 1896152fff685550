"""What a turn works with right now: its plan, its tools, and the model whose try it is."""

from collections.abc import Mapping, Sequence

from retinue.agents.descriptor import PermanentDescriptor
from retinue.agents.state import Turn
from retinue.definitions.declarations import HookSet
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.panels.windows import Windows
from retinue.engine.prompting.permanent_directory import WRITING_TOOL, PermanentDirectory
from retinue.engine.prompting.prompt_config import USUAL, PromptCase, PromptConfig, PromptConfigs
from retinue.engine.prompting.prompt_sections import Section, joined
from retinue.engine.prompting.prompt_sources import Artifacts
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.prompting.volatile_sections import (
    MOST_ITEMS,
    closing_text,
    items_now,
    panels_now,
)
from retinue.engine.rules.decision import Rules
from retinue.engine.variables.values import Environment, Holder
from retinue.errors import RetinueError
from retinue.ids import SideName
from retinue.models.port import Model, Models
from retinue.project.snapshot import ProjectSnapshot
from retinue.text import clean_text


class StepSetup:
    """Looks things up for a step; cheap enough to be asked before each one."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        configs: PromptConfigs,
        snapshots: TurnSnapshots,
        models: Models,
        limits: Limits,
        directory: PermanentDirectory,
        environment: Environment,
        artifacts: Artifacts,
        windows: Windows,
    ) -> None:
        self._directory = directory
        self._artifacts = artifacts
        self._windows = windows
        self._environment = environment
        self.snapshots = snapshots
        self._models = models
        self.limits = limits
        self._configs = configs

    def snapshot(self, live: LiveAgent) -> ProjectSnapshot:
        """What the agent works with: what its turn began with, as far as it is still in force."""
        read = self.snapshots.peek if live.is_preview else self.snapshots.of
        return read(live.id, live.state.turn, live.definition)

    def config(self, live: LiveAgent) -> PromptConfig:
        side: SideName = live.state.turn.side if live.state.turn is not None else "side_a"
        config = self._configs.config(self.snapshot(live), live.definition, side)
        if config.gates or live.state.children or live.is_secluded:
            config = self._suited(config, live, side, is_secluded=live.is_secluded)
        if config.variables or (config.arguments and live.state.arguments):
            texts = self._texts(live, config) if config.variables else None
            config = self._configs.told(config, live.state.arguments, texts)
        live.look_as(side if config.is_dual else "")
        return config

    def may_boot(self, live: LiveAgent) -> bool:
        """Whether the prompt of the side whose turn it is has subagents that begin with it."""
        side: SideName = live.state.turn.side if live.state.turn is not None else "side_a"
        return self._configs.may_boot(self.snapshot(live), live.definition, side)

    def look(self, live: LiveAgent) -> None:
        """Let the context be what the side whose turn it is sees."""
        side: SideName = live.state.turn.side if live.state.turn is not None else "side_a"
        snapshot, is_dual = self.snapshot(live), False
        if not self._configs.is_plain(snapshot, live.definition, side):
            try:
                is_dual = snapshot.catalog.definition(live.definition).is_dual
            except RetinueError:
                pass  # the next step says what is wrong
        live.look_as(side if is_dual else "")

    def _suited(
        self, config: PromptConfig, holder: Holder, side: SideName, *, is_secluded: bool = False
    ) -> PromptConfig:
        """The plan as this agent's variables and subagents have it."""
        variables = self._environment.of(holder, config.definition, config.side.prompt)
        case = PromptCase(
            on=variables.on(config.gates),
            has_children=any(e.is_addressable and e.side == side for e in holder.state.children),
            is_secluded=is_secluded,
        )
        return config if case == USUAL else self._configs.plan_for(config, side, case)

    def hooks(self, live: LiveAgent) -> HookSet | None:
        """The hooks of the side whose turn it is; none, while a definition cannot be used."""
        if not self.snapshot(live).catalog.generation.hooks:
            return None
        try:
            return self.config(live).hooks
        except RetinueError:
            return None

    def _texts(self, live: LiveAgent, config: PromptConfig) -> Mapping[str, str]:
        """What the prompt shows of this agent's variables. Raises when one that it must have is
        missing: no model is asked then."""
        prompt = config.side.prompt
        variables = self._environment.of(live, config.definition, prompt)
        variables.check(config.variables, f"agent {config.definition.name!r}")
        shown = (one.name for one in config.variables if one.name in prompt.placeholders)
        return {name: clean_text(variables.get(name) or "") for name in shown}

    def config_of(
        self, snapshot: ProjectSnapshot, definition: str, side: SideName, holder: Holder | None
    ) -> PromptConfig:
        """The plan of a definition, or of an agent of it, outside of the agent's own steps."""
        config = self._configs.config(snapshot, definition, side)
        return config if holder is None else self._suited(config, holder, side)

    def knows(self, live: LiveAgent, definition: str) -> bool:
        try:
            self.snapshot(live).catalog.definition(definition)
        except RetinueError:
            return False
        return True

    def rules(self, live: LiveAgent, turn: Turn) -> Rules | None:
        """How the acting side's turn ends, where it is not simply by an answer in words."""
        snapshot = self.snapshot(live)
        if self._configs.is_plain(snapshot, live.definition, turn.side):
            return None
        try:
            definition = snapshot.catalog.definition(live.definition)
            side = definition.side(turn.side)
        except RetinueError:
            return None  # the next step says what is wrong
        history = live.history
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

    async def system(self, live: LiveAgent, config: PromptConfig) -> str:
        """The plan's system prompt, and after it what only this agent or its owner's are told."""
        changes = self._directory.changes
        if live.system_of is config and live.system_since == changes:
            system = live.system
        else:
            own = await self.own_sections(live, config)
            system = joined([Section("plan", config.system), *own]) if own else config.system
            if live.kind != "permanent":  # what these are told can be changed by themselves
                live.system, live.system_of, live.system_since = system, config, changes
        return system

    async def own_sections(self, live: LiveAgent, config: PromptConfig) -> Sequence[Section]:
        sections: list[Section] = []
        if isinstance(live.descriptor, PermanentDescriptor):
            sections.append(Section("own", live.descriptor.system_prompt))
        if WRITING_TOOL in config.tools and not live.is_secluded:
            if not self._directory.is_loaded(live.owner):
                await self._directory.load(live.owner)
            others = self._directory.section(
                live.owner, config.snapshot.catalog, itself=live.id, definition=live.definition
            )
            sections.append(Section("permanentAgents", others))
        return [section for section in sections if section.text]

    async def closing(self, live: LiveAgent, config: PromptConfig) -> str:
        """What changes by itself, as it was when this turn first asked."""
        since = live.state.turn.first_seq if live.state.turn else 0
        if live.closing_since != since:
            about = (self._artifacts.revision, self._windows.revision, config.artifacts)
            if live.closing_about != about:
                live.closing = closing_text(await self.closing_sections(live, config))
                live.closing_about = about
            live.closing_since = since
        return live.closing

    async def closing_sections(self, live: LiveAgent, config: PromptConfig) -> Sequence[Section]:
        groups = await self._artifacts.listed(live.owner, config.artifacts, limit=MOST_ITEMS)
        sections = [items_now(groups), panels_now(self._windows.of(live.owner))]
        return [section for section in sections if section is not None]

    async def model(self, live: LiveAgent, config: PromptConfig) -> tuple[Model, int]:
        """The model whose try it is, and how many there are."""
        names = [live.state.model, *config.models] if live.state.model else config.models
        turn = live.state.turn
        index = min(turn.model_index, len(names) - 1) if turn else 0
        model = await self._models.get(names[index])
        return model, len(names)
