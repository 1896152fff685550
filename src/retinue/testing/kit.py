"""A real engine and store in a folder, with scripted models and tools, for tests."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

from retinue.agents.file_listing import FileStream, TreeEntry
from retinue.agents.inbox import ItemBody, Sender
from retinue.agents.watch import Watch
from retinue.clock import Clock, SystemClock
from retinue.engine.engine import Engine
from retinue.engine.feed.outbox import Deliver
from retinue.engine.feed.outcomes import Outcome
from retinue.engine.prompting.prompt_sources import NoSkills, Skills
from retinue.engine.scheduling.watch_checks import Probe
from retinue.engine.variables.values import Environment
from retinue.engine.wiring import World
from retinue.errors import FencedError, NotFoundError, UnknownModelError
from retinue.ids import LOCAL_OWNER, AgentId, ItemId, OwnerId, new_item_id
from retinue.models.port import Model
from retinue.problems import LoadProblem
from retinue.project.reader import ProjectOptions, ProjectReader
from retinue.project.watcher import ProjectWatcher
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    FileReference,
    HandoffRecord,
    NoteRecord,
    ResetRecord,
    RunRecord,
    StartRecord,
    SummaryRecord,
    SystemRecord,
    ToolRecord,
    UnknownRecord,
    UserRecord,
)
from retinue.settings import load_settings
from retinue.settings.encryption import KEY_FILE, KeySeal
from retinue.stores.port import Agent, Commit, Committed, NewItem, Post, Receipt, Store
from retinue.stores.schedule_port import ScheduleStore
from retinue.stores.sqlite.store import SqliteStore
from retinue.times import interval_of
from retinue.tools.function_tool import FunctionTool
from retinue.tools.port import Tool

HELPER = 'name = "helper"\ndisplayName = "Helper"\ndescription = "Helps."\n'
PATIENCE_SECONDS = 30.0
"""A generous timeout for slow machines; a passing test never waits this long."""


class NamedModels:
    """Models by name; any other name is unknown."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = dict(models)

    async def get(self, name: str) -> Model:
        if name not in self._models:
            raise UnknownModelError(f"there is no model {name!r}")
        return self._models[name]

    def names(self) -> Sequence[str]:
        return list(self._models)


class NamedTools:
    """Tools by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()


_MODIFIED = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryFiles:
    """An agent's files in memory."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    async def read(self, path: str) -> bytes:
        if path not in self._data:
            raise NotFoundError(f"there is no file {path!r}")
        return self._data[path]

    async def write(self, path: str, data: bytes) -> FileReference:
        self._data[path] = data
        return await self.stat(path)

    async def append(self, path: str, data: bytes) -> FileReference:
        return await self.write(path, self._data.get(path, b"") + data)

    async def delete(self, path: str) -> None:
        self._data.pop(path, None)

    async def list(self, path: str = "/", *, recursive: bool = False) -> Sequence[FileReference]:
        del recursive
        return [await self.stat(name) for name in self._data if name.startswith(path)]

    async def entries(self, path: str = "/", *, recursive: bool = False) -> Sequence[TreeEntry]:
        found = await self.list(path, recursive=recursive)
        return [TreeEntry(path=file.path, modified=_MODIFIED, file=file) for file in found]

    async def stream(self, path: str) -> FileStream:
        data = await self.read(path)

        async def pieces() -> AsyncIterator[bytes]:
            yield data

        return FileStream(size=len(data), pieces=pieces())

    async def stat(self, path: str) -> FileReference:
        if path not in self._data:
            raise NotFoundError(f"there is no file {path!r}")
        name = PurePosixPath(path).name
        kind = "image/png" if name.endswith(".png") else "text/plain"
        size = len(self._data[path])
        return FileReference(id=name, name=name, mime_type=kind, size=size, path=path)

    def real_path(self, path: str) -> PurePosixPath:
        return PurePosixPath(path)


class MemoryTrees:
    """The files of all agents in memory."""

    def __init__(self) -> None:
        self._trees: dict[AgentId, MemoryFiles] = {}

    def tree(self, agent_id: AgentId) -> MemoryFiles:
        return self._trees.setdefault(agent_id, MemoryFiles())


class SeenThings:
    """The content that watches see, by description; checks of anything else fail."""

    def __init__(self, **seen: str) -> None:
        self.seen = dict(seen)
        self.looks = 0

    async def look(self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None) -> str:
        del owner, agent_id
        self.looks += 1
        if watch.words not in self.seen:
            raise NotFoundError(f"there is no {watch.words}")
        return self.seen[watch.words]


@dataclass(kw_only=True)
class Stage:
    """The configuration of an engine; `main` is the default model."""

    directory: Path
    models: Mapping[str, Model]
    tools: Sequence[Tool | FunctionTool[..., Any]] = ()
    definitions: Mapping[str, str] = field(default_factory=lambda: {"helper.toml": HELPER})
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Mapping[str, object] = field(default_factory=dict[str, object])
    context_limit: int = 200_000
    connectors: Mapping[str, Deliver] = field(default_factory=dict[str, Deliver])
    clock: Clock = field(default_factory=SystemClock)
    random: Random = field(default_factory=lambda: Random(1))
    trees: MemoryTrees = field(default_factory=MemoryTrees)
    collaborates: bool = False
    """whether agents have the collaboration tools"""
    skills: Skills = field(default_factory=NoSkills)
    """the skills that prompts list"""
    probe: Probe = field(default_factory=SeenThings)
    """the content that watches see"""
    wrap: Callable[[SqliteStore], Store] | None = None
    """wraps the store"""

    def write_definitions(self) -> None:
        folder = self.directory / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.definitions.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, text in self.prompts.items():
            (self.directory / "prompts").mkdir(exist_ok=True)
            (self.directory / "prompts" / name).write_text(text, encoding="utf-8")

    def world(self, store: Store, schedules: ScheduleStore) -> World:
        env = {f"RETINUE_LIMITS__{name.upper()}": str(value) for name, value in self.limits.items()}
        env |= {
            "RETINUE_MODEL": "main",
            "RETINUE_AGENTS__EMERGENCY_CONTEXT_LIMIT": str(self.context_limit),
        }
        tools = [tool if isinstance(tool, Tool) else tool.as_tool() for tool in self.tools]
        settings = load_settings(self.directory, env)
        options = ProjectOptions(
            project_dir=self.directory,
            data_dir=settings.data_dir,
            clock=self.clock,
            checks_tools=False,
            heartbeat_every=interval_of(settings.heartbeat.every),
        )
        reader = ProjectReader(options)
        return World(
            store=store,
            schedules=schedules,
            probe=self.probe,
            models=NamedModels(self.models),
            project=ProjectWatcher(reader, clock=self.clock, live=[NamedTools(tools)]),
            settings=settings,
            clock=self.clock,
            trees=self.trees,
            environment=Environment(
                store=store.variables,
                seal=KeySeal(settings.data_dir / KEY_FILE, settings.key),
                instance=settings.env,
            ),
            connectors=self.connectors,
            random=self.random,
            skills=self.skills,
            collaborates=self.collaborates,
        )


class Kit:
    """A running engine with helpers for tests."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.engine: Engine
        self.store: Store

    async def open(self) -> None:
        self.stage.write_definitions()
        real = SqliteStore(self.stage.directory / ".retinue", clock=self.stage.clock)
        await real.open()
        self.store = self.stage.wrap(real) if self.stage.wrap else real
        world = self.stage.world(self.store, real.schedules)
        await world.project.look()
        self.engine = Engine(world)
        await self.engine.start()

    async def close(self) -> None:
        await self.engine.stop(patience_seconds=0)
        await self.store.close()

    async def restart(self) -> None:
        """Shut down cleanly and restart on the same data."""
        await self.engine.stop()
        await self.store.close()
        await self.open()

    async def crash(self) -> None:
        """Abort everything and restart, as after a crash of the process."""
        self.store.commit = _not_any_more
        await self.engine.stop(patience_seconds=0)
        await self.store.close()
        database = sqlite3.connect(self.stage.directory / ".retinue" / "retinue.db")
        with database:
            database.execute("UPDATE meta SET value = '0' WHERE name = 'clean'")
        database.close()
        await self.open()

    async def agent(self, definition: str = "helper", owner: OwnerId = LOCAL_OWNER) -> Agent:
        return await self.engine.create(owner, definition)

    async def post(self, agent: Agent, text: str, **options: Any) -> Receipt:
        return await self.engine.post(agent.owner, agent.id, text, **options)

    async def post_system(self, agent: Agent, text: str, *, silent: bool = False) -> ItemId:
        """Admit a system message, as another agent's tool would."""
        item = NewItem(
            id=new_item_id(),
            kind="system",
            body=ItemBody(text=text, sender=Sender(type="agent", id="peer")),
            admitted_at=self.stage.clock.now(),
            silent=silent,
        )
        receipt = await self.store.admit(Post(to=agent.id, item=item, owner=agent.owner))
        return receipt.item.id

    async def outcome(self, receipt: Receipt | ItemId, owner: OwnerId = LOCAL_OWNER) -> Outcome:
        """Wait until an item is final."""
        item_id = receipt.item.id if isinstance(receipt, Receipt) else receipt
        return await self.engine.outcome(owner, item_id, wait_seconds=PATIENCE_SECONDS)

    async def ask(self, agent: Agent, text: str, **options: Any) -> Outcome:
        return await self.outcome(await self.post(agent, text, **options), agent.owner)

    async def records(self, agent: Agent) -> list[AnyRecord]:
        return list(await self.store.history(agent.owner, agent.id, after=0, limit=100_000))

    async def kinds(self, agent: Agent) -> list[str]:
        """Return the history as short lines."""
        return [told(record) for record in await self.records(agent)]

    async def fresh(self, agent: Agent) -> Agent:
        return await self.store.agent(agent.owner, agent.id)


async def _not_any_more(commit: Commit) -> Committed:
    """Commit nothing, like a killed process."""
    raise FencedError(f"the process that ran {commit.agent_id!r} is dead")


def told(record: AnyRecord) -> str:
    """Format a record as one short line."""
    match record:
        case AssistantRecord():
            words = [f"{p.name}()" if isinstance(p, CallPart) else p.text for p in record.parts]
            return f"assistant {' '.join(words)}"
        case ToolRecord():
            return f"tool {record.name} {record.status} {record.text}".strip()
        case RunRecord():
            return f"run {record.outcome} {record.text}"
        case HandoffRecord():
            return f"handoff {record.source} {record.target} {record.text}".strip()
        case NoteRecord():
            return f"note {record.code}"
        case SummaryRecord():
            return f"summary {record.reason}"
        case UserRecord():
            return f"user {record.text}"
        case SystemRecord():
            return f"system {record.text}"
        case UnknownRecord():
            return record.kind
        case StartRecord():
            return "start"
        case ResetRecord():
            return "reset"
