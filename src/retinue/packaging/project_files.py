"""A project as input for packaging: its entries, and the files that define them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from retinue.definitions.catalog import Catalog
from retinue.definitions.source_files import EntryKind, SourceEntry, SourceFile
from retinue.tools.port import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The catalog, tools and source files of a project."""

    directory: Path
    catalog: Catalog
    tools: Mapping[str, Tool]
    """all tools except those of MCP servers"""
    sources: Mapping[str, SourceFile] = field(init=False)
    entries: Mapping[tuple[EntryKind, str], SourceEntry] = field(init=False)

    def __post_init__(self) -> None:
        sources = self.catalog.sources()
        object.__setattr__(self, "sources", {source.file: source for source in sources})
        object.__setattr__(self, "entries", _by_name(sources))

    def entry(self, kind: EntryKind, name: str) -> SourceEntry:
        return self.entries[kind, name]

    def tools_in(self, file: str) -> list[str]:
        return [name for name, tool in self.tools.items() if tool.file == file]

    def hooks_in(self, file: str) -> list[str]:
        return [name for name, hook in self.catalog.hooks().items() if hook.file == file]

    def templates(self) -> dict[str, SourceEntry | None]:
        return {name: entry for (kind, name), entry in self.entries.items() if kind == "template"}


def _by_name(sources: Iterable[SourceFile]) -> dict[tuple[EntryKind, str], SourceEntry]:
    """Index entries by name; as in the loader, the first of two equal names wins."""
    entries: dict[tuple[EntryKind, str], SourceEntry] = {}
    for entry in (entry for source in sources for entry in source.entries):
        if entry.name is not None and entry.is_sound:
            entries.setdefault((entry.kind, entry.name), entry)
    return entries
