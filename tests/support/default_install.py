"""An environment with the default dependencies only, as `uv tool install` of the wheel makes it."""

import json
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

WHEEL_URL = "file:///downloads/retinue-0.1.0-py3-none-any.whl"
_SCRIPT = "#!{python}\nfrom retinue.cli.main import main\nmain()\n"


def make_default_install(folder: Path) -> Path:
    """Make the environment out of links to this one's packages, and give its `retinue`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in default_distributions():
        _link(distribution(name), packages)
    _install_from_wheel(packages)
    (folder / "uv-receipt.toml").touch()
    script = folder / "bin" / "retinue"
    script.write_text(_SCRIPT.format(python=folder / "bin" / "python"))
    script.chmod(0o755)
    return script


def default_distributions() -> set[str]:
    """Every distribution that Retinue needs without extras, by what each one declares."""
    return needed_by(Requirement("retinue"))


def needed_by(requirement: Requirement) -> set[str]:
    """The distributions that a requirement brings here, itself included."""
    found: set[str] = set()
    _collect(requirement, found, set())
    return found


def _collect(requirement: Requirement, found: set[str], seen: set[tuple[str, str]]) -> None:
    name = canonicalize_name(requirement.name)
    for extra in sorted({"", *requirement.extras}):
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        found.add(name)
        for text in distribution(name).requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                _collect(needed, found, seen)


def _link(source: Distribution, packages: Path) -> None:
    names = {file.parts[0] for file in source.files or ()} - {"..", "__pycache__"}
    for name in names:
        link = packages / name
        if not link.exists():
            link.symlink_to(str(source.locate_file(name)))


def _install_from_wheel(packages: Path) -> None:
    """Say that the package came from a wheel; in truth it is this checkout."""
    linked = next(packages.glob("retinue-*.dist-info"))
    original = linked.resolve()
    linked.unlink()
    linked.mkdir()
    for name in ("METADATA", "entry_points.txt"):
        (linked / name).symlink_to(original / name)
    (linked / "direct_url.json").write_text(json.dumps({"url": WHEEL_URL, "archive_info": {}}))
