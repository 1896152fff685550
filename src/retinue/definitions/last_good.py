"""Loads the files of a project; a failing file keeps its last good version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from retinue.definitions.declarations import DeclaredTool, Hook
from retinue.definitions.definition import BUILTIN_NAME, Definition
from retinue.definitions.definition_builder import builtin
from retinue.definitions.loader import Retained, load
from retinue.definitions.prompt import Prompt
from retinue.definitions.reference_targets import ModelChecks
from retinue.definitions.source_files import SourceFile
from retinue.problems import LoadProblem

_MORE_ROUNDS = 4
NOBODY: Mapping[str, Definition] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """Everything that is loaded at one time, with all problems."""

    definitions: Mapping[str, Definition] = field(default_factory=dict[str, Definition])
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])
    tools: Mapping[str, DeclaredTool] = field(default_factory=dict[str, DeclaredTool])
    problems: tuple[LoadProblem, ...] = ()
    is_empty: bool = False
    """whether there is no file that defines an agent, valid or not"""


def with_builtin(generation: Generation) -> Generation:
    """Add the built-in agent to a project that defines none."""
    if not generation.is_empty:
        return generation
    return replace(generation, definitions={BUILTIN_NAME: builtin(), **generation.definitions})


def advance(
    previous: Generation,
    sources: Sequence[SourceFile],
    tools: frozenset[str] | None,
    models: ModelChecks | None,
    *,
    neighbours: Mapping[str, Definition] = NOBODY,
) -> Generation:
    """Load all files again; a file with an error keeps its previous results.

    Other files may refer to the kept results, so the failing files are determined in rounds. One
    round is enough if there are no errors.
    """
    retained = Retained(neighbours=neighbours)
    loaded = load(sources, tools=tools, models=models, retained=retained)
    for _ in range(_MORE_ROUNDS):
        needed = _of_files(previous, loaded.failing_files, neighbours)
        if needed == retained:
            break
        retained = needed
        loaded = load(sources, tools=tools, models=models, retained=retained)
    definitions = {**retained.definitions, **loaded.definitions}
    prompts = {**retained.prompts, **loaded.prompts}
    hooks = {**retained.hooks, **loaded.hooks}
    tools_of_files = {**retained.tools, **loaded.tools}
    stale_files = {
        *(
            retained.definitions[name].file
            for name in retained.definitions.keys() - loaded.definitions
        ),
        *(retained.prompts[name].file for name in retained.prompts.keys() - loaded.prompts),
        *(retained.hooks[name].file for name in retained.hooks.keys() - loaded.hooks),
        *(retained.tools[name].file for name in retained.tools.keys() - loaded.tools),
    }
    return Generation(
        is_empty=not any(source.is_for_definitions for source in sources),
        definitions=definitions,
        prompts=prompts,
        hooks=hooks,
        tools=tools_of_files,
        problems=tuple(
            replace(problem, using_last_good=problem.is_error and problem.file in stale_files)
            for problem in loaded.problems
        ),
    )


def _of_files(
    generation: Generation, files: frozenset[str], neighbours: Mapping[str, Definition]
) -> Retained:
    return Retained(
        neighbours=neighbours,
        definitions={
            name: definition
            for name, definition in generation.definitions.items()
            if definition.file in files
        },
        prompts={
            name: prompt for name, prompt in generation.prompts.items() if prompt.file in files
        },
        hooks={name: hook for name, hook in generation.hooks.items() if hook.file in files},
        tools={name: tool for name, tool in generation.tools.items() if tool.file in files},
    )
