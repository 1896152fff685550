"""Links the files of a project together, as they refer to each other."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from retinue.definitions.declarations import DeclaredTool, Hook
from retinue.definitions.definition import Definition
from retinue.definitions.definition_builder import Materials, build_definition, kind_of
from retinue.definitions.definition_drafts import DefinitionDraft, Drafts, Report, draft
from retinue.definitions.file_shapes import DefinitionShape, PromptShape, SideShape
from retinue.definitions.prompt import Prompt
from retinue.definitions.prompt_builder import build_prompt, library
from retinue.definitions.reference_targets import Callable, ModelChecks, References, Schema
from retinue.definitions.source_files import SourceFile
from retinue.problems import LoadProblem

DeclaredT = TypeVar("DeclaredT", Hook, DeclaredTool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """Last good versions that replace what does not load."""

    definitions: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])
    tools: Mapping[str, DeclaredTool] = field(default_factory=dict[str, DeclaredTool])
    neighbours: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    """entry agents of packages, which can be referred to as well"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Everything that loads, without the retained versions, and all problems."""

    definitions: Mapping[str, Definition]
    prompts: Mapping[str, Prompt]
    hooks: Mapping[str, Hook]
    tools: Mapping[str, DeclaredTool]
    problems: tuple[LoadProblem, ...]

    @property
    def failing_files(self) -> frozenset[str]:
        return frozenset(problem.file for problem in self.problems if problem.is_error)


def load(
    sources: Iterable[SourceFile],
    *,
    tools: frozenset[str] | None,
    models: ModelChecks | None,
    retained: Retained,
) -> Loaded:
    """Link all files with each other; failing parts are left out and reported.

    `tools` are the tools from other sources; None if they are unknown.
    """
    files = tuple(sources)
    drafts = draft(entry for file in files for entry in file.entries)
    problems = [problem for file in files for problem in file.problems]
    problems.extend(drafts.problems)
    hooks = _by_name([hook for file in files for hook in file.hooks], problems)
    declared = _by_name([tool for file in files for tool in file.tools], problems)
    references = replace(
        _references(drafts, retained, models),
        hooks=frozenset({*retained.hooks, *hooks}),
        tools=None if tools is None else tools | retained.tools.keys() | declared.keys(),
    )
    passages = library(drafts.prompts, retained.prompts)

    prompts: dict[str, Prompt] = {}
    for name, prompt_draft in drafts.prompts.items():
        report = _report(prompt_draft)
        prompt = build_prompt(prompt_draft, passages, references, report)
        problems.extend(report.problems)
        if prompt is not None:
            prompts[name] = prompt

    materials = Materials(
        prompts={**retained.prompts, **prompts}, passages=passages, references=references
    )
    definitions: dict[str, Definition] = {}
    for name, definition_draft in drafts.definitions.items():
        report = _report(definition_draft)
        definition = build_definition(definition_draft, materials, report)
        problems.extend(report.problems)
        if definition is not None:
            definitions[name] = definition
    problems.extend(_problems_of_failing(drafts, materials))
    return Loaded(
        definitions=definitions,
        prompts=prompts,
        hooks=hooks,
        tools=declared,
        problems=_by_file(problems),
    )


def _problems_of_failing(drafts: Drafts, materials: Materials) -> Iterator[LoadProblem]:
    for prompt in drafts.failing_prompts:
        report = _report(prompt)
        build_prompt(prompt, materials.passages, materials.references, report)
        yield from report.problems
    for definition in drafts.failing_definitions:
        report = _report(definition)
        build_definition(definition, materials, report)
        yield from report.problems


def _by_file(problems: Iterable[LoadProblem]) -> tuple[LoadProblem, ...]:
    """Group the problems by file; causes still come before their consequences."""
    files: dict[str, list[LoadProblem]] = {}
    for problem in problems:
        files.setdefault(problem.file, []).append(problem)
    return tuple(problem for found in files.values() for problem in found)


def _by_name(declared: Iterable[DeclaredT], problems: list[LoadProblem]) -> dict[str, DeclaredT]:
    """By name; of two with the same name, the first wins."""
    kept: dict[str, DeclaredT] = {}
    for one in declared:
        name, field = (one.id, "id") if isinstance(one, Hook) else (one.name, "name")
        first = kept.setdefault(name, one)
        if first is not one:
            message = f"{name!r} is already defined in {first.file}"
            problems.append(LoadProblem(file=one.file, field=field, line=one.line, message=message))
    return kept


def _report(made: DefinitionDraft[DefinitionShape] | DefinitionDraft[PromptShape]) -> Report:
    return Report(entry=made.entry, spelling=made.spelling)


def _references(
    drafts: Drafts,
    retained: Retained,
    models: ModelChecks | None,
) -> References:
    prompts: dict[str, Schema] = {
        **{name: prompt.required_schema for name, prompt in retained.prompts.items()},
        **{name: made.shape.required_schema for name, made in drafts.prompts.items()},
    }
    definitions = {
        name: Callable(
            kind=definition.kind,
            is_exposed=definition.expose_as_tool,
            schemas={
                "side_a": definition.side_a.prompt.required_schema,
                "side_b": definition.side_b.prompt.required_schema if definition.side_b else None,
            },
        )
        for name, definition in {**retained.neighbours, **retained.definitions}.items()
    }
    for name, made in drafts.definitions.items():
        definitions[name] = Callable(
            kind=kind_of(made.shape),
            is_exposed=made.shape.expose_as_tool,
            schemas={
                "side_a": _schema(made.shape.side_a, prompts),
                "side_b": _schema(made.shape.side_b, prompts),
            },
        )
    return References(
        definitions=definitions,
        prompts=prompts,
        models=models,
    )


def _schema(side: SideShape | None, prompts: Mapping[str, Schema]) -> Schema:
    return prompts.get(side.prompt) if side is not None and side.prompt is not None else None
