"""The graph of a definition: its sides, their prompts, and everything that these can call."""

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.graph_nodes import (
    EntryKind,
    GraphDefinition,
    GraphEntry,
    GraphHook,
    GraphList,
    GraphNodes,
    GraphPackage,
    GraphPrompt,
    GraphRule,
    GraphSide,
    ListName,
    RuleName,
)
from retinue.definitions.package_names import is_private
from retinue.definitions.prompt import FunctionEntry, HandoffEntry, Prompt, PromptTool
from retinue.definitions.scoping import Patterns
from retinue.definitions.side import SessionToolBinding, Side
from retinue.definitions.subagent_config import SubagentConfig
from retinue.errors import NotFoundError
from retinue.ids import SideName


def graph_of(catalog: Catalog, root: Definition) -> GraphNodes:
    """Follow the references of a definition's prompts; each node is visited once."""
    found = _Found(catalog)
    found.definition(root.name)
    return GraphNodes(
        definitions=list(found.definitions.values()), prompts=list(found.prompts.values())
    )


class _Found:
    """The nodes visited so far."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._met: set[tuple[str, str]] = set()
        self.definitions: dict[str, GraphDefinition] = {}
        self.prompts: dict[str, GraphPrompt] = {}

    def definition(self, name: str) -> None:
        try:
            one = self._catalog.definition(name)
        except NotFoundError:
            return  # its file failed after the referring file was loaded
        if not self._is_new("definition", name):
            return
        self.definitions[name] = GraphDefinition(
            name=one.name,
            display_name=one.display_name,
            description=one.description,
            type=one.kind,
            model=one.model,
            file=one.file,
            is_public=not is_private(one.name),
            package=package_of(one),
            max_session_turns=one.max_session_turns,
            lists=_lists(one),
            hooks=self._hooks(one.hooks),
            sides=[self._side(which, side) for which, side in one.sides()],
            warnings=list(one.warnings),
        )
        for _, side in one.sides():
            self._follow(side.prompt)

    def _follow(self, prompt: Prompt) -> None:
        for entry in prompt.tools or ():
            if isinstance(entry, HandoffEntry | SubagentConfig):
                self.definition(entry.key)
            elif not isinstance(entry, FunctionEntry):
                self._sub_prompt(entry.key)

    def _sub_prompt(self, name: str) -> None:
        try:
            prompt = self._catalog.prompt(name)
        except NotFoundError:
            return
        if self._is_new("prompt", name):
            self.prompts[name] = self._prompt(prompt, name)
            self._follow(prompt)

    def _is_new(self, kind: str, name: str) -> bool:
        is_new = (kind, name) not in self._met
        self._met.add((kind, name))
        return is_new

    def _side(self, name: SideName, side: Side) -> GraphSide:
        bindings: tuple[tuple[RuleName, SessionToolBinding | None], ...] = (
            ("session_stop", side.session_stop),
            ("session_fail", side.session_fail),
            ("session_status", side.session_status),
        )
        rules = [GraphRule(name=rule, tool=bound.name) for rule, bound in bindings if bound]
        if side.stop_tool is not None:
            rules.insert(0, GraphRule(name="stop_tool", tool=side.stop_tool))
        return GraphSide(
            name=name,
            label=side.label or "",
            prompt=self._prompt(side.prompt, side.prompt.name),
            stops_on_response=side.stop_on_response,
            max_steps=side.max_steps,
            rules=rules,
        )

    def _prompt(self, prompt: Prompt, name: str) -> GraphPrompt:
        return GraphPrompt(
            name=name,
            file=prompt.file,
            model=prompt.model,
            tools=None if prompt.tools is None else [_entry(entry) for entry in prompt.tools],
            hooks=self._hooks(prompt.hooks),
        )

    def _hooks(self, ids: tuple[str, ...]) -> list[GraphHook]:
        known = self._catalog.hooks()
        return [GraphHook(id=id, kind=known[id].kind if id in known else "") for id in ids]


def package_of(definition: Definition) -> GraphPackage | None:
    home = definition.home
    return GraphPackage(name=home.package, version=home.version) if home is not None else None


def _entry(entry: PromptTool) -> GraphEntry:
    child = entry if isinstance(entry, SubagentConfig) else None
    return GraphEntry(
        kind=_kind(entry),
        name=entry.name,
        target="" if isinstance(entry, FunctionEntry) else entry.key,
        optional=entry.optional,
        is_blocking=child is not None and child.blocking,
        is_resumable=child is not None and child.resumable is not None,
        is_immediate=child is not None and child.immediate is not None,
    )


def _kind(entry: PromptTool) -> EntryKind:
    match entry:
        case FunctionEntry():
            return "tool"
        case SubagentConfig():
            return "subagent"
        case HandoffEntry():
            return "handoff"
        case _:
            return "prompt"


def _lists(one: Definition) -> list[GraphList]:
    """The lists that are set; an empty allowlist counts, as it allows nothing."""
    given: dict[ListName, Patterns | None] = {
        "toolAllowlist": one.tool_allowlist,
        "toolDenylist": one.tool_denylist or None,
        "toolApprovals": one.tool_approvals or None,
        "capabilityAllowlist": one.capability_allowlist,
        "capabilityDenylist": one.capability_denylist or None,
        "skillAllowlist": one.skill_allowlist,
        "skillDenylist": one.skill_denylist or None,
        "agentAllowlist": one.agent_allowlist,
        "agentDenylist": one.agent_denylist or None,
    }
    return [
        GraphList(name=name, patterns=list(patterns))
        for name, patterns in given.items()
        if patterns is not None
    ]
