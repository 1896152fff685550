"""The packages of a project: folders in `packages/`, and those installed as distributions."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from retinue.definitions.kept_sources import (
    NOTHING_KEPT,
    GoodFile,
    KeptSources,
    Stamp,
    stamp_of,
)
from retinue.definitions.manifest import MANIFEST, Manifest, normalized, read_manifest
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem

PACKAGES = "packages"
SCRIPTED = "scripted:"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlace:
    """A folder with the folders of a project in it, and how its files are named to people."""

    directory: Path
    shown: str = ""

    @property
    def manifest_file(self) -> str:
        return f"{self.shown}/{MANIFEST}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that can be loaded."""

    manifest: Manifest
    place: PackagePlace
    is_installed: bool
    """as a distribution, outside the project"""

    @property
    def name(self) -> str:
        return self.manifest.name

    def model(self, name: str) -> str:
        """The project's name for a model; scripts lie in the package."""
        if not name.startswith(SCRIPTED):
            return name
        base = str(self.place.directory) if self.is_installed else self.place.shown
        return f"{SCRIPTED}{base}/{name.removeprefix(SCRIPTED)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    """The packages that there are, and what is wrong with the rest."""

    packages: tuple[Package, ...] = ()
    problems: tuple[LoadProblem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A manifest as it was last read; a good one stays when the next is not."""

    stamp: Stamp | None
    manifest: Manifest | None
    problems: tuple[LoadProblem, ...]


class PackageCatalog:
    """Looks for packages; of two with one name, the first stays."""

    def __init__(
        self,
        project_dir: Path,
        installed: Sequence[PackagePlace] = (),
        *,
        kept: KeptSources = NOTHING_KEPT,
    ) -> None:
        self._project_dir = project_dir
        self._kept = kept
        self._installed = tuple(installed)
        self._read: dict[PackagePlace, _Read] = {}
        self._shelved = Shelved()

    def look(self) -> Shelved:
        """Give what is there now: the same object as long as nothing changed."""
        places = [*_folders(self._project_dir), *self._installed]
        read = {place: self._current(place) for place in places}
        if list(read.items()) != list(self._read.items()):
            self._shelved = self._arranged(read)
            self._read = read
        return self._shelved

    def _current(self, place: PackagePlace) -> _Read:
        stamp = _stamp(place.directory / MANIFEST)
        known = self._read.get(place)
        if known is not None and known.stamp == stamp:
            return known
        last_good = known.manifest if known else self._copied(place)
        return _manifest(place, stamp, last_good)

    def files(self) -> list[str]:
        """Every manifest there is, as people know it."""
        return [place.manifest_file for place, one in self._read.items() if one.stamp is not None]

    def good_files(self) -> list[GoodFile]:
        """The manifests whose present version is in use."""
        return [
            GoodFile(file=place.manifest_file, path=place.directory / MANIFEST, stamp=one.stamp)
            for place, one in self._read.items()
            if one.stamp is not None and not any(problem.is_error for problem in one.problems)
        ]

    def _copied(self, place: PackagePlace) -> Manifest | None:
        """The last good manifest that an earlier process kept."""
        data = self._kept.read(place.manifest_file)
        try:
            return None if data is None else read_manifest(data, place.manifest_file)[0]
        except DefinitionError:
            return None

    def _arranged(self, read: dict[PackagePlace, _Read]) -> Shelved:
        packages: dict[str, Package] = {}
        problems: list[LoadProblem] = []
        for place, one in read.items():
            problems += one.problems
            if one.manifest is None:
                continue
            package = Package(
                manifest=one.manifest, place=place, is_installed=place in self._installed
            )
            first = packages.setdefault(normalized(package.name), package)
            if first is not package:
                message = f"package {package.name!r} is in {first.place.shown} already"
                file = place.manifest_file
                problems.append(LoadProblem(file=file, field="name", message=message))
        return Shelved(packages=tuple(packages.values()), problems=tuple(problems))


def _folders(project_dir: Path) -> Iterator[PackagePlace]:
    try:
        with os.scandir(project_dir / PACKAGES) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if not entry.name.startswith((".", "_")) and entry.is_dir():
            shown = entry.name.encode("utf-8", "replace").decode()
            yield PackagePlace(directory=Path(entry.path), shown=f"{PACKAGES}/{shown}")


def _manifest(place: PackagePlace, stamp: Stamp | None, last_good: Manifest | None) -> _Read:
    file = place.manifest_file
    if stamp is None:
        message = f"there is no {MANIFEST}, so this is no package"
        problem = LoadProblem(file=place.shown, message=message, severity="warning")
        return _Read(stamp=stamp, manifest=None, problems=(problem,))
    try:
        manifest, problems = read_manifest((place.directory / MANIFEST).read_bytes(), file)
    except DefinitionError as error:
        problem = LoadProblem(file=file, field=error.field, line=error.line, message=error.reason)
        manifest, problems = None, (problem,)
    except OSError as error:
        manifest = None
        problems = (LoadProblem(file=file, message=f"cannot be read: {error.strerror}"),)
    if manifest is None and last_good is not None:
        problems = tuple(replace(problem, using_last_good=True) for problem in problems)
    return _Read(stamp=stamp, manifest=manifest or last_good, problems=problems)


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(path.stat())
    except OSError:
        return None
