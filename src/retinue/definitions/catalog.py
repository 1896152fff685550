"""A project's definitions, prompts and hooks by name: one immutable state of its files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from retinue.definitions.declarations import DeclaredTool, Hook
from retinue.definitions.definition import BUILTIN_NAME, Definition
from retinue.definitions.last_good import Generation
from retinue.definitions.package_names import is_private, qualified
from retinue.definitions.package_scope import Unpacked
from retinue.definitions.prompt import Prompt
from retinue.definitions.rights import narrowed_definitions, narrowed_prompts
from retinue.definitions.source_files import SourceFile
from retinue.errors import NotFoundError
from retinue.problems import LoadProblem
from retinue.settings.keys import nearest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Catalog:
    """Finds definitions and prompts by name; a change on disk makes another catalog."""

    generation: Generation = field(default_factory=Generation)
    """what names lead to, in the project and its packages"""
    packages: Mapping[str, Unpacked] = field(default_factory=dict[str, Unpacked])
    own_sources: tuple[SourceFile, ...] = ()

    def definition(self, name: str) -> Definition:
        """Give what agents are made from, also if only its package can name it."""
        found = self.generation.definitions.get(name)
        if found is None:
            known, problems = self.generation.definitions, self.generation.problems
            raise _not_found("definition", name, known, problems)
        return found

    def public(self, name: str) -> Definition:
        """Give a definition that people and other agents may name."""
        if is_private(name):
            known, problems = self.generation.definitions, self.generation.problems
            raise _not_found("definition", name, known, problems)
        return self.definition(name)

    def definitions(self) -> tuple[Definition, ...]:
        """List by name what people and other agents may name."""
        everything = self.generation.definitions
        return tuple(one for name, one in sorted(everything.items()) if not is_private(name))

    def everything(self) -> tuple[Definition, ...]:
        """List by name also what only its package can name."""
        return tuple(one for _, one in sorted(self.generation.definitions.items()))

    def around(self, definition: Definition) -> tuple[Definition, ...]:
        """List by name what a definition may name, in its words: inside a package, only that."""
        home = definition.home
        if home is None:
            return self.definitions()
        unpacked = self.packages.get(home.package)
        if unpacked is None:
            return ()
        return tuple(one for _, one in sorted(unpacked.generation.definitions.items()))

    def key(self, definition: Definition, name: str) -> str:
        """Give the name outside of a package for what a definition in it calls so."""
        home = definition.home
        if home is None:
            return name
        private = qualified(home.package, name)
        return private if private in self.generation.definitions else name

    def sources(self) -> tuple[SourceFile, ...]:
        """Give the project's own files as they were read."""
        return self.own_sources

    def default(self, preferred: str | None = None) -> Definition:
        """Give the definition that serves when none is named."""
        if preferred is not None:
            return self.definition(preferred)
        # What a package brings is asked for by name, as long as the project has an agent itself.
        definitions = sorted(self.definitions(), key=lambda one: one.home is not None)
        visible = (one.name for one in definitions if one.ui_visible and one.kind == "ai_human")
        has_builtin_name = any(one.name == BUILTIN_NAME for one in definitions)
        return self.definition(BUILTIN_NAME if has_builtin_name else next(visible, BUILTIN_NAME))

    def prompt(self, name: str) -> Prompt:
        found = self.generation.prompts.get(name)
        if found is None:
            known, problems = self.generation.prompts, self.generation.problems
            raise _not_found("prompt", name, known, problems)
        return found

    def hooks(self) -> Mapping[str, Hook]:
        return self.generation.hooks

    def tools(self) -> Mapping[str, DeclaredTool]:
        """The tools that files of definitions, prompts and hooks define."""
        return self.generation.tools

    def errors(self) -> tuple[LoadProblem, ...]:
        """List everything that is wrong with the files, warnings included."""
        return self.generation.problems

    def narrowed(self, current: "Catalog", *, keeping: str) -> "Catalog":
        """The same texts with no more rights than the current catalog gives.

        Definitions that the current one lacks are gone, except for the one named `keeping`.
        Returns itself when nothing was taken away.
        """
        if current is self:
            return self
        definitions = narrowed_definitions(
            self.generation.definitions, current.generation.definitions, keeping=keeping
        )
        prompts = narrowed_prompts(self.generation.prompts, current.generation.prompts)
        packages = {
            name: _narrowed_package(unpacked, current.packages.get(name), keeping=keeping)
            for name, unpacked in self.packages.items()
        }
        is_same = (
            definitions is self.generation.definitions
            and prompts is self.generation.prompts
            and all(packages[name] is unpacked for name, unpacked in self.packages.items())
        )
        if is_same:
            return self
        generation = replace(self.generation, definitions=definitions, prompts=prompts)
        return replace(self, generation=generation, packages=packages)


def _narrowed_package(unpacked: Unpacked, current: Unpacked | None, *, keeping: str) -> Unpacked:
    """Narrow what a package's definitions see of each other, by the names that it uses itself."""
    before = unpacked.generation.definitions
    now = (current.generation if current is not None else Generation()).definitions
    local = keeping.removeprefix(qualified(unpacked.package.name, ""))
    definitions = narrowed_definitions(before, now, keeping=local)
    if definitions is before:
        return unpacked
    return replace(unpacked, generation=replace(unpacked.generation, definitions=definitions))


def _not_found(
    kind: str, name: str, known: Iterable[str], problems: Iterable[LoadProblem]
) -> NotFoundError:
    names = sorted(known)
    near = nearest(name, names, limit=3)
    message = f"there is no {kind} {name!r}"
    failing = [
        problem for problem in problems if problem.is_error and Path(problem.file).stem == name
    ]
    if failing:
        message += f", because a file does not load: {failing[0]}"
    elif near:
        message += f"; did you mean {' or '.join(repr(one) for one in near)}?"
    elif names:
        message += f"; there are {', '.join(names[:10])}" + (" ..." if len(names) > 10 else "")
    return NotFoundError(message, details={kind: name, "near": near})
