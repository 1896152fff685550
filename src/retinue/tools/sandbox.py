"""Runs commands in a bubblewrap sandbox."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from retinue.errors import RefusedError

_NOBODY = 65534
_STAGE = "retinue-sandbox-"
_OLD_SECONDS = 86_400
_MEGABYTE = 1024 * 1024
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SYSTEM_FILES = ("ld.so.cache", "alternatives", "localtime", "mime.types")
_NETWORK_FILES = (
    *("resolv.conf", "hosts", "nsswitch.conf", "services", "ca-certificates"),
    *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs"),  # not their private keys
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """The resource limits of a command."""

    seconds: float = 120.0
    output_bytes: int = 200_000
    processes: int = 256
    memory_bytes: int = 4096 * _MEGABYTE  # of address space, for each process
    file_bytes: int = 512 * _MEGABYTE  # for each file
    temporary_bytes: int = 256 * _MEGABYTE  # of /tmp and of /dev/shm, which are memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A file or folder of this machine that is visible in the sandbox."""

    source: Path
    place: str  # in the sandbox
    is_writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxExtras:
    """Additional binds and variables of one command."""

    binds: Sequence[Bind] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """of its environment; not visible to other users of this machine"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a command."""

    output: str  # both streams in order; head and tail if it is too long
    exit_code: int | None  # None if killed
    stopped: str | None = None  # why it was killed
    left_out: int = 0  # bytes of output


class _Stage:
    """Lets a server that runs as root start commands as the user `nobody`.

    In a sandbox, a process of root keeps root's rights: the kernel applies no process limit, and
    it can change the modes of host devices and write to /proc/sys, where `core_pattern` is a
    command that the host runs. The user `nobody` cannot enter the data directory, so the folder is
    first bind-mounted elsewhere, in a private mount namespace.
    """

    def __init__(self, folder: Path, binds: Sequence[Bind] = ()) -> None:
        self.is_needed = os.geteuid() == 0
        self._source = folder
        self._sources = [folder, *(bind.source for bind in binds)]
        self.folder = folder
        self.binds = binds
        self._place: Path | None = None

    def __enter__(self) -> "_Stage":
        if self.is_needed:
            self._place = Path(tempfile.mkdtemp(prefix=_STAGE))
            self._place.chmod(0o755)
            places = [self._stand_in(number) for number in range(len(self._sources))]
            self.folder = places[0]
            self.binds = [
                replace(bind, source=place)
                for bind, place in zip(self.binds, places[1:], strict=True)
            ]
        return self

    def _stand_in(self, number: int) -> Path:
        """Create an empty file or folder as a mount point."""
        assert self._place is not None
        place = self._place / str(number)
        if self._sources[number].is_file():
            place.touch()
        else:
            place.mkdir()
        return place

    def __exit__(self, *_: object) -> None:
        if self._place is not None:
            _clear(self._place)

    def give_folder(self) -> None:
        """Give the folder's contents to `nobody`; files written by the server belong to root."""
        if not self.is_needed:
            return
        os.chown(self._source, _NOBODY, _NOBODY)
        for _, folders, files, handle in os.fwalk(self._source):
            for name in (*folders, *files):
                with contextlib.suppress(FileNotFoundError):
                    os.chown(name, _NOBODY, _NOBODY, dir_fd=handle, follow_symlinks=False)

    @contextlib.contextmanager
    def pipe(self) -> Generator[tuple[BinaryIO, BinaryIO]]:
        """Create the output pipe, which the command can reopen as /dev/stdout."""
        reading_end, writing_end = os.pipe()
        with os.fdopen(reading_end, "rb", 0) as reader, os.fdopen(writing_end, "wb", 0) as writer:
            if self.is_needed:
                os.fchown(writing_end, _NOBODY, _NOBODY)
            yield reader, writer

    def arguments(self) -> Sequence[str]:
        if not self.is_needed:
            return ()
        script = 'mount --bind -- "$1" "$2" && shift 2 && exec "$@"'
        places = (self.folder, *(bind.source for bind in self.binds))
        mounts = [
            argument
            for source, place in zip(self._sources, places, strict=True)
            for argument in ("sh", "-c", script, "sh", str(source), str(place))
        ]
        return (
            *("unshare", "--mount", "--propagation", "private", "--", *mounts),
            *("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"),
            *("--inh-caps=-all", "--no-new-privs", "--"),
        )


class Sandbox:
    """Runs commands that see a folder as /work, and the system's programs."""

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()
        self._works = False

    async def run(
        self,
        command: str,
        folder: Path,
        *,
        has_network: bool,
        binds: Sequence[Bind] = (),
        hidden: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a command; raises `RefusedError` if there is no sandbox on this machine.

        Paths in `hidden`, as seen in the sandbox, are empty folders.
        """
        await self._require(folder)
        output = _Output(self.limits.output_bytes)
        with _Stage(folder, binds) as stage:
            await asyncio.to_thread(stage.give_folder)
            with stage.pipe() as (reading_end, writing_end):
                process = await asyncio.create_subprocess_exec(
                    *self._arguments(stage, has_network, hidden),
                    *("bash", "-c", command),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=writing_end,
                    stderr=writing_end,
                    env={
                        **(variables or {}),
                        "PATH": _PATH,
                    },  # the complete environment, inside too
                    start_new_session=True,
                )
                writing_end.close()
                try:
                    stopped = await self._watch(process, reading_end, output)
                finally:
                    _kill(process)
                    await process.wait()
        return Ran(
            output=output.text(),
            exit_code=None if stopped else process.returncode,
            stopped=stopped,
            left_out=output.left_out,
        )

    async def problem(self) -> str | None:
        """Return why there is no sandbox on this machine, or None."""
        for program, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
            if shutil.which(program) is None:
                return f"{program} is not installed (Debian package {package})"
        if self._works:
            return None
        with tempfile.TemporaryDirectory() as empty, _Stage(Path(empty)) as stage:
            _clear_old_stages(Path(empty))
            stage.give_folder()
            process = await asyncio.create_subprocess_exec(
                *self._arguments(stage, False),
                *("bash", "-c", "true"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={"PATH": _PATH},
            )
            _, errors = await process.communicate()
        self._works = process.returncode == 0
        if self._works:
            return None
        reason = errors.decode(errors="replace").strip() or f"exit code {process.returncode}"
        hint = "; it may work if the server does not run as root" if stage.is_needed else ""
        return f"bubblewrap fails, maybe because user namespaces are disabled: {reason}{hint}"

    async def _require(self, folder: Path) -> None:
        problem = await self.problem()
        if problem is not None:
            raise RefusedError(f"Commands need a sandbox, which is not available: {problem}.")
        if not await asyncio.to_thread(folder.is_dir):
            raise RefusedError("Commands run in the agent's file tree, which does not exist.")

    def _arguments(
        self,
        stage: _Stage,
        has_network: bool,
        hidden: Sequence[str] = (),
    ) -> list[str]:
        limits = self.limits
        return [
            *stage.arguments(),
            shutil.which("bwrap") or "bwrap",
            *("--unshare-all", "--unshare-user", "--disable-userns"),
            *(["--share-net"] if has_network else []),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
            *("--uid", str(_NOBODY), "--gid", str(_NOBODY), "--hostname", "sandbox"),
            *_system_binds(has_network),
            *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
            *("--size", str(limits.temporary_bytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
            *("--size", str(limits.temporary_bytes), "--tmpfs", "/tmp"),
            *("--bind", str(stage.folder), "/work", *_more_binds(stage.binds, hidden)),
            *("--remount-ro", "/"),
            *("--chdir", "/work"),
            *("--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"),
            *("--setenv", "HOME", "/work", "--setenv", "LANG", "C.UTF-8"),
            "--",
            # Set inside, so that the process limit counts only processes of the sandbox.
            *("prlimit", f"--nproc={limits.processes}", f"--as={limits.memory_bytes}"),
            *(f"--fsize={limits.file_bytes}", f"--cpu={round(limits.seconds) + 1}", "--core=0"),
            "--",
        ]

    async def _watch(
        self, process: asyncio.subprocess.Process, pipe: BinaryIO, output: "_Output"
    ) -> str | None:
        """Read until the command ends; return why it was stopped, or None."""
        loop = asyncio.get_running_loop()
        stream = asyncio.StreamReader()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        reading = asyncio.create_task(_read(stream, output))
        try:
            await asyncio.wait({reading}, timeout=self.limits.seconds)
            if reading.done():
                return None
            return f"it took longer than {self.limits.seconds:g} seconds"
        finally:
            _kill(process)
            await reading
            transport.close()


async def _read(stream: asyncio.StreamReader, output: "_Output") -> None:
    while chunk := await stream.read(65_536):
        output.add(chunk)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill bubblewrap and, by `--die-with-parent`, everything in the sandbox."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _more_binds(binds: Sequence[Bind], hidden: Sequence[str]) -> Iterator[str]:
    for bind in binds:
        yield from ("--bind" if bind.is_writable else "--ro-bind", str(bind.source), bind.place)
    for place in hidden:
        yield from ("--tmpfs", place)


def _clear_old_stages(new: Path) -> None:
    """Remove stages left by killed servers; no command runs that long."""
    long_ago = new.stat().st_mtime - _OLD_SECONDS
    for place in Path(tempfile.gettempdir()).glob(f"{_STAGE}*"):
        with contextlib.suppress(OSError):
            found = place.lstat()
            if found.st_uid == os.geteuid() and found.st_mtime < long_ago:
                _clear(place)


def _clear(place: Path) -> None:
    """Remove a stage, not recursively: a folder that is still mounted must survive."""
    with contextlib.suppress(OSError):
        for stand_in in place.iterdir():
            if stand_in.is_file():
                stand_in.unlink()
            else:
                stand_in.rmdir()
        place.rmdir()


def _system_binds(has_network: bool) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    files: Sequence[str] = (*_SYSTEM_FILES, *(_NETWORK_FILES if has_network else ()))
    for name in files:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


class _Output:
    """The head and tail of the output, in limited memory."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.left_out = 0

    def add(self, chunk: bytes) -> None:
        room = self._head_limit - len(self._head)
        self._head += chunk[:room] if room > 0 else b""
        rest = chunk[max(room, 0) :]
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size - len(self._tail[0]) >= self._tail_limit:
            gone = len(self._tail.popleft())
            self._tail_size -= gone
            self.left_out += gone

    def text(self) -> str:
        head = self._head.decode(errors="replace")
        joined = b"".join(self._tail)
        over = max(0, len(joined) - self._tail_limit)
        self.left_out += over
        tail = joined[over:].decode(errors="replace")
        if not self.left_out:
            return (self._head + joined).decode(errors="replace")
        return f"{head}\n\n[{self.left_out} bytes of output omitted]\n\n{tail}"
