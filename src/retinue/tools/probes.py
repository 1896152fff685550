"""Reads what a watch observes: a file, a command's output, a page or due items of a list."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from retinue.agents.permission import NETWORK
from retinue.agents.watch import Watch
from retinue.errors import NotFoundError, RefusedError, UsageError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.settings.tables import ToolsSettings
from retinue.text import clean_text
from retinue.tools.guarded_http import GuardedClient
from retinue.tools.html_text import html_text
from retinue.tools.port import FileTrees
from retinue.tools.sandbox import Bind, Sandbox, SandboxLimits
from retinue.tools.threads import in_thread

_COMMAND_SECONDS = 60.0
_LARGEST_FILE = 5_000_000


class DueItems(Protocol):
    """Lists with items that can be due."""

    async def due(self, owner: OwnerId, name: str) -> str:
        """Return the open items of a list, one per line, marking due ones; or `NotFoundError`."""
        ...


class Grants(Protocol):
    """Looks up the grants of an agent."""

    async def __call__(self, owner: OwnerId, agent_id: AgentId) -> Sequence[str]: ...


class WatchProbe:
    """Implements the scheduler's `Probe`.

    The owner can watch the project, except its data directory; commands see it, read-only, as
    /project. An agent can watch its own files, and the network if it has the grant.
    """

    def __init__(
        self,
        *,
        project_dir: Path,
        data_dir: Path,
        trees: FileTrees,
        grants: Grants,
        settings: ToolsSettings,
        lists: DueItems,
    ) -> None:
        self._project = project_dir
        self._data = data_dir
        self._trees = trees
        self._grants = grants
        self._settings = settings
        self._lists = lists
        self._sandbox = Sandbox(SandboxLimits(seconds=_COMMAND_SECONDS))

    async def look(self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None) -> str:
        is_of_project = agent_id is None and (watch.file or watch.command)
        if is_of_project and owner != LOCAL_OWNER:
            raise RefusedError("only the operator can watch files of the project")
        if watch.file is not None:
            text = await self._file(watch.file, agent_id)
        elif watch.command is not None:
            text = await self._output(watch.command, owner, agent_id)
        elif watch.url is not None:
            text = await self._page(watch.url, owner, agent_id)
        elif watch.list is not None:
            text = await self._lists.due(owner, watch.list)
        else:
            raise UsageError("a watch needs one of: file, command, url, list")
        return clean_text(text)

    async def _file(self, name: str, agent_id: AgentId | None) -> str:
        if agent_id is not None:
            data = await self._trees.tree(agent_id).read(name)
        else:
            data = await in_thread(self._reading(name), name="watch a file")
        return data.decode("utf-8", "replace")

    def _reading(self, name: str) -> Callable[[], bytes]:
        def read() -> bytes:
            project = self._project.resolve()
            path = (project / name).resolve()
            if not path.is_relative_to(project) or path.is_relative_to(self._data.resolve()):
                raise UsageError(f"{name!r} is not a file of the project")
            if not path.is_file():
                raise NotFoundError(f"the project has no file {name!r}")
            if path.stat().st_size > _LARGEST_FILE:
                raise UsageError(f"{name!r} is larger than {_LARGEST_FILE} bytes")
            try:
                return path.read_bytes()
            except OSError as error:
                raise UsageError(f"cannot read {name!r}: {error.strerror}") from error

        return read

    async def _output(self, command: str, owner: OwnerId, agent_id: AgentId | None) -> str:
        if not self._settings.shell.enabled:
            raise RefusedError("commands are disabled in the settings")
        if agent_id is not None:
            folder = Path(str(self._trees.tree(agent_id).real_path("/")))
            has_network = NETWORK in await self._grants(owner, agent_id)
            ran = await self._sandbox.run(command, folder, has_network=has_network)
        else:
            folder = self._data / "watching"
            await asyncio.to_thread(folder.mkdir, mode=0o700, exist_ok=True)
            ran = await self._sandbox.run(
                command,
                folder,
                has_network=False,
                binds=[Bind(source=self._project, place="/project")],
                hidden=[f"/project/{self._data.name}"],
            )
        if ran.stopped is not None:
            raise UsageError(f"the command was stopped: {ran.stopped}")
        if ran.exit_code != 0:
            end = ran.output.strip()[-300:]
            raise UsageError(f"the command ended with exit code {ran.exit_code}: {end}")
        return ran.output

    async def _page(self, url: str, owner: OwnerId, agent_id: AgentId | None) -> str:
        fetching = self._settings.web_fetch
        if not fetching.enabled:
            raise RefusedError("fetching pages is disabled in the settings")
        if agent_id is not None and NETWORK not in await self._grants(owner, agent_id):
            raise RefusedError(f"watching a page needs the grant {NETWORK}")
        client = GuardedClient(
            allowed_hosts=fetching.allowed_hosts,
            max_bytes=fetching.max_bytes,
            timeout_seconds=fetching.time_limit_seconds,
            headers={"User-Agent": "Retinue (watch)"},
        )
        fetched = await client.fetch(url)
        if fetched.status >= 400:
            raise NotFoundError(f"{url} returned status {fetched.status}")
        text = fetched.body.decode("utf-8", "replace")
        if "html" in fetched.headers.get("content-type", ""):
            return await in_thread(lambda: html_text(text, fetched.url), name="read HTML")
        return text
