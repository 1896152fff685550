"""The variables of everything that a definition may come to call."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import FunctionEntry, Prompt, SubPromptEntry, Variable
from retinue.definitions.scoping import effective
from retinue.definitions.subagent import is_switched_on
from retinue.errors import NotFoundError
from retinue.tools.port import Tool

Value = Callable[[str], str | None]


def scoped_variables(
    definition: Definition, catalog: Catalog, tools: Mapping[str, Tool], value: Value
) -> tuple[Variable, ...]:
    """Every variable of a child's graph that the child has to be given for itself.

    The graph is the definition with its sides' prompts, their tools, and the prompts and agents
    that these call in turn; branches whose `optional` variable is off are left out.
    """
    walk = _Walk(catalog=catalog, tools=tools, value=value)
    found: dict[str, Variable] = {}
    for variable in walk.definition(definition):
        if variable.is_scoped:
            known = found.get(variable.name)
            if known is None or (variable.is_required and not known.is_required):
                found[variable.name] = variable
    return tuple(found.values())


def all_variables(
    definition: Definition, catalog: Catalog, tools: Mapping[str, Tool], value: Value
) -> tuple[Variable, ...]:
    """Every variable that an agent of this definition may come to need, each once."""
    walk = _Walk(catalog=catalog, tools=tools, value=value, follows_agents=False)
    found: dict[str, Variable] = {}
    for variable in walk.definition(definition):
        known = found.get(variable.name)
        if known is None or (variable.is_required and not known.is_required):
            found[variable.name] = variable
    return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    catalog: Catalog
    tools: Mapping[str, Tool]
    value: Value
    follows_agents: bool = True
    seen: set[str] = field(default_factory=set[str])

    def definition(self, definition: Definition) -> Iterator[Variable]:
        if definition.name in self.seen:
            return
        self.seen.add(definition.name)
        yield from definition.variables
        for side in (definition.side_a, definition.side_b):
            if side is not None:
                yield from self._prompt(side.prompt, definition)

    def _prompt(self, prompt: Prompt, definition: Definition) -> Iterator[Variable]:
        place = f"{definition.name}/{prompt.name}"
        if place in self.seen:
            return
        self.seen.add(place)
        yield from prompt.variables
        if prompt.tools is None:
            for tool in effective(definition.tool_scope, self.tools.values()):
                yield from tool.variables
            return
        for entry in prompt.tools:
            if entry.optional and not is_switched_on(self.value(entry.optional)):
                continue
            if isinstance(entry, FunctionEntry):
                tool = self.tools.get(entry.name)
                yield from tool.variables if tool is not None else ()
            elif isinstance(entry, SubPromptEntry):
                yield from self._named_prompt(entry.name, definition)
            elif self.follows_agents:
                yield from self._named_definition(entry.name)

    def _named_prompt(self, name: str, definition: Definition) -> Iterator[Variable]:
        try:
            prompt = self.catalog.prompt(name)
        except NotFoundError:
            return
        yield from self._prompt(prompt, definition)

    def _named_definition(self, name: str) -> Iterator[Variable]:
        try:
            definition = self.catalog.definition(name)
        except NotFoundError:
            return
        yield from self.definition(definition)
