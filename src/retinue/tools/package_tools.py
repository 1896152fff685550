"""Tools of packages (`tools/*.py`), available only to definitions of the same package."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retinue.definitions.definition import Home
from retinue.definitions.kept_sources import NOTHING_KEPT, GoodFile, KeptSources
from retinue.definitions.package_names import SEPARATOR, is_private, qualified
from retinue.definitions.packages import Package, PackagePlace
from retinue.problems import LoadProblem
from retinue.tools.port import Tool
from retinue.tools.project_tools import ProjectTools


class PackageTools:
    """Reads the tools of packages; one is listed as `package/name`, which no model can call."""

    def __init__(self, kept: KeptSources = NOTHING_KEPT) -> None:
        self._kept = kept
        self._readers: dict[PackagePlace, ProjectTools] = {}
        self._seen: list[tuple[Package, Mapping[str, Tool]]] = []
        self._tools: Mapping[str, Tool] = {}

    def read(self, packages: Sequence[Package]) -> Mapping[str, Tool]:
        """The tools by key: the same mapping when nothing changed."""
        if not packages and not self._seen:
            return self._tools
        self._readers = {package.place: self._reader(package.place) for package in packages}
        seen = [(one, self._readers[one.place].read()) for one in packages]
        if not _are_same(seen, self._seen):
            self._seen, self._tools = seen, _by_key(seen)
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return [problem for one in self._readers.values() for problem in one.problems()]

    def files(self) -> list[str]:
        return [file for one in self._readers.values() for file in one.files()]

    def good_files(self) -> list[GoodFile]:
        return [file for one in self._readers.values() for file in one.good_files()]

    def _reader(self, place: PackagePlace) -> ProjectTools:
        known = self._readers.get(place)
        return known or ProjectTools(
            place.directory / "tools", shown_in=place.shown, kept=self._kept
        )


def visible_tools(home: Home | None, tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """Return the tools that a definition can use: in a package, not those of the project."""
    if home is None:
        if not any(map(is_private, tools)):
            return tools
        return {key: tool for key, tool in tools.items() if not is_private(key)}
    prefix = qualified(home.package, "")
    shared = {
        key: tool
        for key, tool in tools.items()
        if not is_private(key)
        and (is_shared(tool) or (key in home.tools and tool.source.startswith("mcp:")))
    }
    own = {tool.name: tool for key, tool in tools.items() if key.startswith(prefix)}
    return {**shared, **own}


def source_of(key: str) -> str:
    """Return the `source` of the tool with this key."""
    package, _, _ = key.rpartition(SEPARATOR)
    return f"package:{package}" if package else "project"


def is_shared(tool: Tool) -> bool:
    """Whether a tool is available to every package."""
    return tool.source == "builtin" or (tool.source.startswith("plugin:") and not tool.file)


def _are_same(
    seen: Sequence[tuple[Package, Mapping[str, Tool]]],
    before: Sequence[tuple[Package, Mapping[str, Tool]]],
) -> bool:
    return len(seen) == len(before) and all(
        one == other and tools is old
        for (one, tools), (other, old) in zip(seen, before, strict=True)
    )


def _by_key(seen: Sequence[tuple[Package, Mapping[str, Tool]]]) -> Mapping[str, Tool]:
    return {
        (key := qualified(package.name, name)): replace(tool, source=source_of(key))
        for package, tools in seen
        for name, tool in tools.items()
    }
