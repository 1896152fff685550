"""A project folder to load definitions from."""

from pathlib import Path

from retinue.definitions.catalog import Catalog, KnownTools
from retinue.definitions.definition import Definition
from retinue.problems import LoadProblem
from retinue.testing.fake_clock import FakeClock


class Project:
    """A project folder with real files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = FakeClock()

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def delete(self, name: str) -> None:
        (self.path / name).unlink()

    def catalog(self, known_tools: KnownTools = None) -> Catalog:
        return Catalog(self.path, self.clock, known_tools)

    def refresh(self, catalog: Catalog) -> bool:
        self.clock.advance(1)
        return catalog.refresh()

    def definition(self, name: str, known_tools: KnownTools = None) -> Definition:
        """Load a definition in a project in which nothing is wrong."""
        catalog = self.catalog(known_tools)
        assert errors(catalog) == []
        return catalog.definition(name)

    def problems(self, known_tools: KnownTools = None) -> list[str]:
        return [str(problem) for problem in self.catalog(known_tools).errors()]


def errors(catalog: Catalog) -> list[str]:
    return [str(problem) for problem in catalog.errors() if problem.is_error]


def warnings(catalog: Catalog) -> list[LoadProblem]:
    return [problem for problem in catalog.errors() if not problem.is_error]
