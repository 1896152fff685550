"""Reads one file of a project into entries, independently of other files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, TypeGuard, cast

import msgspec

from retinue.definitions.declarations import Declaration, DeclaredTool, Hook
from retinue.definitions.file_shapes import DefinitionShape, PromptShape
from retinue.definitions.formats import READERS, Table, read_markdown
from retinue.definitions.packages import PackagePlace
from retinue.definitions.python_definitions import run_declarations
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.settings.keys import snake_case
from retinue.settings.table_reader import Complaint, Shape, Spelling, tidy

EntryKind = Literal["definition", "prompt", "template"]
FolderKind = EntryKind | Literal["hook"]

MAXIMUM_BYTES = 1_048_576
_COLLECTION_KEYS = frozenset({"agents", "templates"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of a project: the kind of its files, and the suffixes that are read."""

    path: str
    kind: FolderKind
    suffixes: frozenset[str]

    @property
    def body_key(self) -> str:
        return "prompt" if self.kind == "prompt" else "systemPrompt"


FOLDERS = (
    Folder(path="agents", kind="definition", suffixes=frozenset({".toml", ".json", ".md", ".py"})),
    Folder(path="agents/templates", kind="template", suffixes=frozenset({".toml", ".json", ".md"})),
    Folder(path="prompts", kind="prompt", suffixes=frozenset({".md", ".py"})),
    Folder(path="hooks", kind="hook", suffixes=frozenset({".py"})),
)
_MISTAKABLE_SUFFIXES = frozenset({".toml", ".json", ".yaml", ".yml", ".py", ".txt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    """One definition, prompt or template as written, with normalized keys."""

    kind: EntryKind
    name: str | None
    table: Table
    """still contains nulls, for templates"""
    spelling: Spelling
    written: Table
    """as written in the file"""
    file: str
    prefix: str = ""
    """its location in the file, such as `agents[0]`"""
    line: int | None = None
    problems: tuple[LoadProblem, ...] = ()

    @property
    def is_sound(self) -> bool:
        return not any(problem.is_error for problem in self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The contents of one file, or its problems."""

    file: str
    folder: Folder
    entries: tuple[SourceEntry, ...] = ()
    hooks: tuple[Hook, ...] = ()
    tools: tuple[DeclaredTool, ...] = ()
    problems: tuple[LoadProblem, ...] = ()

    @property
    def is_for_definitions(self) -> bool:
        """Whether this file defines an agent, valid or not."""
        has_failed = any(problem.is_error for problem in self.problems)
        return any(entry.kind == "definition" for entry in self.entries) or (
            has_failed and self.folder.kind == "definition"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A table in a file, before its keys are normalized."""

    kind: EntryKind
    table: Table
    prefix: str = ""
    line: int | None = None
    default_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Contents:
    """All tables of a file, and the problems of the rest."""

    found: tuple[_Found, ...]
    hooks: tuple[Hook, ...] = ()
    tools: tuple[DeclaredTool, ...] = ()
    problems: tuple[LoadProblem, ...] = ()


def read_source(
    path: Path, place: PackagePlace, folder: Folder, data: bytes | None = None
) -> SourceFile:
    """Read a file of a folder, or these contents of it; nothing that can be wrong raises."""
    file = shown_path(path, place)
    if path.suffix not in folder.suffixes:
        return SourceFile(file=file, folder=folder, problems=_not_read(path, file, folder))
    try:
        contents = _contents(path, file, folder, _bytes(path, file) if data is None else data)
        half = {id(found): _half_character(found, file) for found in contents.found}
    except DefinitionError as error:
        return SourceFile(file=file, folder=folder, problems=(_problem_of(error),))
    except RecursionError:
        problem = LoadProblem(file=file, message="is nested too deeply")
        return SourceFile(file=file, folder=folder, problems=(problem,))
    return SourceFile(
        file=file,
        folder=folder,
        entries=tuple(_entry(found, file) for found in contents.found if not half[id(found)]),
        hooks=contents.hooks,
        tools=contents.tools,
        problems=(*contents.problems, *filter(None, half.values())),
    )


def _problem_of(error: DefinitionError) -> LoadProblem:
    return LoadProblem(file=error.file, field=error.field, line=error.line, message=error.reason)


def shown_path(path: Path, place: PackagePlace) -> str:
    """A path for display, safe to encode."""
    text = (PurePosixPath(place.shown) / path.relative_to(place.directory).as_posix()).as_posix()
    return text.encode("utf-8", "replace").decode("utf-8")


def _not_read(path: Path, file: str, folder: Folder) -> tuple[LoadProblem, ...]:
    if path.suffix not in _MISTAKABLE_SUFFIXES:
        return ()
    expected = ", ".join(f"*{suffix}" for suffix in sorted(folder.suffixes))
    message = f"is ignored: {folder.path}/ contains {expected}"
    return (LoadProblem(file=file, message=message, severity="warning"),)


def _contents(path: Path, file: str, folder: Folder, data: bytes) -> _Contents:
    if path.suffix == ".py":
        declared = run_declarations(data, path, file)
        return _Contents(
            found=tuple(
                _Found(kind=one.kind, table=one.fields, line=one.line)
                for one in declared
                if isinstance(one, Declaration)
            ),
            hooks=tuple(one for one in declared if isinstance(one, Hook)),
            tools=tuple(one for one in declared if isinstance(one, DeclaredTool)),
        )
    text = _text(data, file)
    if path.suffix == ".md":
        table = read_markdown(text, file, body_key=folder.body_key)
        warnings = tuple(_empty_allowlists(table, file))
    else:
        table = READERS[path.suffix](text, file)
        warnings = ()
        if folder.kind == "definition" and _COLLECTION_KEYS & table.keys():
            return _collection(table, file)
    assert folder.kind != "hook"  # hooks are always in Python
    found = _Found(kind=folder.kind, table=table, default_name=path.stem)
    return _Contents(found=(found,), problems=warnings)


def _bytes(path: Path, file: str) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAXIMUM_BYTES + 1)
    except OSError as error:
        raise DefinitionError(f"cannot be read: {error.strerror}", file=file) from error
    if len(data) > MAXIMUM_BYTES:
        raise DefinitionError(f"is larger than {MAXIMUM_BYTES} bytes", file=file)
    return data


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DefinitionError("expected UTF-8 text", file=file, line=line) from error


def _collection(table: Table, file: str) -> _Contents:
    """Read `{"agents": [...], "templates": {...}}`."""
    agents = table.get("agents", ())
    if not isinstance(agents, list | tuple):
        raise DefinitionError("expected a list", file=file, field="agents")
    found: list[_Found] = []
    problems: list[LoadProblem] = []
    for at, agent in enumerate(cast("Iterable[object]", agents)):
        prefix = f"agents[{at}]"
        if _is_table(agent, file, prefix, problems):
            found.append(_Found(kind="definition", table=agent, prefix=prefix))
    templates = table.get("templates", {})
    if _is_table(templates, file, "templates", problems):
        for name, value in templates.items():
            prefix = f"templates.{name}"
            if _is_table(value, file, prefix, problems):
                found.append(_Found(kind="template", table=value, prefix=prefix, default_name=name))
    message = "is ignored next to agents and templates; settings belong in retinue.toml"
    problems += [
        LoadProblem(file=file, field=key, message=message, severity="warning")
        for key in sorted(table.keys() - _COLLECTION_KEYS)
    ]
    return _Contents(found=tuple(found), problems=tuple(problems))


def _is_table(
    value: object, file: str, field: str, problems: list[LoadProblem]
) -> TypeGuard[Table]:
    """Whether it is a table; adds a problem if not."""
    if isinstance(value, Mapping):
        return True
    problems.append(LoadProblem(file=file, field=field, message="expected a table"))
    return False


def _empty_allowlists(table: Table, file: str) -> Iterator[LoadProblem]:
    """Warn about an empty `toolAllowlist:`, which looks like nothing but allows everything."""
    for key, value in table.items():
        if value is None and snake_case(str(key)).endswith("_allowlist"):
            message = "is empty and therefore allows everything; write [] to allow nothing"
            yield LoadProblem(file=file, field=str(key), message=message, severity="warning")


def _half_character(found: _Found, file: str) -> LoadProblem | None:
    """Refuse lone surrogates, which neither the store nor a provider can encode."""
    try:
        msgspec.json.encode(found.table, enc_hook=str)
    except UnicodeEncodeError:
        message = "contains an invalid character (a lone surrogate)"
        return LoadProblem(file=file, field=found.prefix, line=found.line, message=message)
    return None


def _entry(found: _Found, file: str) -> SourceEntry:
    shape: type[Shape] = PromptShape if found.kind == "prompt" else DefinitionShape
    tidied = tidy(shape, found.table, keep_nulls=True)
    written = tidied.table.get("name")
    name = written.strip() if isinstance(written, str) else found.default_name

    def problem(complaint: Complaint, severity: Literal["error", "warning"]) -> LoadProblem:
        return LoadProblem(
            file=file,
            field=joined(found.prefix, complaint.path),
            line=found.line,
            message=complaint.message,
            severity=severity,
        )

    return SourceEntry(
        kind=found.kind,
        name=name,
        table=tidied.table,
        spelling=tidied.spelling,
        written=found.table,
        file=file,
        prefix=found.prefix,
        line=found.line,
        problems=(
            *(problem(complaint, "error") for complaint in tidied.unknown + tidied.errors),
            *(problem(complaint, "warning") for complaint in tidied.warnings),
        ),
    )


def joined(prefix: str, path: str) -> str:
    return f"{prefix}.{path}" if prefix and path else prefix or path
