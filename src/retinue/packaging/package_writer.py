"""Packs a definition and writes the package as a folder or a wheel."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from retinue.definitions.definition import Definition
from retinue.definitions.manifest import (
    FIRST_VERSION,
    MANIFEST,
    Manifest,
    PackageNeeds,
    name_problem,
    version_problem,
)
from retinue.errors import UsageError
from retinue.packaging.package_contents import contents
from retinue.packaging.package_graph import PackageGraph, graph_of
from retinue.packaging.project_files import Project
from retinue.packaging.review import Imports, imports, refuse_credentials, warnings
from retinue.packaging.wheel import wheel_bytes, wheel_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A package in memory."""

    manifest: Manifest
    files: Mapping[str, bytes]
    """by path, including the manifest"""
    builtin_tools: tuple[str, ...]
    """tools that every installation has"""
    warnings: tuple[str, ...]


def pack(project: Project, name: str) -> Packed:
    """Pack a definition with its dependencies. Raises `UsageError`."""
    graph = graph_of(project, name)
    files = contents(project, graph)
    refuse_credentials(files)
    imported = imports(files)
    manifest = _manifest(graph.definitions[name], graph, imported)
    found = [*warnings(project, graph, files)]
    found += [
        f"the code imports {module!r}, which is not in an installed distribution and not packed"
        for module in imported.unknown
    ]
    return Packed(
        manifest=manifest,
        files={MANIFEST: _toml(manifest), **files},
        builtin_tools=tuple(sorted(graph.builtin_tools)),
        warnings=tuple(found),
    )


def write_folder(packed: Packed, out: Path, *, replaces: bool) -> Path:
    """Write the folder `out/<name>/` atomically."""
    target = out / packed.manifest.name
    _refuse_existing(target, replaces=replaces)
    if target.exists() and not (target / MANIFEST).is_file():
        raise UsageError(f"{target} already exists and is not a package, so it is not replaced")
    draft = out / f".{packed.manifest.name}.new"
    shutil.rmtree(draft, ignore_errors=True)
    for file, data in packed.files.items():
        path = draft / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if target.exists():
        shutil.rmtree(target)
    draft.rename(target)
    return target


def write_wheel(packed: Packed, out: Path, *, replaces: bool) -> Path:
    """Write `out/<distribution>-<version>-py3-none-any.whl`."""
    target = out / wheel_name(packed.manifest)
    _refuse_existing(target, replaces=replaces)
    out.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.new")
    draft.write_bytes(wheel_bytes(packed.manifest, packed.files))
    draft.replace(target)
    return target


def _refuse_existing(target: Path, *, replaces: bool) -> None:
    if os.path.lexists(target) and not replaces:
        raise UsageError(f"{target} already exists; use --force to replace it")


def _manifest(definition: Definition, graph: PackageGraph, imported: Imports) -> Manifest:
    packaging = definition.packaging
    name = packaging.package_name or definition.name
    version = packaging.version or FIRST_VERSION
    problems = {"packageName": name_problem(name), "version": version_problem(version)}
    for field, problem in problems.items():
        if problem is not None:
            raise UsageError(f"{definition.file}: {field}: {problem}")
    return Manifest(
        name=name,
        version=version,
        author=packaging.author,
        license=packaging.license,
        description=definition.description,
        entry_agents=(definition.name,),
        needs=PackageNeeds(
            models=tuple(sorted(graph.models)),
            tools=tuple(sorted(graph.server_tools)),
            variables=tuple(sorted(graph.variables)),
            python=imported.distributions,
        ),
    )


def _toml(manifest: Manifest) -> bytes:
    fields: dict[str, str | None] = {
        "name": manifest.name,
        "version": manifest.version,
        "author": manifest.author,
        "license": manifest.license,
        "description": manifest.description,
    }
    lines = [f"{key} = {_text(value)}" for key, value in fields.items() if value]
    lines.append(f"entryAgents = {_texts(manifest.entry_agents)}")
    needs = manifest.needs
    lists = {
        "models": needs.models,
        "tools": needs.tools,
        "variables": needs.variables,
        "python": needs.python,
    }
    needed = [f"{key} = {_texts(values)}" for key, values in lists.items() if values]
    if needed:
        lines += ["", "[needs]", *needed]
    return "".join(f"{line}\n" for line in lines).encode()


def _text(value: str) -> str:
    # JSON strings are valid TOML, except that TOML requires DEL to be escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _texts(values: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_text, values))}]"
