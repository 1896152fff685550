"""Checks the content of a package: credentials, local paths and imports."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import cast

from retinue.errors import UsageError
from retinue.packaging.package_graph import PackageGraph
from retinue.packaging.project_files import Project

_CREDENTIAL = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36,}"
    rb"|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bAIza[0-9A-Za-z_-]{35}\b"
)
_SECRET_NAME = re.compile(r"(?i)secret|token|passw|api_?key|credential|private_?key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """The distributions that code imports, and modules of unknown origin."""

    distributions: tuple[str, ...]
    unknown: tuple[str, ...]


def refuse_credentials(files: Mapping[str, bytes]) -> None:
    """Raise `UsageError` if a file contains what looks like a credential."""
    for file, data in files.items():
        found = _CREDENTIAL.search(data)
        if found is not None:
            line = data.count(b"\n", 0, found.start()) + 1
            raise UsageError(
                f"{file}:{line} contains what looks like a key; declare a variable for it instead"
            )


def warnings(project: Project, graph: PackageGraph, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield warnings about content that may not be meant for sharing."""
    tables = [("agents", one.name, one.env) for one in graph.definitions.values()]
    tables += [("prompts", one.name, one.env) for one in graph.prompts.values()]
    for folder, name, env in tables:
        for key in sorted(env):
            if _SECRET_NAME.search(key):
                yield f"{folder}: env of {name!r} sets {key}, and the value is packed"
    operations = [project.tools[name] for name in graph.operations]
    for file in sorted({tool.file for tool in operations}):
        names = sorted(tool.name for tool in operations if tool.file == file)
        yield f"{file}: plugins are not packed, so the package lacks {', '.join(names)}"
    places = {str(project.directory.resolve()), str(Path.home())} - {"/"}
    for file, data in files.items():
        if any(place.encode() in data for place in places):
            yield f"{file}: contains a path of this machine"


def imports(files: Mapping[str, bytes]) -> Imports:
    """Find the external imports of the Python files."""
    modules: set[str] = set()
    for file, data in files.items():
        if file.endswith(".py"):
            modules.update(_imported(data))
    modules -= {"retinue", *sys.stdlib_module_names}
    known: Mapping[str, list[str]] = packages_distributions() if modules else {}
    return Imports(
        distributions=tuple(sorted({known[module][0] for module in modules if module in known})),
        unknown=tuple(sorted(module for module in modules if module not in known)),
    )


def _imported(code: bytes) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield cast("str", node.module).partition(".")[0]
