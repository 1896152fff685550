"""Everything that a project's files and servers offer at one moment; never changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from retinue.definitions.catalog import Catalog
from retinue.definitions.project_skills import Skill
from retinue.plugins.port import Plugin
from retinue.plugins.skill_folders import PluginSkill
from retinue.problems import LoadProblem
from retinue.project.heartbeat_files import HeartbeatTasks
from retinue.tools.port import Tool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class ProjectSnapshot:
    """One state of a project. A turn keeps the one it began with."""

    revision: int = 0
    catalog: Catalog = field(default_factory=Catalog)
    """definitions, prompts and hooks"""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """by name; those of packages as `package/name`"""
    plugins: Mapping[str, Plugin] = field(default_factory=dict[str, Plugin])
    plugin_skills: Mapping[str, PluginSkill] = field(default_factory=dict[str, PluginSkill])
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    heartbeat: HeartbeatTasks = field(default_factory=HeartbeatTasks)
    problems: tuple[LoadProblem, ...] = ()
    """all of them, those of plugins and skills included"""
    plugin_problems: tuple[LoadProblem, ...] = ()
    skill_problems: tuple[LoadProblem, ...] = ()

    def in_force(self, current: "ProjectSnapshot", *, keeping: str) -> "ProjectSnapshot":
        """What a turn that began with this snapshot may use now.

        Texts and code stay as they were. Rights that the current snapshot no longer gives, and
        tools that it no longer has, are gone. Tools of servers are those that are connected now.
        The definition named `keeping` stays even if its file was deleted.
        """
        if current is self:
            return self
        catalog = self.catalog.narrowed(current.catalog, keeping=keeping)
        tools = _tools_in_force(self.tools, current.tools)
        if catalog is self.catalog and tools is self.tools:
            return self
        return replace(self, catalog=catalog, tools=tools)


def is_served(tool: Tool) -> bool:
    """Whether a server outside brings the tool: it comes and goes with its connection."""
    return tool.source.startswith("mcp:")


def _tools_in_force(before: Mapping[str, Tool], current: Mapping[str, Tool]) -> Mapping[str, Tool]:
    kept = {key: tool for key, tool in before.items() if key in current and not is_served(tool)}
    served = {key: tool for key, tool in current.items() if is_served(tool) and key not in kept}
    tools = {**kept, **served}
    is_same = len(tools) == len(before) and all(
        before.get(key) is one for key, one in tools.items()
    )
    return before if is_same else tools
