"""A context and a file tree for tools under test."""

# ruff: noqa: ASYNC240  (small files of tests)

import mimetypes
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from retinue.errors import NotFoundError, UsageError
from retinue.ids import AgentId, CallId, OwnerId
from retinue.records import FileReference
from retinue.tools.execution import Finished, run_tool
from retinue.tools.function_tool import FunctionTool
from retinue.tools.port import Tool


class FolderFiles:
    """`AgentFiles` over a plain folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def real_path(self, path: str) -> PurePosixPath:
        real = (self.root / path.lstrip("/")).resolve()
        if not real.is_relative_to(self.root):
            raise UsageError(f"{path!r} is outside the tree")
        return PurePosixPath(real)

    async def read(self, path: str) -> bytes:
        return self._existing(path).read_bytes()

    async def write(self, path: str, data: bytes) -> FileReference:
        real = Path(self.real_path(path))
        real.parent.mkdir(parents=True, exist_ok=True)
        real.write_bytes(data)
        return self._reference(real)

    async def append(self, path: str, data: bytes) -> FileReference:
        real = Path(self.real_path(path))
        before = real.read_bytes() if real.exists() else b""
        return await self.write(path, before + data)

    async def delete(self, path: str) -> None:
        self._existing(path).unlink()

    async def list(self, path: str = "/", *, recursive: bool = False) -> Sequence[FileReference]:
        real = Path(self.real_path(path))
        found = real.rglob("*") if recursive else real.glob("*")
        return [self._reference(file) for file in sorted(found) if file.is_file()]

    async def stat(self, path: str) -> FileReference:
        return self._reference(self._existing(path))

    def _existing(self, path: str) -> Path:
        real = Path(self.real_path(path))
        if not real.is_file():
            raise NotFoundError(f"there is no file {path}")
        return real

    def _reference(self, real: Path) -> FileReference:
        return FileReference(
            id=real.name,
            name=real.name,
            mime_type=mimetypes.guess_type(real.name)[0] or "application/octet-stream",
            size=real.stat().st_size,
            path=f"/{real.relative_to(self.root)}",
        )


class Context:
    """A `ToolContext` that keeps what was asked of it."""

    agent_id = AgentId("a" * 24)
    owner = OwnerId("local")
    definition = "helper"
    call_id = CallId("call-1")
    idempotency_key = "key-1"

    def __init__(self, root: Path, *grants: str) -> None:
        self.files = FolderFiles(root)
        self.grants: Sequence[str] = grants
        self.shown: list[str] = []
        self.posted: list[tuple[AgentId, str]] = []

    def env(self, name: str, default: str | None = None) -> str:
        if default is None:
            raise UsageError(f"{name} is not set")
        return default

    def progress(self, text: str) -> None:
        self.shown.append(text)

    def set_status(self, status: str) -> None:
        self.shown.append(status)

    def notify_parent(self, content: str) -> None:
        self.shown.append(content)

    def post(self, agent_id: AgentId, text: str, *, silent: bool = False) -> None:
        self.posted.append((agent_id, text))


async def run(
    tool: Tool | FunctionTool[..., Any],
    ctx: Context,
    *,
    timeout_seconds: float = 10,
    output_limit: int = 30_000,
    **arguments: Any,
) -> Finished:
    """Call a tool as the engine does."""
    made = tool.as_tool() if isinstance(tool, FunctionTool) else tool
    return await run_tool(
        made, ctx, arguments, timeout_seconds=timeout_seconds, output_limit=output_limit
    )
