"""A definition as an indented tree: its sides, their prompts, and the tools those can call."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from retinue.cli.output import one_line
from retinue.definitions.graph_nodes import (
    GraphDefinition,
    GraphEntry,
    GraphHook,
    GraphPrompt,
    GraphSide,
)
from retinue.server.definition_wire import DefinitionGraph

_INDENT = "   "
_DESCRIPTION = 80
_SIDES = {"side_a": "side A", "side_b": "side B"}
_RULES = {
    "stop_tool": "ends its turn with",
    "session_stop": "ends the run with",
    "session_fail": "fails the run with",
    "session_status": "reports its status with",
}


def definition_lines(graph: DefinitionGraph) -> list[str]:
    """Return the tree of the first definition; repeated parts are shown once."""
    tree = _Tree(
        definitions={one.name: one for one in graph.definitions},
        prompts={one.name: one for one in graph.prompts},
    )
    return list(tree.definition(graph.definitions[0].name, ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    definitions: dict[str, GraphDefinition]
    prompts: dict[str, GraphPrompt]
    shown: set[str] = field(default_factory=set[str])

    def definition(self, name: str, indent: str) -> Iterator[str]:
        one = self.definitions.get(name)
        if one is None:
            yield f"{indent}{name}  (not found)"
            return
        if self._is_repeated(f"agent {name}"):
            yield f"{indent}{name}  (see above)"
            return
        turns = f", at most {one.max_session_turns} turns" if one.max_session_turns else ""
        where = f"package {one.package.name}" if one.package is not None else one.file
        yield f"{indent}{one.name}  {one.type}{turns}  {where or 'built in'}"
        if one.description:
            yield f"{indent}{_INDENT}{one_line(one.description, _DESCRIPTION)}"
        for names in one.lists:
            yield f"{indent}{_INDENT}{names.name}: {', '.join(names.patterns) or 'nothing'}"
        yield from _hook_lines(one.hooks, indent + _INDENT)
        for side in one.sides:
            yield from self._side(side, indent + _INDENT)

    def _side(self, side: GraphSide, indent: str) -> Iterator[str]:
        label = f' "{side.label}"' if side.label else ""
        steps = f", at most {side.max_steps} steps a turn" if side.max_steps else ""
        yield f"{indent}{_SIDES[side.name]}{label}{steps}"
        for rule in side.rules:
            yield f"{indent}{_INDENT}{_RULES[rule.name]} {rule.tool}"
        yield from self._prompt(side.prompt, indent + _INDENT)

    def _prompt(self, prompt: GraphPrompt, indent: str) -> Iterator[str]:
        model = f", model {prompt.model}" if prompt.model else ""
        yield f"{indent}prompt {prompt.name}{model}"
        yield from _hook_lines(prompt.hooks, indent + _INDENT)
        if prompt.tools is None:
            yield f"{indent}{_INDENT}all tools that the definition allows"
        for entry in prompt.tools or ():
            yield f"{indent}{_INDENT}{entry.kind} {entry.name}{_terms(entry)}"
            yield from self._target(entry, indent + _INDENT * 2)

    def _target(self, entry: GraphEntry, indent: str) -> Iterator[str]:
        if entry.kind in ("subagent", "handoff"):
            yield from self.definition(entry.target, indent)
        elif entry.kind == "prompt" and entry.target in self.prompts:
            if self._is_repeated(f"prompt {entry.target}"):
                yield f"{indent}prompt {entry.target}  (see above)"
            else:
                yield from self._prompt(self.prompts[entry.target], indent)

    def _is_repeated(self, part: str) -> bool:
        is_repeated = part in self.shown
        self.shown.add(part)
        return is_repeated


def _terms(entry: GraphEntry) -> str:
    terms: list[str] = []
    if entry.kind == "subagent":
        terms.append("blocking" if entry.is_blocking else "non-blocking")
        terms += ["resumable"] if entry.is_resumable else []
        terms += ["immediate"] if entry.is_immediate else []
    if entry.optional is not None:
        terms.append(f"if {entry.optional} is on")
    return f"  ({', '.join(terms)})" if terms else ""


def _hook_lines(hooks: list[GraphHook], indent: str) -> Iterator[str]:
    for hook in hooks:
        yield f"{indent}hook {hook.id}  ({hook.kind})"
