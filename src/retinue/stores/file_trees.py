"""Each agent's own file tree. Paths and links cannot leave it."""

import asyncio
import errno
import hashlib
import mimetypes
import os
import re
import stat
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path, PurePosixPath

from retinue.agents.file_listing import FileStream, TreeEntry
from retinue.clock import Clock, SystemClock
from retinue.errors import NotFoundError, StoreFullError, UsageError
from retinue.ids import AgentId, is_agent_id, new_id
from retinue.records import FileReference

_PIECE = 256 * 1024
LARGEST_FILE = 64 * 1024 * 1024
_LONGEST_PATH = 1024
_LONGEST_NAME = 255
_FORBIDDEN = re.compile(r"[\\\x00-\x1f\x7f\ud800-\udfff]")
_DRAFT = re.compile(r"\.draft[0-9a-f]{32}")
_DRAFT_SECONDS = 3_600  # older drafts belong to a process that crashed
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_Entries = list[TreeEntry]
_Folders = list[tuple[str, ...]]


class LocalFileTrees:
    """The file trees in one data directory."""

    def __init__(
        self, data_dir: Path, *, largest_file: int = LARGEST_FILE, clock: Clock | None = None
    ) -> None:
        self._agents = data_dir / "agents"
        self._largest_file = largest_file
        self._clock = clock or SystemClock()

    def tree(self, agent_id: AgentId) -> "FileTree":
        if not is_agent_id(agent_id):
            raise NotFoundError(f"no agent {agent_id!r}")
        root = self._agents / agent_id / "files"
        return FileTree(root, largest_file=self._largest_file, clock=self._clock)


class FileTree:
    """One agent's files. Paths are resolved part by part, and links are not followed."""

    def __init__(
        self, root: Path, *, largest_file: int = LARGEST_FILE, clock: Clock | None = None
    ) -> None:
        self._root = root
        self._largest_file = largest_file
        self._clock = clock or SystemClock()

    async def read(self, path: str) -> bytes:
        return await asyncio.to_thread(self._read, parts_of(path))

    async def stream(self, path: str) -> FileStream:
        file = await asyncio.to_thread(self._open, parts_of(path))
        size = os.fstat(file.fileno()).st_size
        return FileStream(size=size, pieces=_pieces(file, size))

    async def write(self, path: str, data: bytes) -> FileReference:
        return await asyncio.to_thread(self._write, parts_of(path), data)

    async def append(self, path: str, data: bytes) -> FileReference:
        return await asyncio.to_thread(self._append, parts_of(path), data)

    async def delete(self, path: str) -> None:
        await asyncio.to_thread(self._delete, parts_of(path))

    async def list(self, path: str = "/", *, recursive: bool = False) -> Sequence[FileReference]:
        found = await self.entries(path, recursive=recursive)
        return [entry.file for entry in found if entry.file is not None]

    async def entries(self, path: str = "/", *, recursive: bool = False) -> Sequence[TreeEntry]:
        return await asyncio.to_thread(self._list, parts_of(path, is_folder=True), recursive)

    async def stat(self, path: str) -> FileReference:
        return await asyncio.to_thread(self._stat, parts_of(path))

    def real_path(self, path: str) -> PurePosixPath:
        """The path on this machine; creates the tree's folder if it is missing."""
        parts = parts_of(path, is_folder=True)
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._folder(parts[:-1]) as folder:
            if parts:
                _refuse_link(parts[-1], folder)
        return PurePosixPath(self._root, *parts)

    @contextmanager
    def _folder(self, parts: Sequence[str], *, makes: bool = False) -> Generator[int]:
        """Open a folder of the tree, walking from its root."""
        if makes:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        current = _opened(str(self._root), None, "/")
        try:
            for index, part in enumerate(parts):
                if makes:
                    _make_folder(part, current)
                inner = _opened(part, current, "/" + "/".join(parts[: index + 1]))
                os.close(current)
                current = inner
            yield current
        finally:
            os.close(current)

    @contextmanager
    def _parent(self, parts: Sequence[str]) -> Generator[int]:
        """Open the parent folder of a file; a missing folder means a missing file."""
        try:
            with self._folder(parts[:-1]) as folder, _engine_errors(parts):
                yield folder
        except NotFoundError as error:
            raise NotFoundError(f"no file {_shown(parts)}") from error

    def _open(self, parts: Sequence[str]) -> FileIO:
        with self._parent(parts) as folder:
            descriptor = os.open(
                parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
            )
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UsageError(f"{_shown(parts)} is not a file")
        return FileIO(descriptor)

    def _read(self, parts: Sequence[str]) -> bytes:
        with self._open(parts) as file, _engine_errors(parts):
            size = os.fstat(file.fileno()).st_size
            if size > self._largest_file:
                raise UsageError(
                    f"{_shown(parts)} has {size} bytes; whole files are read up to "
                    f"{self._largest_file} bytes: use another tool, such as head, tail or grep"
                )
            return _read_up_to(file, size)

    def _write(self, parts: Sequence[str], data: bytes) -> FileReference:
        self._check_size(len(data))
        draft = f".{new_id('draft')}"
        with self._folder(parts[:-1], makes=True) as folder, _engine_errors(parts):
            _refuse_link(parts[-1], folder)
            descriptor = os.open(
                draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                os.rename(draft, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(draft, dir_fd=folder)
                raise
            os.fsync(folder)  # a commit may refer to the file, so it must be durable
            return _reference(parts, len(data))

    def _append(self, parts: Sequence[str], data: bytes) -> FileReference:
        try:
            before = self._read(parts)
        except NotFoundError:
            before = b""
        return self._write(parts, before + data)

    def _delete(self, parts: Sequence[str]) -> None:
        with self._parent(parts) as folder:
            if stat.S_ISDIR(os.lstat(parts[-1], dir_fd=folder).st_mode):
                os.rmdir(parts[-1], dir_fd=folder)
            else:
                os.unlink(parts[-1], dir_fd=folder)

    def _stat(self, parts: Sequence[str]) -> FileReference:
        with self._parent(parts) as folder:
            found = os.lstat(parts[-1], dir_fd=folder)
            if not stat.S_ISREG(found.st_mode):
                raise NotFoundError(f"no file {_shown(parts)}")
            return _reference(parts, found.st_size)

    def _list(self, parts: Sequence[str], recursive: bool) -> Sequence[TreeEntry]:
        if not parts and not self._root.exists():
            return []
        found, folders = self._entries(parts)
        while recursive and folders:
            # Each folder is opened from the root, so any depth needs only one open folder.
            with suppress(NotFoundError, UsageError):  # removed meanwhile, or cannot be opened
                entries, inner = self._entries(folders.pop())
                found += entries
                folders += [one for one in inner if len(_shown(one)) <= _LONGEST_PATH]
        return sorted(found, key=lambda entry: entry.path)

    def _entries(self, parts: Sequence[str]) -> tuple[_Entries, _Folders]:
        """List a folder: its entries, and the paths of its subfolders."""
        found: _Entries = []
        folders: _Folders = []
        with self._folder(parts) as folder, _engine_errors(parts), os.scandir(folder) as entries:
            for entry in entries:
                if _FORBIDDEN.search(entry.name):
                    continue  # created by a program; no path accepted here can name it
                here = (*parts, entry.name)
                status = entry.stat(follow_symlinks=False)
                if _DRAFT.fullmatch(entry.name):
                    self._sweep(entry.name, status, folder)
                    continue
                modified = datetime.fromtimestamp(status.st_mtime, UTC)
                if entry.is_file(follow_symlinks=False):
                    file = _reference(here, status.st_size)
                    found.append(TreeEntry(path=file.path, modified=modified, file=file))
                elif entry.is_dir(follow_symlinks=False):
                    found.append(TreeEntry(path=_shown(here), modified=modified))
                    folders.append(here)
        return found, folders

    def _sweep(self, draft: str, status: os.stat_result, folder: int) -> None:
        """Remove the draft of a crashed process; a draft that is being written is kept."""
        if self._clock.now().timestamp() - status.st_mtime > _DRAFT_SECONDS:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)

    def _check_size(self, size: int) -> None:
        if size > self._largest_file:
            raise UsageError(f"the file has {size} bytes; the limit is {self._largest_file}")


def _read_up_to(file: FileIO, size: int) -> bytes:
    """Read at most `size` bytes, even if the file grows meanwhile."""
    data = bytearray()
    while len(data) < size and (piece := file.read(min(_PIECE, size - len(data)))):
        data += piece
    return bytes(data)


async def _pieces(file: FileIO, size: int) -> AsyncIterator[bytes]:
    with file:
        while size > 0 and (piece := await asyncio.to_thread(file.read, min(_PIECE, size))):
            size -= len(piece)
            yield piece


def parts_of(path: str, *, is_folder: bool = False) -> tuple[str, ...]:
    """Split a path of the tree; refuses names that could leave it or garble a listing."""
    if len(path) > _LONGEST_PATH:
        raise UsageError(f"the path is longer than {_LONGEST_PATH} characters")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for part in parts:
        if part == "..":
            raise UsageError(f"{path!r} leaves the agent's files: use a path without '..'")
        if _FORBIDDEN.search(part):
            raise UsageError(f"{path!r} contains a character that is not allowed in file names")
        if len(part.encode("utf-8", "replace")) > _LONGEST_NAME:
            raise UsageError(f"a name in the path is longer than {_LONGEST_NAME} bytes")
    if not parts and not is_folder:
        raise UsageError("the path does not name a file")
    return parts


def _shown(parts: Sequence[str]) -> str:
    return "/" + "/".join(parts)


@contextmanager
def _engine_errors(parts: Sequence[str]) -> Generator[None]:
    """Turn errors of the operating system into errors of the engine."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError(f"no file {_shown(parts)}") from error
    except OSError as error:
        raise _error(error, _shown(parts)) from error


def _error(error: OSError, shown: str) -> Exception:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return UsageError(f"{shown} is a link; links are not followed")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return StoreFullError(f"{shown} cannot be written: {error.strerror}. Free some space.")
    return UsageError(f"{shown}: {error.strerror}")


def _opened(name: str, folder: int | None, shown: str) -> int:
    try:
        return os.open(name, _DIRECTORY, dir_fd=folder)
    except FileNotFoundError as error:
        raise NotFoundError(f"no folder {shown}") from error
    except NotADirectoryError as error:
        raise UsageError(f"{shown} is not a folder, or is a link") from error
    except OSError as error:
        raise _error(error, shown) from error


def _make_folder(name: str, folder: int) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return
    except OSError as error:
        raise _error(error, name) from error


def _refuse_link(name: str, folder: int) -> None:
    try:
        mode = os.lstat(name, dir_fd=folder).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise UsageError(f"{name} is a link; links are not followed")
    if stat.S_ISDIR(mode):
        raise UsageError(f"{name} is a folder")


def _reference(parts: Sequence[str], size: int) -> FileReference:
    path = _shown(parts)
    return FileReference(
        id=hashlib.blake2b(path.encode(), digest_size=8).hexdigest(),
        name=parts[-1],
        mime_type=mimetypes.guess_type(parts[-1])[0] or "application/octet-stream",
        size=size,
        path=path,
    )
