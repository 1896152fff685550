"""The dependencies of a definition: prompts, tools, hooks, agents, templates, models, variables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from retinue.definitions.definition import Definition
from retinue.definitions.manifest import MCP_PREFIX
from retinue.definitions.packages import SCRIPTED
from retinue.definitions.prompt import PLACEHOLDER, FunctionEntry, Prompt, SubPromptEntry
from retinue.definitions.scoping import effective
from retinue.definitions.templates import inherit, parents_of
from retinue.errors import NotFoundError, UsageError
from retinue.packaging.project_files import Project
from retinue.tools.port import Tool

Given = frozenset[str] | None
"""Variables that have a value at the point of use; None for things that are only included."""


@dataclass(slots=True, kw_only=True)
class PackageGraph:
    """Names by kind, and the Python files that are packed whole."""

    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    prompts: dict[str, Prompt] = field(default_factory=dict[str, Prompt])
    templates: set[str] = field(default_factory=set[str])
    hooks: set[str] = field(default_factory=set[str])
    tools: set[str] = field(default_factory=set[str])
    """tools of the project"""
    python_files: set[str] = field(default_factory=set[str])
    server_tools: set[str] = field(default_factory=set[str])
    builtin_tools: set[str] = field(default_factory=set[str])
    operations: set[str] = field(default_factory=set[str])
    """operations of the project's plugins, which are not packed"""
    models: set[str] = field(default_factory=set[str])
    scripts: set[str] = field(default_factory=set[str])
    variables: set[str] = field(default_factory=set[str])
    """variables that get no value from the files that use them"""


def graph_of(project: Project, name: str) -> PackageGraph:
    """Collect the dependencies of a definition. Raises `UsageError` if one cannot be packed."""
    walk = _Walk(project=project, graph=PackageGraph())
    walk.definition(name)
    return walk.graph


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """A traversal; each visit adds a node before it visits its dependencies."""

    project: Project
    graph: PackageGraph
    seen: set[tuple[str, Given]] = field(default_factory=set[tuple[str, Given]])

    def definition(self, name: str) -> None:
        if name in self.graph.definitions:
            return
        definition = self._packable(name)
        self.graph.definitions[name] = definition
        entry = self.project.entry("definition", name)
        self._templates(parents_of(entry))
        table = inherit(entry, self.project.templates()).table
        self._includes(table.get("system_prompt"))
        self._models(definition.model, *definition.fallback_models)
        self._hooks(definition.hooks)
        for _, side in definition.sides():
            given = frozenset({*side.prompt.env, *definition.env})
            self._variables((one.name for one in definition.variables), given)
        for side in ("side_a", "side_b"):
            self._side(definition, table.get(side))
        if table.get("side_a") is None:
            self._scope(definition, definition.side_a.prompt)
        known = {one.name for one in self.project.catalog.definitions()}
        for peer in definition.agent_allowlist or ():
            if peer in known:
                self.definition(peer)

    def _packable(self, name: str) -> Definition:
        try:
            definition = self.project.catalog.public(name)
        except NotFoundError as error:
            raise UsageError(error.message, details=error.details) from error
        if definition.home is not None:
            raise UsageError(f"{name!r} is already part of the package {definition.home.package!r}")
        if not definition.file:
            raise UsageError(f"{name!r} is built in, so there is no file to pack")
        return definition

    def _side(self, definition: Definition, written: object) -> None:
        if not isinstance(written, Mapping):
            return
        prompt = cast("Mapping[str, object]", written).get("prompt")
        if isinstance(prompt, str):
            self._prompt(prompt, definition)
        else:
            self._scope(definition, definition.side_a.prompt)

    def _prompt(self, name: str, caller: Definition | None) -> None:
        """Visit a prompt; one without a tool list has all tools of its caller."""
        prompt = self.project.catalog.prompt(name)
        if prompt.tools is None and caller is not None:
            self._scope(caller, prompt)
        given = None if caller is None else frozenset({*prompt.env, *caller.env})
        if (f"prompt {name}", given) in self.seen:
            return
        self.seen.add((f"prompt {name}", given))
        self.graph.prompts[name] = prompt
        self._includes(self.project.entry("prompt", name).table.get("prompt"))
        self._models(prompt.model, *prompt.fallback_models)
        self._hooks(prompt.hooks)
        self._variables((one.name for one in prompt.variables), given)
        for entry in prompt.tools or ():
            if entry.optional is not None:
                self._variables([entry.optional], given)
            if isinstance(entry, FunctionEntry):
                self._tool(entry.name, None if given is None else given.union(entry.env))
            elif isinstance(entry, SubPromptEntry):
                self._prompt(entry.name, caller)
            else:
                self.definition(entry.name)

    def _includes(self, text: object) -> None:
        if isinstance(text, str):
            for match in PLACEHOLDER.finditer(text):
                if match["include"] and not match["escape"]:
                    self._prompt(match["include"], None)

    def _templates(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.graph.templates:
                self.graph.templates.add(name)
                self._templates(parents_of(self.project.entry("template", name)))

    def _scope(self, definition: Definition, prompt: Prompt) -> None:
        given = frozenset({*prompt.env, *definition.env})
        own = [tool for tool in self.project.tools.values() if _is_own(tool)]
        for tool in effective(definition.tool_scope, own):
            self._tool(tool.name, given)
        for name in definition.tool_allowlist or ():
            if "*" not in name:
                self._tool(name, given)

    def _tool(self, name: str, given: Given) -> None:
        tool = self.project.tools.get(name)
        if name.startswith(MCP_PREFIX) and (tool is None or tool.source.startswith("mcp:")):
            self.graph.server_tools.add(name)
        elif tool is not None and _is_operation(tool):
            self.graph.operations.add(name)
        elif tool is None or tool.source != "project":
            self.graph.builtin_tools.add(name)
        elif (f"tool {name}", given) not in self.seen:
            self.seen.add((f"tool {name}", given))
            self.graph.tools.add(name)
            self._variables((one.name for one in tool.variables), given)
            for other in tool.uses:
                self._tool(other, given)
            self._whole(tool.file)

    def _variables(self, names: Iterable[str], given: Given) -> None:
        if given is not None:
            self.graph.variables.update(set(names) - given)

    def _hooks(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.graph.hooks:
                self.graph.hooks.add(name)
                self._whole(self.project.catalog.hooks()[name].file)

    def _models(self, *names: str | None) -> None:
        for name in filter(None, names):
            if name.startswith(SCRIPTED):
                self.graph.scripts.add(name.removeprefix(SCRIPTED))
            else:
                self.graph.models.add(name)

    def _whole(self, file: str) -> None:
        """Add a whole Python file, since code cannot be split by entry."""
        if file in self.graph.python_files:
            return
        self.graph.python_files.add(file)
        for name in self.project.tools_in(file):
            self._tool(name, None)
        self._hooks(self.project.hooks_in(file))
        source = self.project.sources.get(file)
        for entry in source.entries if source is not None else ():
            if entry.name is not None and entry.kind == "definition":
                self.definition(entry.name)
            elif entry.name is not None and entry.kind == "prompt":
                self._prompt(entry.name, None)


def _is_own(tool: Tool) -> bool:
    """Whether the tool is defined in the project, in tools/ or in a plugin."""
    return tool.source == "project" or _is_operation(tool)


def _is_operation(tool: Tool) -> bool:
    return tool.source.startswith("plugin:") and bool(tool.file)
