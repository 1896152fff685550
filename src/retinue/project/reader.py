"""Reads all files of a project in one pass; what did not change is not read again."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.definitions.catalog_reader import CatalogReader, KnownTools
from retinue.definitions.kept_sources import NOTHING_KEPT, GoodFile, KeptSources
from retinue.definitions.packages import SCRIPTED, PackageCatalog, PackagePlace
from retinue.definitions.project_skills import ProjectSkills, Skill
from retinue.definitions.reference_targets import ModelChecks
from retinue.plugins.operation_tools import plugin_tools
from retinue.plugins.plugin_registry import combined_plugins
from retinue.plugins.port import Plugin
from retinue.plugins.project_plugins import ProjectPlugins
from retinue.plugins.skill_folders import PluginSkill, SkillFolders
from retinue.problems import LoadProblem
from retinue.project.file_stamps import WatchedFiles
from retinue.project.heartbeat_files import HeartbeatFiles, HeartbeatTasks
from retinue.project.snapshot import is_served
from retinue.tools.combined_tools import combined_tools
from retinue.tools.declared_tools import declared_tools
from retinue.tools.package_tools import PackageTools, is_shared
from retinue.tools.port import Tool
from retinue.tools.project_tools import ProjectTools

_HOURLY = timedelta(hours=1)
_MCP_NAMES = ("mcp_*",)  # a server that is slow or down must not make definitions fail


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOptions:
    """Where a project is, and what is known about it from elsewhere."""

    project_dir: Path
    data_dir: Path
    clock: Clock
    installed: Sequence[PackagePlace] = ()
    """packages that are installed as distributions"""
    builtin: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    plugins: Sequence[Plugin] = ()
    """those that come with Retinue"""
    reading_tool: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """the tool that reads skills, offered as long as the project has any"""
    skill_folders: SkillFolders | None = None
    reserved: Collection[str] = ()
    """names of tools that the engine brings, for every definition"""
    checks_tools: bool = True
    """whether definitions may name only tools that exist"""
    known_models: ModelChecks | None = None
    heartbeat_every: timedelta = _HOURLY
    kept: KeptSources = NOTHING_KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFiles:
    """What the files hold, before the engine's tools and those of servers are added."""

    catalog: Catalog
    plugins: Mapping[str, Plugin]
    plugin_skills: Mapping[str, PluginSkill]
    skills: Mapping[str, Skill]
    heartbeat: HeartbeatTasks
    earlier: Sequence[Mapping[str, Tool]]
    """listings of tools that come before those of servers"""
    later: Sequence[Mapping[str, Tool]]
    plugin_problems: tuple[LoadProblem, ...]
    skill_problems: tuple[LoadProblem, ...]
    tool_problems: tuple[LoadProblem, ...]

    def is_same_as(self, other: "ProjectFiles") -> bool:
        """Whether reading again found nothing new; parts that did not change stay as they are."""
        return (
            self.catalog is other.catalog
            and self.plugins is other.plugins
            and self.plugin_skills is other.plugin_skills
            and self.skills is other.skills
            and self.heartbeat is other.heartbeat
            and all(new is old for new, old in zip(self.later[:2], other.later[:2], strict=True))
            and self.skill_problems == other.skill_problems
        )


class _Source(Protocol):
    """A part of the project that keeps last good versions."""

    def files(self) -> list[str]: ...

    def good_files(self) -> list[GoodFile]: ...


class ProjectReader:
    """Blocking, for one thread at a time; the watcher is the only one that calls it."""

    def __init__(self, options: ProjectOptions) -> None:
        project, kept = options.project_dir, options.kept
        self._options = options
        self._packages = PackageCatalog(project, options.installed, kept=kept)
        self._definitions = CatalogReader(
            project, known_models=options.known_models, packages=self._packages, kept=kept
        )
        self._tools = ProjectTools(project / "tools", kept=kept)
        self._package_tools = PackageTools(kept)
        self._plugins = ProjectPlugins(project / "plugins", kept=kept)
        self._skills = ProjectSkills(project / "skills", options.data_dir, kept=kept)
        self._heartbeat = HeartbeatFiles(project, options.heartbeat_every, kept=kept)
        self._built_in = {plugin.id: plugin for plugin in options.plugins}
        self._own_plugins: Mapping[str, Plugin] | None = None
        self._all_plugins: Mapping[str, Plugin] = {}
        self._plugin_clashes: Sequence[LoadProblem] = ()
        self._plugin_tools: Mapping[str, Tool] = {}

    def watched(self) -> WatchedFiles:
        """The files whose changes matter, by what was read last."""
        options = self._options
        names = self._definitions.named_models()
        scripts = [name.removeprefix(SCRIPTED) for name in names if name.startswith(SCRIPTED)]
        return WatchedFiles(
            projects=[options.project_dir, *(place.directory for place in options.installed)],
            folders=[options.data_dir / "secrets"],
            files=[options.project_dir / script for script in scripts],
        )

    def read(self, served: Sequence[Mapping[str, Tool]] = ()) -> ProjectFiles:
        """Read what changed; `served` are the tools of servers and of the embedding program."""
        self._read_plugins()
        skills = self._skills.look()
        options = self._options
        earlier = [options.builtin, self._plugin_tools]
        if skills:
            earlier.append(options.reading_tool)
        packages = self._packages.look().packages
        later = [self._tools.read(), self._package_tools.read(packages)]
        listed, _ = combined_tools([*earlier, *served, *later])
        catalog = self._definitions.read(self._known(listed))
        declared, declared_problems = declared_tools(catalog.tools())
        return ProjectFiles(
            catalog=catalog,
            plugins=self._all_plugins,
            plugin_skills=self._written_skills(catalog),
            skills=skills,
            heartbeat=self._heartbeat.read(),
            earlier=earlier,
            later=[*later, declared],
            plugin_problems=(*self._plugins.problems(), *self._plugin_clashes),
            skill_problems=(*self._skills.problems(), *self._taken_skills(skills)),
            tool_problems=(
                *self._tools.problems(),
                *self._package_tools.problems(),
                *declared_problems,
            ),
        )

    def keep(self) -> None:
        """Copy the files that loaded, and forget those that are gone."""
        sources: tuple[_Source, ...] = (
            self._definitions,
            self._packages,
            self._tools,
            self._package_tools,
            self._plugins,
            self._skills,
            self._heartbeat,
        )
        for source in sources:
            for good in source.good_files():
                self._options.kept.keep(good)
        self._options.kept.prune({file for source in sources for file in source.files()})

    def _read_plugins(self) -> None:
        own = self._plugins.read()
        if self._own_plugins is own:
            return
        self._own_plugins = own
        self._all_plugins, self._plugin_clashes = combined_plugins([self._built_in, own])
        self._plugin_tools = plugin_tools(self._all_plugins, self._options.clock)
        if self._options.skill_folders is not None:
            self._options.skill_folders.take(self._all_plugins)

    def _known(self, listed: Mapping[str, Tool]) -> KnownTools:
        options = self._options
        if not options.checks_tools:
            return KnownTools()
        names = {key for key, tool in listed.items() if not is_served(tool)}
        shared = {key for key, tool in listed.items() if is_shared(tool)}
        return KnownTools(
            names=frozenset({*names, *options.reserved, *_MCP_NAMES}),
            shared=frozenset({*shared, *options.reserved}),
        )

    def _written_skills(self, catalog: Catalog) -> Mapping[str, PluginSkill]:
        """The skills of plugins; their folders are written once a definition uses them."""
        folders = self._options.skill_folders
        if folders is None:
            return {}
        if any(one.tool_exposure != "tools" for one in catalog.everything()):
            folders.are_written()
        return folders.skills

    def _taken_skills(self, skills: Mapping[str, Skill]) -> list[LoadProblem]:
        folders = self._options.skill_folders
        taken = frozenset(folders.skills if folders is not None else ())
        return [
            LoadProblem(
                file=skill.file,
                field="name",
                message=f"there is a plugin {name!r}, which has a skill; this one is left out",
            )
            for name, skill in skills.items()
            if name in taken
        ]
