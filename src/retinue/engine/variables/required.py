"""The variables of everything that a definition can call."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import FunctionEntry, Prompt, SubPromptEntry, Variable
from retinue.definitions.scoping import effective
from retinue.errors import NotFoundError
from retinue.project.snapshot import ProjectSnapshot
from retinue.tools.package_tools import visible_tools
from retinue.tools.port import Tool

Gates = Callable[[Definition, Prompt], frozenset[str]]
"""The variables that switch on optional entries of a prompt."""


def scoped_variables(
    definition: Definition, snapshot: ProjectSnapshot, gates: Gates
) -> tuple[Variable, ...]:
    """The variables of a child's graph that must be provided for the child itself.

    The graph consists of the definition with the prompts of its sides, their tools and what these
    use, and the prompts and agents that they call. Branches whose `optional` variable is off are
    left out.
    """
    walk = _Walk(catalog=snapshot.catalog, tools=snapshot.tools, gates=gates)
    found: dict[str, Variable] = {}
    for variable in walk.definition(definition):
        if variable.is_scoped:
            known = found.get(variable.name)
            if known is None or (variable.is_required and not known.is_required):
                found[variable.name] = variable
    return tuple(found.values())


def all_variables(
    definition: Definition, snapshot: ProjectSnapshot, gates: Gates
) -> tuple[Variable, ...]:
    """Every variable that an agent of this definition may come to need, each once."""
    walk = _Walk(catalog=snapshot.catalog, tools=snapshot.tools, gates=gates, follows_agents=False)
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
    gates: Gates
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
        tools = visible_tools(definition.home, self.tools)
        if prompt.tools is None:
            for tool in effective(definition.tool_scope, tools.values()):
                yield from tool.variables
            return
        on = self.gates(definition, prompt) if prompt.gates else frozenset[str]()
        for entry in prompt.switched(on).tools or ():
            if isinstance(entry, FunctionEntry):
                yield from self._tool(entry.name, tools)
            elif isinstance(entry, SubPromptEntry):
                yield from self._named_prompt(entry.key, definition)
            elif self.follows_agents:
                yield from self._named_definition(entry.key)

    def _tool(self, name: str, tools: Mapping[str, Tool]) -> Iterator[Variable]:
        """The variables of a tool and of the tools it uses."""
        waiting, seen = [name], set[str]()
        while waiting:
            tool = tools.get(waiting.pop())
            if tool is not None and tool.name not in seen:
                seen.add(tool.name)
                waiting += tool.uses
                yield from tool.variables

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
