"""Finds packages among the installed distributions without importing them."""

import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from retinue.definitions.packages import PackagePlace

GROUP = "retinue.packages"


def installed_packages() -> Sequence[PackagePlace]:
    """Find packages by their entry points, importing as little as possible."""
    if not _is_mentioned():
        return ()
    # This import is slow, and hardly anyone has such packages.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found = {point.module: _place(point.module) for point in entry_points(group=GROUP)}
    return [place for _, place in sorted(found.items()) if place is not None]


def _place(module: str) -> PackagePlace | None:
    """The folder of a module; a dotted name would import its parent packages."""
    spec = None if "." in module else find_spec(module)
    for directory in (spec.submodule_search_locations if spec else None) or ():
        return PackagePlace(directory=Path(directory), shown=module)
    return None


def _is_mentioned() -> bool:
    section = f"[{GROUP}]".encode()
    return any(section in points for points in _entry_points())


def _entry_points() -> Iterator[bytes]:
    for directory in dict.fromkeys(sys.path):
        for pattern in ("*.dist-info", "*.egg-info"):
            for folder in Path(directory or ".").glob(pattern):
                try:
                    yield (folder / "entry_points.txt").read_bytes()
                except OSError:
                    continue
