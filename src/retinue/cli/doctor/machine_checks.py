"""The machine: the sandbox, the disk, and who may read the data."""

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
    """See whether shell commands can be locked in."""
    if not settings.tools.shell.enabled:
        return [ok("sandbox", "not needed: the shell tool is switched off")]
    if shutil.which("bwrap") is None:
        advice = (
            "install it (Debian: apt-get install bubblewrap), or set [tools.shell] enabled = false"
        )
        return [warn("sandbox", "bubblewrap is missing: the shell tool is refused", advice)]
    try:
        trial = subprocess.run(_SANDBOX_TRIAL, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [warn("sandbox", f"bubblewrap does not work: {error}")]
    if trial.returncode:
        said = trial.stderr.decode("utf-8", "replace").strip()
        advice = "the kernel may forbid user namespaces here; the shell tool is refused"
        return [warn("sandbox", f"bubblewrap does not work: {said}", advice)]
    return [ok("sandbox", "bubblewrap works: shell commands of agents are locked in")]


def web_app() -> list[Finding]:
    import retinue

    index = Path(retinue.__file__).parent / "server" / "static" / "index.html"
    if index.is_file():
        return [ok("web app", "there; the server shows it")]
    advice = "run `make web` in the repository; all else works without it"
    return [warn("web app", "not built: the server has no pages to show", advice)]


def disk(data: Path) -> list[Finding]:
    """Look for room where the data is, or will be."""
    place = next(path for path in (data, *data.parents) if path.exists())
    free = shutil.disk_usage(place).free
    text = f"{size(free)} free at {place}"
    if free < _TOO_LITTLE_BYTES:
        return [fail("disk", text, "make room: messages are refused when nothing can be stored")]
    return [warn("disk", text, "make room soon") if free < _LITTLE_BYTES else ok("disk", text)]


def permissions(data: Path) -> list[Finding]:
    """Nobody else may read what was said, or the keys."""
    if not data.exists():
        return []
    open_ones: list[Path] = []
    for path in (data, *data.glob("*"), *(data / "secrets").glob("*")):
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            open_ones.append(path)
    # What is inside a closed directory is closed, whatever its own mode says.
    if data not in open_ones:
        open_ones = [path for path in open_ones if path.parent.name == "secrets"]
    if not open_ones:
        return [ok("permissions", "only this user can read the data")]
    advice = f"chmod -R go-rwx {data}"
    return [fail("permissions", f"others can reach {plural(len(open_ones), 'path')}", advice)]
