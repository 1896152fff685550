"""Turns entries into drafts: typed and named, with references not yet resolved."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from retinue.definitions.file_shapes import DefinitionShape, PromptShape
from retinue.definitions.source_files import SourceEntry, joined
from retinue.definitions.templates import IDENTITY_FIELDS, inherit
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem, Severity
from retinue.settings.table_reader import Location, Shape, Spelling, check, path_text, tidy

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

ShapeT = TypeVar("ShapeT", bound=Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionDraft(Generic[ShapeT]):
    """A named entry with valid fields."""

    name: str
    shape: ShapeT
    entry: SourceEntry
    spelling: Spelling


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Collects the problems of one entry."""

    entry: SourceEntry
    spelling: Spelling
    problems: list[LoadProblem] = field(default_factory=list[LoadProblem])

    @property
    def has_errors(self) -> bool:
        return any(problem.is_error for problem in self.problems)

    def error(self, location: Location, message: str) -> None:
        self._add(path_text(location, self.spelling), message, "error")

    def warn(self, location: Location, message: str) -> None:
        self._add(path_text(location, self.spelling), message, "warning")

    def error_at(self, path: str, message: str) -> None:
        self._add(path, message, "error")

    def _add(self, path: str, message: str, severity: Severity) -> None:
        self.problems.append(
            LoadProblem(
                file=self.entry.file,
                field=joined(self.entry.prefix, path),
                line=self.entry.line,
                message=message,
                severity=severity,
            )
        )


@dataclass(slots=True, kw_only=True)
class Drafts:
    """All drafts of a project, by name.

    Failing drafts have unknown keys: they are not used, but checked for further problems.
    """

    definitions: dict[str, DefinitionDraft[DefinitionShape]] = field(
        default_factory=dict[str, DefinitionDraft[DefinitionShape]]
    )
    prompts: dict[str, DefinitionDraft[PromptShape]] = field(
        default_factory=dict[str, DefinitionDraft[PromptShape]]
    )
    failing_definitions: list[DefinitionDraft[DefinitionShape]] = field(
        default_factory=list[DefinitionDraft[DefinitionShape]]
    )
    failing_prompts: list[DefinitionDraft[PromptShape]] = field(
        default_factory=list[DefinitionDraft[PromptShape]]
    )
    problems: list[LoadProblem] = field(default_factory=list[LoadProblem])


def draft(entries: Iterable[SourceEntry]) -> Drafts:
    """Check every entry by itself; of two with the same name, the first wins."""
    drafts = Drafts()
    everything = tuple(entries)
    drafts.problems.extend(problem for entry in everything for problem in entry.problems)
    templates = _templates(everything, drafts.problems)
    for entry in everything:
        if entry.kind == "prompt":
            prompt = _drafted(PromptShape, entry, {}, drafts.problems)
            _keep(drafts.prompts, drafts.failing_prompts, prompt, drafts.problems)
        elif entry.kind == "definition":
            made = _drafted(DefinitionShape, entry, templates, drafts.problems)
            _keep(drafts.definitions, drafts.failing_definitions, made, drafts.problems)
    return drafts


def _templates(
    entries: Iterable[SourceEntry], problems: list[LoadProblem]
) -> dict[str, SourceEntry | None]:
    templates: dict[str, SourceEntry | None] = {}
    for entry in entries:
        if entry.kind != "template" or entry.name is None:
            continue
        report = Report(entry=entry, spelling=entry.spelling)
        for name in IDENTITY_FIELDS:
            if entry.table.get(name) is not None:
                report.error((name,), "is not allowed in a template; each definition has its own")
        for complaint in check(
            DefinitionShape, tidy(DefinitionShape, entry.table).table, entry.spelling
        ).errors:
            if not complaint.is_missing:
                report.error_at(complaint.path, complaint.message)
        first = templates.get(entry.name)
        if first is not None:
            report.error((), f"template {entry.name!r} is already defined in {first.file}")
        is_usable = entry.is_sound and not report.has_errors
        templates[entry.name] = first or (entry if is_usable else None)
        problems.extend(report.problems)
    return templates


def _drafted(
    shape: type[ShapeT],
    entry: SourceEntry,
    templates: Mapping[str, SourceEntry | None],
    problems: list[LoadProblem],
) -> DefinitionDraft[ShapeT] | None:
    try:
        inherited = inherit(entry, templates)
    except DefinitionError as error:
        where = "" if error.file == entry.file else f" (in {error.file})"
        report = Report(entry=entry, spelling=entry.spelling)
        report.error(("extends",), error.reason + where)
        for complaint in check(shape, tidy(shape, entry.table).table, entry.spelling).errors:
            if not complaint.is_missing and complaint.path != "extends":
                report.error_at(complaint.path, complaint.message)
        problems.extend(report.problems)
        return None
    report = Report(entry=entry, spelling=inherited.spelling)
    # Templates needed the nulls; from here on they count as absent.
    checked = check(shape, tidy(shape, inherited.table).table, inherited.spelling)
    for complaint in checked.errors:
        report.error_at(complaint.path, complaint.message)
    _check_name(entry, report)
    problems.extend(report.problems)
    if checked.value is None or entry.name is None or report.has_errors:
        return None
    return DefinitionDraft(
        name=entry.name, shape=checked.value, entry=entry, spelling=inherited.spelling
    )


def _check_name(entry: SourceEntry, report: Report) -> None:
    if entry.name is None:
        if entry.table.get("name") is None:
            report.error(("name",), "is required")
    elif not _NAME.fullmatch(entry.name):
        expected = "expected at most 64 letters, digits, '_', '-' and '.'"
        report.error(("name",), f"{expected}, got {entry.name!r}")


def _keep(
    kept: dict[str, DefinitionDraft[ShapeT]],
    failing: list[DefinitionDraft[ShapeT]],
    made: DefinitionDraft[ShapeT] | None,
    problems: list[LoadProblem],
) -> None:
    if made is None:
        return
    if not made.entry.is_sound:
        failing.append(made)
        return
    first = kept.setdefault(made.name, made)
    if first is not made:
        report = Report(entry=made.entry, spelling=made.spelling)
        where = _place(first.entry)
        report.error(("name",), f"{made.name!r} is already defined in {where}")
        problems.extend(report.problems)


def _place(entry: SourceEntry) -> str:
    return f"{entry.file} ({entry.prefix})" if entry.prefix else entry.file
