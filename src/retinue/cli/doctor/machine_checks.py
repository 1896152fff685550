"""Checks of the machine: sandbox, web app, disk and file permissions."""

import shutil
import stat
import subprocess
from pathlib import Path

from retinue.cli.doctor.finding import Finding, fail, ok, warn
from retinue.cli.phrases import plural, size
from retinue.settings import Settings

_LITTLE_BYTES = 1_000_000_000
_TOO_LITTLE_BYTES = 50_000_000
_OTHERS = 0o077
_SANDBOX_TRIAL = ("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true")


def sandbox(settings: Settings) -> list[Finding]:
    """Check that shell commands can be sandboxed."""
    if not settings.tools.shell.enabled:
        return [ok("sandbox", "not needed: the shell tool is disabled")]
    if shutil.which("bwrap") is None:
        advice = (
            "install it (Debian: apt-get install bubblewrap), or set [tools.shell] enabled = false"
        )
        return [
            warn("sandbox", "bubblewrap is not installed: the shell tool is unavailable", advice)
        ]
    try:
        trial = subprocess.run(_SANDBOX_TRIAL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [warn("sandbox", f"bubblewrap does not work: {error}")]
    if trial.returncode:
        output = trial.stderr.decode("utf-8", "replace").strip()
        advice = "the kernel may forbid user namespaces; the shell tool is unavailable"
        return [warn("sandbox", f"bubblewrap does not work: {output}", advice)]
    return [ok("sandbox", "bubblewrap works: agents' shell commands are sandboxed")]


def web_app() -> list[Finding]:
    import retinue

    index = Path(retinue.__file__).parent / "server" / "static" / "index.html"
    if index.is_file():
        return [ok("web app", "installed")]
    advice = "run `make web` in the repository; everything else works without it"
    return [warn("web app", "not built: the server has no web pages", advice)]


def disk(data: Path) -> list[Finding]:
    """Check the free space at the data directory."""
    place = next(path for path in (data, *data.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{size(free)} free at {place}"
    if free < _TOO_LITTLE_BYTES:
        return [fail("disk", text, "free some space: messages are refused on a full disk")]
    return [
        warn("disk", text, "free some space soon") if free < _LITTLE_BYTES else ok("disk", text)
    ]


def permissions(data: Path) -> list[Finding]:
    """Check that only the owner can read the data and the keys."""
    if not data.exists():
        return []
    open_ones: list[Path] = []
    for path in (data, *data.glob("*"), *(data / "secrets").glob("*")):
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            open_ones.append(path)
    # Inside a private directory, the mode of a file does not matter.
    if data not in open_ones:
        open_ones = [path for path in open_ones if path.parent.name == "secrets"]
    if not open_ones:
        return [ok("permissions", "only this user can read the data")]
    advice = f"chmod -R go-rwx {data}"
    return [fail("permissions", f"other users can access {plural(len(open_ones), 'path')}", advice)]
