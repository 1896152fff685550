"""The files of a package: whole files where possible, otherwise only the needed entries."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec

from retinue.definitions.source_files import SourceEntry, SourceFile
from retinue.errors import UsageError
from retinue.packaging.package_graph import PackageGraph
from retinue.packaging.project_files import Project
from retinue.settings.keys import snake_case

Files = dict[str, bytes]

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def contents(project: Project, graph: PackageGraph) -> Files:
    """Collect every file of the graph, by its path in the package."""
    collected = _Collection(project=project, graph=graph)
    for file in sorted(graph.python_files):
        collected.python(file)
    for source in project.sources.values():
        if source.file not in graph.python_files:
            collected.source(source)
    for script in sorted(graph.scripts):
        collected.script(script)
    return dict(sorted(collected.files.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Collection:
    """Collects files under unique paths."""

    project: Project
    graph: PackageGraph
    files: Files = field(default_factory=dict[str, bytes])

    def python(self, file: str) -> None:
        """Copy a Python file and the modules that it imports relatively."""
        if file in self.files:
            return
        data = self._read(file)
        self.files[file] = data
        folder = PurePosixPath(file).parent
        for name in _neighbours(data):
            beside = (folder / f"{name}.py").as_posix()
            if (self.project.directory / beside).is_file():
                self.python(beside)

    def source(self, source: SourceFile) -> None:
        needed = [entry for entry in source.entries if self._is_needed(entry)]
        if needed and len(needed) == len(source.entries):
            self.files[source.file] = self._read(source.file)
            return
        for entry in needed:
            path, data = _as_file(entry)
            self.files[self._free(path)] = data

    def script(self, script: str) -> None:
        path = (self.project.directory / script).resolve()
        if not path.is_relative_to(self.project.directory.resolve()):
            raise UsageError(f"the model script {script!r} is outside the project")
        self.files[PurePosixPath(script).as_posix()] = self._read(script)

    def _is_needed(self, entry: SourceEntry) -> bool:
        if entry.name is None or self.project.entries.get((entry.kind, entry.name)) is not entry:
            return False
        kinds = {
            "definition": self.graph.definitions,
            "prompt": self.graph.prompts,
            "template": self.graph.templates,
        }
        return entry.name in kinds[entry.kind]

    def _read(self, file: str) -> bytes:
        try:
            return (self.project.directory / file).read_bytes()
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error

    def _free(self, path: str) -> str:
        """Return an unused path; the names of these files have no meaning."""
        taken = {*self.files, *self.project.sources}
        original = Path(path)
        number = 1
        while path in taken:
            number += 1
            path = original.with_name(f"{original.stem}-{number}{original.suffix}").as_posix()
        return path


def _as_file(entry: SourceEntry) -> tuple[str, bytes]:
    """Convert one entry of a file to a separate file."""
    name = str(entry.name)
    if not _FILE_NAME.fullmatch(name):
        raise UsageError(f"{entry.file}: {name!r} is not a valid file name")
    if entry.kind == "template":
        return f"agents/templates/{name}.json", _json(entry.written)
    named = {key: value for key, value in entry.written.items() if not _is(key, "name", "agent_id")}
    table = {"name": name, **named}
    if entry.kind == "definition":
        return f"agents/{name}.json", _json(table)
    text = str(entry.table.get("prompt") or "")
    matter = {key: value for key, value in table.items() if not _is(key, "prompt", "text")}
    # JSON is valid YAML, and none of its lines can look like a front matter fence.
    return f"prompts/{name}.md", b"---\n%s---\n%s\n" % (_json(matter), text.encode())


def _is(key: str, *names: str) -> bool:
    return snake_case(key) in names


def _json(table: Mapping[str, object]) -> bytes:
    plain = json.loads(msgspec.json.encode(table, enc_hook=str))
    return f"{json.dumps(plain, indent=2, ensure_ascii=False)}\n".encode()


def _neighbours(code: bytes) -> Iterator[str]:
    """Yield the modules that code imports from its own folder."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            if node.module is None:
                yield from (alias.name for alias in node.names)
            else:
                yield node.module.partition(".")[0]
