"""Plans: how a definition calls its model, made once for each revision of the files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from retinue.agents.context import json_characters, neutral
from retinue.definitions.catalog import Catalog
from retinue.definitions.declarations import Hook, HookKind, HookSet
from retinue.definitions.definition import Definition
from retinue.definitions.model_options import ModelOptions
from retinue.definitions.prompt import Prompt, Variable
from retinue.definitions.scoping import effective
from retinue.definitions.side import SessionToolBinding, Side
from retinue.definitions.subagent_config import SubagentConfig
from retinue.engine.lineage.peers import peers_of
from retinue.engine.prompting.prompt_sections import (
    Section,
    agents_section,
    base_section,
    items_section,
    joined,
    message_context_section,
    panels_section,
    skills_section,
    tools_section,
)
from retinue.engine.prompting.prompt_sources import NoSkills, SkillOffer, Skills
from retinue.engine.rules.stopping import as_text
from retinue.engine.variables.values import declared_by
from retinue.errors import RetinueError
from retinue.ids import SideName
from retinue.models.port import ToolSpec
from retinue.project.snapshot import ProjectSnapshot
from retinue.tools.package_tools import visible_tools
from retinue.tools.port import Tool

MESSAGE_TOOL = "agents_message"
PANEL_TOOL = "panels_list"
READING = {"lists.read": "list", "notes.read": "note", "views.read": "view"}
"""Types of artifacts, by the capability of tools that read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptConfig:
    """How a definition calls its model: for one revision of the files, and one case of agents."""

    definition: Definition
    side: Side  # whose plan it is
    models: Sequence[str]  # the first that answers is used
    options: ModelOptions  # of the prompt, over those of the definition
    system: str
    sections: Sequence[Section]  # what the system prompt is made of
    scoped: Mapping[str, Tool]  # what the scope allows, by whichever way it is called
    tools: Mapping[str, Tool]  # those of them that the model is shown
    specs: Sequence[ToolSpec]
    overhead: int  # characters of all that
    is_dual: bool  # both sides are models
    is_plain: bool  # nothing but an answer in words ends its turn
    asks_first: bool  # its owner is asked about some of its calls
    terminal: frozenset[str]  # tools whose success ends the run
    bound: frozenset[str]  # tools that end the run or tell how it goes
    known: Mapping[str, Tool]  # what a call could name, whether the scope allows it or not
    snapshot: ProjectSnapshot  # that it was made from
    artifacts: frozenset[str]  # types of artifacts that it may read; none for most definitions
    hooks: HookSet | None = None
    arguments: frozenset[str] = frozenset()
    """what the prompt shows of the arguments that its definition was called with"""
    immediate: tuple[SubagentConfig, ...] = ()
    """subagents that are begun when the prompt becomes active"""
    variables: Sequence[Variable] = ()
    """what differs between agents: values that each must have, or that the prompt shows"""
    gates: frozenset[str] = frozenset()
    """variables that switch entries of the prompt on"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCase:
    """What makes the plans of some agents differ from the usual one of their definition."""

    on: frozenset[str] = frozenset()
    """variables that switch entries on; usually none does"""
    has_children: bool = False
    """whether it has subagents to write to, whoever began them"""
    is_secluded: bool = False
    """whether nobody but its contact can be reached, so that it is told of nobody else"""


USUAL = PromptCase()

OwnTools = Callable[[Catalog, Definition, SideName, PromptCase], Mapping[str, Tool]]
"""Makes the tools that a side's prompt brings along, such as its subagents."""


def no_own_tools(
    _catalog: Catalog, _definition: Definition, _side: SideName, _case: PromptCase
) -> Mapping[str, Tool]:
    return {}


def together(*makers: OwnTools) -> OwnTools:
    """Several kinds of own tools as one."""
    return lambda catalog, definition, side, case: {
        name: tool
        for make in makers
        for name, tool in make(catalog, definition, side, case).items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A plan, what it was made of, and the plans of other cases."""

    config: PromptConfig
    others: dict[PromptCase, PromptConfig] = field(default_factory=dict[PromptCase, PromptConfig])


class PromptConfigs:
    """Makes plans and keeps each as long as its snapshot is in use."""

    def __init__(
        self,
        default_model: str,
        own: OwnTools = no_own_tools,
        skills: Skills | None = None,
    ) -> None:
        self._default_model = default_model
        self._own = own
        self._skills = skills or NoSkills()
        self._configs: WeakKeyDictionary[ProjectSnapshot, dict[tuple[str, SideName], _Kept]] = (
            WeakKeyDictionary()
        )

    def is_plain(self, snapshot: ProjectSnapshot, name: str, side: SideName) -> bool:
        """Whether nothing but an answer in words ends the side's turn."""
        usual = self._usual(snapshot, name, side)
        if usual is not None:
            return usual.is_plain
        try:
            return _is_plain(snapshot.catalog.definition(name), side)
        except RetinueError:
            return False

    def may_boot(self, snapshot: ProjectSnapshot, name: str, side: SideName) -> bool:
        """Whether the side's prompt lists subagents that begin with it."""
        usual = self._usual(snapshot, name, side)
        if usual is not None and not usual.gates:
            return bool(usual.immediate)
        try:
            return bool(_immediate(snapshot.catalog.definition(name).side(side).prompt))
        except RetinueError:
            return False

    def _usual(self, snapshot: ProjectSnapshot, name: str, side: SideName) -> PromptConfig | None:
        """The plan of this snapshot, if it was made already."""
        kept = self._of(snapshot).get((name, side))
        return None if kept is None else kept.config

    def config(self, snapshot: ProjectSnapshot, name: str, side: SideName) -> PromptConfig:
        configs = self._of(snapshot)
        kept = configs.get((name, side))
        if kept is None:
            kept = configs[name, side] = _Kept(config=self._made(snapshot, name, side, USUAL))
        return kept.config

    def plan_for(self, usual: PromptConfig, side: SideName, case: PromptCase) -> PromptConfig:
        """The plan of agents to whom this applies, beside the usual one that `config` gave."""
        name = usual.definition.name
        kept = self._of(usual.snapshot)[name, side]
        config = kept.others.get(case)
        if config is None:
            config = kept.others[case] = self._made(usual.snapshot, name, side, case)
        return config

    def _of(self, snapshot: ProjectSnapshot) -> dict[tuple[str, SideName], _Kept]:
        configs = self._configs.get(snapshot)
        if configs is None:
            configs = self._configs[snapshot] = {}
        return configs

    def told(
        self,
        config: PromptConfig,
        arguments: Mapping[str, Any],
        texts: Mapping[str, str] | None = None,
    ) -> PromptConfig:
        """The plan of an agent whose definition was called with these arguments, or whose variables
        have these texts."""
        prompt = config.side.prompt
        given = {name: as_text(arguments[name]) for name in prompt.properties & arguments.keys()}
        values = {**(texts or {}), **given}
        base = base_section(config.definition, rendered(config.definition, prompt, values))
        system = joined(sections := [base, *config.sections[1:]])
        overhead = config.overhead + len(system) - len(config.system)
        return replace(config, system=system, sections=sections, overhead=overhead)

    def _made(
        self, snapshot: ProjectSnapshot, name: str, side_name: SideName, case: PromptCase
    ) -> PromptConfig:
        catalog, tools = snapshot.catalog, snapshot.tools
        written = catalog.definition(name)
        definition = written.switched(side_name, case.on)
        side = definition.side(side_name)
        prompt = side.prompt
        brought = self._own(catalog, definition, side_name, case)
        known = {**visible_tools(definition.home, tools), **brought}
        scoped = _scoped(definition, prompt, known, brought)
        skills = self._skills.offered(snapshot, definition, scoped)
        shown = {key: tool for key, tool in scoped.items() if key not in skills.replaces}
        artifacts = frozenset(
            READING[each]
            for tool in scoped.values()
            for each in tool.capabilities
            if each in READING
        )
        variables = _varying(definition, prompt)
        tells_peers = MESSAGE_TOOL in shown and not case.is_secluded
        peers = peers_of(definition, catalog) if tells_peers else ()
        unset = {one.name: "" for one in variables}
        sections = sections_of(
            base_section(definition, rendered(definition, prompt, unset)),
            tools=shown,
            skills=skills,
            artifacts=artifacts,
            peers=peers,
        )
        system = joined(sections)
        specs = [spec_of(tool) for tool in shown.values()]
        models = [prompt.model or definition.model or self._default_model]
        models += [*prompt.fallback_models, *definition.fallback_models]
        return PromptConfig(
            definition=definition,
            side=side,
            models=list(dict.fromkeys(models)),
            options=prompt.options.over(definition.options),
            system=system,
            sections=sections,
            scoped=scoped,
            tools=shown,
            specs=specs,
            overhead=len(system) + sum(map(spec_characters, specs)),
            known=known,
            snapshot=snapshot,
            is_dual=definition.is_dual,
            is_plain=_is_plain(definition, side_name),
            asks_first=bool(definition.tool_approvals),
            terminal=_named(side.session_stop, side.session_fail),
            bound=_named(side.session_stop, side.session_fail, side.session_status),
            artifacts=artifacts,
            arguments=prompt.placeholders & prompt.properties,
            immediate=_immediate(prompt),
            hooks=hooks_of(catalog, definition, prompt),
            variables=variables,
            gates=written.side(side_name).prompt.gates,
        )


def sections_of(
    base: Section,
    *,
    tools: Mapping[str, Tool],
    skills: SkillOffer,
    artifacts: frozenset[str],
    peers: Sequence[Definition],
) -> list[Section]:
    """The system prompt in its order; sections about what the agent cannot use are left out."""
    sections = [
        base,
        tools_section(tools.values()),
        skills_section(skills.entries),
        items_section(artifacts),
        message_context_section(artifacts),
        panels_section(artifacts, has_panel_tools=PANEL_TOOL in tools),
        agents_section(peers),
    ]
    return [section for section in sections if section.text]


def rendered(definition: Definition, prompt: Prompt, values: Mapping[str, str]) -> str:
    return prompt.render({**prompt.env, **definition.env, **values})


def spec_of(tool: Tool) -> ToolSpec:
    return ToolSpec(
        name=tool.name, description=neutral(tool.description), parameters=dict(tool.parameters)
    )


def spec_characters(spec: ToolSpec) -> int:
    return len(spec.name) + len(spec.description) + json_characters(spec.parameters)


def _scoped(
    definition: Definition, prompt: Prompt, known: Mapping[str, Tool], brought: Mapping[str, Tool]
) -> dict[str, Tool]:
    """What the scope allows, by name: sources come and go in any order, and caches want one."""
    allowed = [
        tool
        for tool in effective(definition.tool_scope, known.values())
        if tool.name in brought or prompt.lists(tool.name)
    ]
    return {tool.name: tool for tool in sorted(allowed, key=lambda tool: tool.name)}


def _is_plain(definition: Definition, side: SideName) -> bool:
    return definition.side(side).is_plain and not definition.is_dual


def _immediate(prompt: Prompt) -> tuple[SubagentConfig, ...]:
    return tuple(
        entry
        for entry in prompt.tools or ()
        if isinstance(entry, SubagentConfig) and entry.immediate is not None
    )


def hooks_of(catalog: Catalog, definition: Definition, prompt: Prompt) -> HookSet | None:
    """The hooks of a side; a prompt's own take the place of the definition's."""
    known = catalog.hooks()
    found: dict[HookKind, list[Hook]] = {}
    for name in prompt.hooks or definition.hooks:
        hook = known.get(name)
        if hook is not None:
            found.setdefault(hook.kind, []).append(hook)
    return found or None


def _varying(definition: Definition, prompt: Prompt) -> Sequence[Variable]:
    return [
        one
        for one in declared_by(definition, prompt)
        if one.is_required or (one.type == "text" and one.name in prompt.placeholders)
    ]


def _named(*bindings: SessionToolBinding | None) -> frozenset[str]:
    return frozenset(binding.name for binding in bindings if binding is not None)
