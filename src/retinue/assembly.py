"""The composition root: the only module that names concrete adapters."""

import gc
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from retinue.clock import Clock, SystemClock, machine_zone, zone_of
from retinue.definitions.installed import installed_packages
from retinue.definitions.kept_sources import LAST_GOOD, KeptSources
from retinue.engine.collaboration.collaboration_tools import COLLABORATION_TOOLS
from retinue.engine.engine import Engine
from retinue.engine.feed.outbox import Deliver
from retinue.engine.panels.open_panel import WindowOpener
from retinue.engine.panels.panel_tools import PANEL_TOOLS
from retinue.engine.panels.windows import Windows
from retinue.engine.scheduling.schedule_tools import SCHEDULE_TOOLS
from retinue.engine.skills.sandbox_mounts import SandboxMounts
from retinue.engine.skills.sandbox_tokens import SandboxTokens
from retinue.engine.skills.skill_catalog import READING_TOOL, SkillCatalog
from retinue.engine.skills.skill_tool import reading_tool
from retinue.engine.subagents.parent_tools import CHILD_TOOLS
from retinue.engine.variables.values import Environment
from retinue.engine.wiring import World
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.models.model_registry import ModelRegistry
from retinue.models.port import Model
from retinue.packaging.project_files import Project
from retinue.plugins.artifacts.artifact_plugins import artifact_plugins
from retinue.plugins.artifacts.due_items import DueLists
from retinue.plugins.artifacts.repository import ArtifactRepository
from retinue.plugins.artifacts.show_operation import Opener
from retinue.plugins.plugin_registry import combined_plugins
from retinue.plugins.port import Plugin
from retinue.plugins.project_plugins import ProjectPlugins
from retinue.plugins.skill_folders import SkillFolders
from retinue.problems import LoadProblem
from retinue.project.reader import ProjectOptions, ProjectReader
from retinue.project.watcher import ProjectWatcher
from retinue.settings import Settings, load_settings
from retinue.settings.encryption import KEY_FILE, KeySeal
from retinue.stores.file_trees import LocalFileTrees
from retinue.stores.folders.archive import import_from
from retinue.stores.folders.mirror import Mirror
from retinue.stores.folders.rebuild import Rebuilt, open_or_rebuild
from retinue.stores.sqlite.store import SqliteStore
from retinue.times import interval_of
from retinue.tools.builtin.builtin_tools import builtin_tools
from retinue.tools.combined_tools import combined_tools
from retinue.tools.function_tool import builtin_listing
from retinue.tools.mcp.mcp_tools import McpToolbox
from retinue.tools.port import Toolbox
from retinue.tools.probes import WatchProbe
from retinue.tools.threads import in_thread

if TYPE_CHECKING:
    from retinue.server.skill_door import SkillDoor

_TOKEN_BYTES = 32
_PASS_GRACE_SECONDS = 10
ENGINE_TOOLS = (*COLLABORATION_TOOLS, *SCHEDULE_TOOLS, *PANEL_TOOLS, *CHILD_TOOLS, READING_TOOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What tests, the bench and `verify` put in beside or instead of the real parts."""

    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    tools: Toolbox | None = None
    plugins: Sequence[Plugin] = ()
    connectors: Mapping[str, Deliver] = field(default_factory=dict[str, Deliver])
    clock: Clock = field(default_factory=SystemClock)
    settings: Settings | None = None


@dataclass(slots=True, kw_only=True)
class App:
    """A project that is open: its engine runs until `close`."""

    settings: Settings
    engine: Engine
    store: SqliteStore
    models: ModelRegistry
    mcp: McpToolbox
    trees: LocalFileTrees
    mirror: Mirror
    skills: SandboxMounts
    skill_door: "SkillDoorway"
    token: str
    has_own_token: bool  # set by the operator, so that other machines may be let in
    rebuilt: Rebuilt | None = None  # what came back from the folders, when the database was gone

    async def import_agents(self, path: Path) -> Sequence[AgentId]:
        """Load the agents of an archive for the local owner."""
        return await import_from(path, self.store, self.settings.data_dir, owner=LOCAL_OWNER)

    async def close(self) -> None:
        await self.engine.stop()
        await self.skill_door.close()
        await self.mirror.stop()
        await self.mcp.close()
        await self.models.close()
        await self.store.close()


class SkillDoorway:
    """The door of skills' command lines, built when the first of them needs it."""

    def __init__(self, engine: Engine, passes: SandboxTokens, data_dir: Path) -> None:
        self._engine = engine
        self._data = data_dir
        self._passes = passes
        self._door: SkillDoor | None = None

    async def open(self) -> Path:
        if self._door is None:
            from retinue.server.skill_door import SkillDoor

            self._door = SkillDoor(self._engine.operations, self._passes, self._data)
        return await self._door.open()

    async def close(self) -> None:
        if self._door is not None:
            await self._door.close()


async def open_app(
    project_dir: Path,
    env: Mapping[str, str],
    *,
    extras: Extras | None = None,
    starts: bool = True,
    rebuilds: bool = False,
) -> App:
    """Open a project's store and, unless told otherwise, begin to work.

    What was opened before something failed is closed again.
    """
    extras = extras or Extras()
    settings = extras.settings or load_settings(project_dir, env)
    store = SqliteStore(settings.data_dir, clock=extras.clock)
    rebuilt = await open_or_rebuild(store, is_forced=rebuilds)
    async with AsyncExitStack() as opened:
        opened.push_async_callback(store.close)
        app = await _assembled(settings, store, env, extras, opened)
        app.rebuilt = rebuilt
        if starts:
            app.mcp.start()
            await app.mirror.start()
            await app.engine.start()
        opened.pop_all()
    return app


def tune_process() -> None:
    """Collect garbage less often: histories in memory are many objects, and few are in cycles."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


async def _assembled(
    settings: Settings,
    store: SqliteStore,
    env: Mapping[str, str],
    extras: Extras,
    opened: AsyncExitStack,
) -> App:
    mcp = McpToolbox(settings.mcp, clock=extras.clock, project_dir=settings.project_dir)
    opened.push_async_callback(mcp.close)
    windows = Windows(extras.clock)
    folders = SkillFolders(settings.data_dir / "skills")
    skills = _sandboxes(settings, folders, extras.clock)
    models = ModelRegistry.from_settings(settings, env, clock=extras.clock, extra=extras.models)
    opened.push_async_callback(models.close)
    opener = WindowOpener(windows, store)
    options = replace(
        _options(settings, extras, store, opener, skills),
        skill_folders=folders,
        known_models=models.checks(settings.model),
    )
    live = [one for one in (extras.tools, mcp if settings.mcp else None) if one is not None]
    project = await _watched(options, live, opened)
    mcp.on_change = project.look_soon
    trees = LocalFileTrees(settings.data_dir)
    world = World(
        store=store,
        schedules=store.schedules,
        probe=_probe(settings, store, trees, extras.clock),
        models=models,
        project=project,
        settings=settings,
        clock=extras.clock,
        trees=trees,
        environment=_environment(settings, store),
        skills=SkillCatalog(),
        servers=mcp.servers,
        connectors=extras.connectors,
        windows=windows,
    )
    token, is_own = _token(settings)
    mirror = Mirror(store)
    opened.push_async_callback(mirror.stop)
    engine = Engine(world)
    opened.push_async_callback(engine.stop)
    doorway = SkillDoorway(engine, skills.passes, settings.data_dir)
    skills.open_with(doorway.open)
    opened.push_async_callback(doorway.close)
    return App(
        settings=settings,
        engine=engine,
        store=store,
        models=models,
        mcp=mcp,
        trees=trees,
        mirror=mirror,
        skills=skills,
        skill_door=doorway,
        token=token,
        has_own_token=is_own,
    )


async def _watched(
    options: ProjectOptions, live: Sequence[Toolbox], opened: AsyncExitStack
) -> ProjectWatcher:
    """Read the project's files for the first time."""
    options = replace(
        options,
        installed=await in_thread(installed_packages, name="find packages"),
        reading_tool=reading_tool(),
        kept=KeptSources(options.data_dir / LAST_GOOD),
    )
    project = ProjectWatcher(ProjectReader(options), clock=options.clock, live=live)
    opened.push_async_callback(project.stop)
    await project.look()
    return project


def _sandboxes(settings: Settings, folders: SkillFolders, clock: Clock) -> SandboxMounts:
    limit = settings.tools.shell.time_limit_seconds
    seconds = limit + _PASS_GRACE_SECONDS
    return SandboxMounts(folders.directory, SandboxTokens(clock), seconds=seconds)


def _environment(settings: Settings, store: SqliteStore) -> Environment:
    seal = KeySeal(settings.data_dir / KEY_FILE, settings.key)
    return Environment(store=store.variables, seal=seal, instance=settings.env)


def _probe(
    settings: Settings, store: SqliteStore, trees: LocalFileTrees, clock: Clock
) -> WatchProbe:
    async def grants(owner: OwnerId, agent_id: AgentId) -> Sequence[str]:
        return (await store.agent(owner, agent_id)).state.grants

    return WatchProbe(
        project_dir=settings.project_dir,
        data_dir=settings.data_dir,
        trees=trees,
        grants=grants,
        settings=settings.tools,
        lists=DueLists(ArtifactRepository(store.artifacts, zone_of(machine_zone())), clock),
    )


async def read_project(project_dir: Path, env: Mapping[str, str]) -> Project:
    """Read the files of a project without opening its store or asking a server."""
    settings = load_settings(project_dir, env)
    files = ProjectReader(_options(settings, Extras(), _closed_store(project_dir)))
    read = await in_thread(files.read, name="read project")
    tools, _ = combined_tools([*read.earlier, *read.later])
    return Project(directory=project_dir, catalog=read.catalog, tools=tools)


async def read_plugins(
    project_dir: Path,
) -> tuple[Mapping[str, Plugin], Sequence[LoadProblem]]:
    """Read the plugins of a project without opening its store, and list what does not load."""
    own = ProjectPlugins(project_dir / "plugins")
    found = await in_thread(own.read, name="read plugins")
    store = _closed_store(project_dir)
    built_in = {one.id: one for one in artifact_plugins(store.artifacts, zone_of(machine_zone()))}
    plugins, clashes = combined_plugins([built_in, found])
    return plugins, [*own.problems(), *clashes]


def _closed_store(project_dir: Path) -> SqliteStore:
    """A store for plugins that are looked at and not called."""
    return SqliteStore(project_dir / ".retinue")


def _options(
    settings: Settings,
    extras: Extras,
    store: SqliteStore,
    opener: Opener | None = None,
    skills: SandboxMounts | None = None,
) -> ProjectOptions:
    """How the files of a project are read, without its models and its last good versions."""
    built_in = artifact_plugins(store.artifacts, zone_of(machine_zone()), opener)
    return ProjectOptions(
        project_dir=settings.project_dir,
        data_dir=settings.data_dir,
        clock=extras.clock,
        builtin=builtin_listing(
            builtin_tools(
                clock=extras.clock,
                private=settings.data_dir,
                settings=settings.tools,
                equip=skills.equip if skills is not None else None,
            )
        ),
        plugins=[*built_in, *extras.plugins],
        reserved=ENGINE_TOOLS,
        heartbeat_every=interval_of(settings.heartbeat.every),
    )


def _token(settings: Settings) -> tuple[str, bool]:
    """The operator's token, or the one that the first start made and kept."""
    if settings.server.token is not None:
        return settings.server.token.reveal(), True
    path = settings.data_dir / "token"
    try:
        kept = path.read_text(encoding="ascii").strip()
        if kept:
            return kept, False
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    draft.replace(path)
    return token, False
