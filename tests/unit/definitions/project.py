"""A project folder to load definitions from."""

from collections.abc import Callable, Collection
from pathlib import Path

from retinue.definitions.catalog import Catalog
from retinue.definitions.catalog_reader import CatalogReader, KnownTools
from retinue.definitions.definition import Definition
from retinue.definitions.kept_sources import NOTHING_KEPT, KeptSources
from retinue.definitions.reference_targets import ModelChecks
from retinue.problems import LoadProblem

Tools = Collection[str] | Callable[[], Collection[str]] | None


class Project:
    """A project folder with real files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reader = CatalogReader(path)
        self._known_tools: Tools = None

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def delete(self, name: str) -> None:
        (self.path / name).unlink()

    def catalog(
        self,
        known_tools: Tools = None,
        *,
        models: ModelChecks | None = None,
        kept: KeptSources = NOTHING_KEPT,
    ) -> Catalog:
        """Read everything for the first time, as a new process does."""
        self.reader = CatalogReader(self.path, known_models=models, kept=kept)
        self._known_tools = known_tools
        return self.refresh()

    def refresh(self) -> Catalog:
        """Read what changed; the same catalog when nothing did."""
        known = self._known_tools() if callable(self._known_tools) else self._known_tools
        return self.reader.read(KnownTools(names=None if known is None else frozenset(known)))

    def definition(self, name: str, known_tools: Tools = None) -> Definition:
        """Load a definition in a project in which nothing is wrong."""
        catalog = self.catalog(known_tools)
        assert errors(catalog) == []
        return catalog.definition(name)

    def problems(self, known_tools: Tools = None) -> list[str]:
        return [str(problem) for problem in self.catalog(known_tools).errors()]


def errors(catalog: Catalog) -> list[str]:
    return [str(problem) for problem in catalog.errors() if problem.is_error]


def warnings(catalog: Catalog) -> list[LoadProblem]:
    return [problem for problem in catalog.errors() if not problem.is_error]
