"""What a model is told beside the conversation: the system prompt and the tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retinue.agents.context import neutral
from retinue.agents.tokens import json_characters
from retinue.definitions.catalog import Catalog
from retinue.definitions.declared import Hook, HookKind, HookSet
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt, Variable
from retinue.definitions.scoping import SYSTEM_PREFIX, effective
from retinue.definitions.side import SessionToolBinding, Side
from retinue.definitions.subagent import SideName, SubagentConfig
from retinue.engine.entries import is_on
from retinue.engine.environment import declared_by
from retinue.engine.peers import peers_of
from retinue.engine.stopping import as_text
from retinue.models.port import ToolSpec
from retinue.tools.packages import visible_tools
from retinue.tools.port import Tool

GLOBAL_DEFAULT = "You are a helpful assistant."
MESSAGE_TOOL = "agents_message"
HOW_TO_ASK = (
    "Use agents_message to ask one of them to do something: it works in a session of its own and "
    "knows only what you write. Mode sync gives you its answer as the result. Mode async goes on "
    "at once, and the outcome comes later as a message. Several calls of one response run at the "
    "same time."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a definition calls its model; the same for all agents of one revision of the files."""

    definition: Definition
    side: Side  # whose plan it is
    models: Sequence[str]  # the first that answers is used
    system: str
    tools: Mapping[str, Tool]  # what the scope allows
    specs: Sequence[ToolSpec]
    overhead: int  # characters of all that
    is_dual: bool  # both sides are models
    is_plain: bool  # nothing but an answer in words ends its turn
    asks_first: bool  # its owner is asked about some of its calls
    terminal: frozenset[str]  # tools whose success ends the run
    bound: frozenset[str]  # tools that end the run or tell how it goes
    known: Mapping[str, Tool]  # what a call could name, whether the scope allows it or not
    hooks: HookSet | None = None
    arguments: frozenset[str] = frozenset()
    """what the prompt shows of the arguments that its definition was called with"""
    immediate: tuple[SubagentConfig, ...] = ()
    """subagents that are begun when the prompt becomes active"""
    variables: Sequence[Variable] = ()
    """what differs between agents: values that each must have, or that the prompt shows"""


OwnTools = Callable[[Definition, SideName], Mapping[str, Tool]]
"""Makes the tools that a side's prompt brings along, such as its subagents."""


def no_own_tools(_definition: Definition, _side: SideName) -> Mapping[str, Tool]:
    return {}


def together(*makers: OwnTools) -> OwnTools:
    """Several kinds of own tools as one."""
    return lambda definition, side: {
        name: tool for make in makers for name, tool in make(definition, side).items()
    }


class Planner:
    """Makes plans and keeps each until any definition or the tools change."""

    def __init__(self, catalog: Catalog, default_model: str, own: OwnTools = no_own_tools) -> None:
        self._catalog = catalog
        self._default_model = default_model
        self._own = own
        self._plans: dict[tuple[str, SideName], tuple[int, Mapping[str, Tool], Plan]] = {}

    @property
    def has_hooks(self) -> bool:
        """Whether the project has any; most have none."""
        return bool(self._catalog.hooks())

    def definition(self, name: str) -> Definition:
        return self._catalog.definition(name)

    def is_plain(self, name: str, side: SideName) -> bool:
        """Whether the side is known to end its turn by an answer in words."""
        kept = self._plans.get((name, side))
        return kept is not None and kept[2].is_plain and kept[0] == self._catalog.revision

    def plan(self, name: str, side: SideName, tools: Mapping[str, Tool]) -> Plan:
        revision = self._catalog.revision
        kept = self._plans.get((name, side))
        if kept is not None and kept[0] == revision and kept[1] is tools:
            return kept[2]
        plan = make_plan(self._catalog, name, tools, self._default_model, side, self._own)
        self._plans[name, side] = (revision, tools, plan)
        return plan

    def told(
        self, plan: Plan, arguments: Mapping[str, Any], texts: Mapping[str, str] | None = None
    ) -> Plan:
        """The plan of an agent whose definition was called with these arguments, or whose variables
        have these texts."""
        system = _system(
            self._catalog, plan.definition, plan.side.prompt, plan.tools, arguments, texts
        )
        return replace(plan, system=system, overhead=plan.overhead + len(system) - len(plan.system))


def make_plan(
    catalog: Catalog,
    name: str,
    tools: Mapping[str, Tool],
    default_model: str,
    side_name: SideName = "side_a",
    own: OwnTools = no_own_tools,
) -> Plan:
    definition = catalog.definition(name)
    side = definition.side(side_name)
    prompt = side.prompt
    brought = own(definition, side_name)
    known = {**visible_tools(definition.home, tools), **brought}
    allowed = {
        tool.name: tool
        for tool in effective(definition.tool_scope, known.values())
        if tool.name in brought or prompt.lists(tool.name)
    }
    specs = [
        ToolSpec(name=tool.name, description=neutral(tool.description), parameters=tool.parameters)
        for tool in allowed.values()
    ]
    variables = _varying(definition, prompt)
    system = _system(catalog, definition, prompt, allowed, {}, {one.name: "" for one in variables})
    overhead = len(system) + sum(
        len(spec.name) + len(spec.description) + json_characters(spec.parameters) for spec in specs
    )
    models = [prompt.model or definition.model or default_model]
    models += [*prompt.fallback_models, *definition.fallback_models]
    return Plan(
        definition=definition,
        side=side,
        models=list(dict.fromkeys(models)),
        system=system,
        tools=allowed,
        specs=specs,
        overhead=overhead,
        known=known,
        is_dual=definition.is_dual,
        is_plain=side.is_plain and not definition.is_dual,
        asks_first=bool(definition.tool_approvals),
        terminal=_named(side.session_stop, side.session_fail),
        bound=_named(side.session_stop, side.session_fail, side.session_status),
        arguments=prompt.placeholders & prompt.properties,
        immediate=tuple(
            entry
            for entry in prompt.tools or ()
            if isinstance(entry, SubagentConfig)
            and entry.immediate is not None
            and is_on(entry.optional, definition, prompt)
        ),
        hooks=_hooks(catalog, definition, prompt),
        variables=variables,
    )


def _hooks(catalog: Catalog, definition: Definition, prompt: Prompt) -> HookSet | None:
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


def _system(
    catalog: Catalog,
    definition: Definition,
    prompt: Prompt,
    tools: Mapping[str, Tool],
    arguments: Mapping[str, Any],
    texts: Mapping[str, str] | None = None,
) -> str:
    peers = peers_of(definition, catalog) if MESSAGE_TOOL in tools else ()
    values = {name: as_text(arguments[name]) for name in prompt.properties & arguments.keys()}
    values = {**(texts or {}), **values}
    return system_prompt(definition, prompt, list(tools.values()), peers, values)


def system_prompt(
    definition: Definition,
    prompt: Prompt,
    tools: Sequence[Tool],
    peers: Sequence[Definition] = (),
    arguments: Mapping[str, str] | None = None,
) -> str:
    """Put the sections together: what never changes first, so that prompt caches hold."""
    values = {**prompt.env, **definition.env, **(arguments or {})}
    sections = [
        base_prompt(definition, prompt.render(values)),
        tools_section(tools),
        agents_section(peers),
    ]
    return "\n\n".join(section for section in sections if section)


def base_prompt(definition: Definition, text: str) -> str:
    if text.strip():
        return text.strip()
    if definition.display_name:
        return f"You are {definition.display_name}. {definition.description}".strip()
    return GLOBAL_DEFAULT


def tools_section(tools: Sequence[Tool]) -> str:
    lines = [
        f"- {tool.name}: {neutral(_first_line(tool.description))}"
        for tool in tools
        if not tool.name.startswith(SYSTEM_PREFIX)
    ]
    return "\n".join(["Available tools:", *lines]) if lines else ""


def agents_section(peers: Sequence[Definition]) -> str:
    """Whom the model can ask, and how."""
    if not peers:
        return ""
    lines = [f"- {peer.name}: {neutral(_introduced(peer))}" for peer in peers]
    return "\n".join(["Available agents:", *lines, "", HOW_TO_ASK])


def _introduced(peer: Definition) -> str:
    description = _first_line(peer.description)
    if not description or description == peer.display_name:
        return peer.display_name
    return f"{peer.display_name} - {description}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
