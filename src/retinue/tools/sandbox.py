"""Commands in a sandbox: bubblewrap, or nothing."""

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
    """What a command may use."""

    seconds: float = 120.0
    output_bytes: int = 200_000
    processes: int = 256
    memory_bytes: int = 4096 * _MEGABYTE  # of address space, for each process
    file_bytes: int = 512 * _MEGABYTE  # for each file
    temporary_bytes: int = 256 * _MEGABYTE  # of /tmp and of /dev/shm, which are memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A file or folder of this machine that a command sees beside its own folder."""

    source: Path
    place: str  # in the sandbox
    is_writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxExtras:
    """What one command gets beside what all of them get."""

    binds: Sequence[Bind] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """of its environment; no other user of this machine sees them"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command did."""

    output: str  # both streams, as they came; head and tail when there was too much
    exit_code: int | None  # None: it was killed
    stopped: str | None = None  # why it was killed
    left_out: int = 0  # bytes of output


class _Stage:
    """How a server that runs as root starts a command: as nobody, in a folder that is nobody's.

    The kernel takes root's processes for root's in every sandbox. It counts none of them against a
    limit, lets them change the modes of the host's devices and write to /proc/sys, where
    `core_pattern` is a command for the host to run. Nobody cannot enter the data directory, so the
    folder is bound to another place first, in a namespace that nobody else sees.
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
        """Make something empty to mount a source over."""
        assert self._place is not None  # it was made first
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
        """Make nobody the owner of all that is in the folder; what the server wrote was root's."""
        if not self.is_needed:
            return
        os.chown(self._source, _NOBODY, _NOBODY)
        for _, folders, files, handle in os.fwalk(self._source):
            for name in (*folders, *files):
                with contextlib.suppress(FileNotFoundError):
                    os.chown(name, _NOBODY, _NOBODY, dir_fd=handle, follow_symlinks=False)

    @contextlib.contextmanager
    def pipe(self) -> Generator[tuple[BinaryIO, BinaryIO]]:
        """Make the pipe for what is printed, which the command can open again as /dev/stdout."""
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
    """Runs commands that see a folder as /work, the system's programs, and nothing else."""

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
        """Raises `RefusedError` where there is no sandbox: there is no way without one.

        Folders of the binds that are `hidden`, by their place in the sandbox, are empty there.
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
                    env={**(variables or {}), "PATH": _PATH},  # the whole of it, inside too
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
        """Say why there is no sandbox on this machine, if so."""
        for program, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
            if shutil.which(program) is None:
                return f"{program} is not installed (Debian's package {package})"
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
        hint = "; perhaps it works when the server does not run as root" if stage.is_needed else ""
        return (
            f"bubblewrap cannot make one, perhaps because user namespaces are off: {reason}{hint}"
        )

    async def _require(self, folder: Path) -> None:
        problem = await self.problem()
        if problem is not None:
            raise RefusedError(f"Commands run only in a sandbox, and there is none: {problem}.")
        if not await asyncio.to_thread(folder.is_dir):
            raise RefusedError("Commands run in the agent's file tree, and there is none.")

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
            # Inside, where the limit on processes counts those of the sandbox and no others.
            *("prlimit", f"--nproc={limits.processes}", f"--as={limits.memory_bytes}"),
            *(f"--fsize={limits.file_bytes}", f"--cpu={round(limits.seconds) + 1}", "--core=0"),
            "--",
        ]

    async def _watch(
        self, process: asyncio.subprocess.Process, pipe: BinaryIO, output: "_Output"
    ) -> str | None:
        """Read until the command ends; say why it had to be stopped, if it had."""
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
    """End bubblewrap, and with it, by `--die-with-parent`, everything in the sandbox."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _more_binds(binds: Sequence[Bind], hidden: Sequence[str]) -> Iterator[str]:
    for bind in binds:
        yield from ("--bind" if bind.is_writable else "--ro-bind", str(bind.source), bind.place)
    for place in hidden:
        yield from ("--tmpfs", place)


def _clear_old_stages(new: Path) -> None:
    """Remove what commands of killed servers left; no command goes on for so long."""
    long_ago = new.stat().st_mtime - _OLD_SECONDS
    for place in Path(tempfile.gettempdir()).glob(f"{_STAGE}*"):
        with contextlib.suppress(OSError):
            found = place.lstat()
            if found.st_uid == os.geteuid() and found.st_mtime < long_ago:
                _clear(place)


def _clear(place: Path) -> None:
    """Remove a stage. Not as a tree: should a folder be mounted there after all, it must stay."""
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
    """The beginning and the end of what was printed, in bounded memory."""

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
        return f"{head}\n\n[{self.left_out} bytes of output were left out here]\n\n{tail}"
