"""Links the files of a project: all of them together, because they name each other."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from retinue.definitions.definition import Definition
from retinue.definitions.definition_building import Materials, build_definition, kind_of
from retinue.definitions.drafting import Draft, Drafts, Report, draft
from retinue.definitions.prompt import Prompt
from retinue.definitions.prompt_building import build_prompt, library
from retinue.definitions.references import Callable, ModelProblem, References
from retinue.definitions.shapes import DefinitionShape, PromptShape
from retinue.definitions.sources import SourceFile
from retinue.problems import LoadProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """Last good versions that stand in for what does not load."""

    definitions: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    neighbours: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    """entry agents of packages, which may be named too"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What loads, without the retained ones, and everything that is wrong."""

    definitions: Mapping[str, Definition]
    prompts: Mapping[str, Prompt]
    problems: tuple[LoadProblem, ...]

    @property
    def failing_files(self) -> frozenset[str]:
        return frozenset(problem.file for problem in self.problems if problem.is_error)


def load(
    sources: Iterable[SourceFile],
    *,
    tools: frozenset[str] | None,
    model_problem: ModelProblem | None,
    retained: Retained,
) -> Loaded:
    """Link all files with each other; what fails is left out and told."""
    files = tuple(sources)
    drafts = draft(entry for file in files for entry in file.entries)
    problems = [problem for file in files for problem in file.problems]
    problems.extend(drafts.problems)
    references = _references(drafts, retained, tools, model_problem)
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
    return Loaded(definitions=definitions, prompts=prompts, problems=_by_file(problems))


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
    """Bring a file's problems together: causes still come before what follows from them."""
    files: dict[str, list[LoadProblem]] = {}
    for problem in problems:
        files.setdefault(problem.file, []).append(problem)
    return tuple(problem for found in files.values() for problem in found)


def _report(made: Draft[DefinitionShape] | Draft[PromptShape]) -> Report:
    return Report(entry=made.entry, spelling=made.spelling)


def _references(
    drafts: Drafts,
    retained: Retained,
    tools: frozenset[str] | None,
    model_problem: ModelProblem | None,
) -> References:
    definitions = {
        name: Callable(kind=definition.kind, is_exposed=definition.expose_as_tool)
        for name, definition in {**retained.neighbours, **retained.definitions}.items()
    }
    for name, made in drafts.definitions.items():
        definitions[name] = Callable(kind=kind_of(made.shape), is_exposed=made.shape.expose_as_tool)
    return References(
        definitions=definitions,
        prompts=frozenset(drafts.prompts) | frozenset(retained.prompts),
        tools=tools,
        model_problem=model_problem,
    )
