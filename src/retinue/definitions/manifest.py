"""`retinue-package.toml`: the name of a package, the agents it offers, and what it needs."""

import re
from dataclasses import dataclass

from retinue.definitions.file_shapes import Name, Names, Text
from retinue.definitions.formats import read_toml
from retinue.problems import LoadProblem
from retinue.settings.table_reader import Complaint, Shape, check, tidy

MANIFEST = "retinue-package.toml"
FIRST_VERSION = "0.1.0"
MCP_PREFIX = "mcp_"

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_VERSION = re.compile(
    r"(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?"
)


class NeedsShape(Shape):
    """`[needs]`: what a project must provide, by name."""

    models: Names = ()
    tools: Names = ()
    variables: Names = ()
    python: Names = ()


class ManifestShape(Shape):
    """The whole file."""

    name: Name
    version: Name
    author: Text | None = None
    license: Text | None = None
    description: str = ""
    entry_agents: Names
    needs: NeedsShape = NeedsShape()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageNeeds:
    """What a package needs from the project."""

    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    """of MCP servers; built-in tools are always available"""
    variables: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    """distributions that its tools and hooks import"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The description of a package."""

    name: str
    version: str
    author: str | None = None
    license: str | None = None
    description: str = ""
    entry_agents: tuple[str, ...]
    """the only agents that can be reached from outside"""
    needs: PackageNeeds = PackageNeeds()


def name_problem(name: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    return (
        "expected at most 64 letters, digits, '.', '_' and '-', with a letter or digit at both "
        f"ends, got {name!r}"
    )


def version_problem(version: str) -> str | None:
    if _VERSION.fullmatch(version):
        return None
    return f"expected a version such as 1.2.0 or 1.2.0rc1, got {version!r}"


def normalized(name: str) -> str:
    """The form in which installers compare distribution names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_manifest(data: bytes, file: str) -> tuple[Manifest | None, tuple[LoadProblem, ...]]:
    """Read the manifest of a package, or say why there is none. Raises `DefinitionError`."""
    text = data.decode("utf-8", "replace")
    tidied = tidy(ManifestShape, read_toml(text, file))
    checked = check(ManifestShape, tidied.table, tidied.spelling)
    complaints = [*tidied.unknown, *tidied.errors, *checked.errors]
    shape = checked.value
    if shape is not None:
        named = {"name": name_problem(shape.name), "version": version_problem(shape.version)}
        complaints += [
            Complaint(path=field, message=problem) for field, problem in named.items() if problem
        ]
        complaints += [
            Complaint(
                path=f"needs.tools[{at}]",
                message=f"expected a tool of an MCP server (mcp_...), got {name!r}",
            )
            for at, name in enumerate(shape.needs.tools)
            if not name.startswith(MCP_PREFIX)
        ]
        if not shape.entry_agents:
            complaints.append(Complaint(path="entryAgents", message="expected at least one agent"))
    problems = tuple(
        LoadProblem(file=file, field=complaint.path, message=complaint.message)
        for complaint in complaints
    )
    return None if shape is None or problems else _manifest(shape), problems


def _manifest(shape: ManifestShape) -> Manifest:
    return Manifest(
        name=shape.name,
        version=shape.version,
        author=shape.author,
        license=shape.license,
        description=shape.description,
        entry_agents=tuple(dict.fromkeys(shape.entry_agents)),
        needs=PackageNeeds(
            models=shape.needs.models,
            tools=shape.needs.tools,
            variables=shape.needs.variables,
            python=shape.needs.python,
        ),
    )
