"""Adds packages to a project: entry agents under their own names, everything else as private."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from retinue.definitions.definition import Definition, Home
from retinue.definitions.last_good import Generation
from retinue.definitions.package_names import qualified
from retinue.definitions.packages import Package
from retinue.definitions.prompt import FunctionEntry, Prompt, PromptTool, SubPromptEntry
from retinue.definitions.side import Side
from retinue.problems import LoadProblem
from retinue.settings.keys import did_you_mean

ThingT = TypeVar("ThingT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """A package with its loaded files, under the names used inside the package."""

    package: Package
    generation: Generation

    @property
    def offered(self) -> Mapping[str, Definition]:
        """The entry agents that load."""
        entries = self.package.manifest.entry_agents
        definitions = self.generation.definitions
        return {name: definitions[name] for name in entries if name in definitions}


def gathered(own: Generation, packages: Sequence[Unpacked]) -> Generation:
    """Combine packages with the project's own files; names that are taken are kept."""
    everything = own
    homes = {name: one.file for name, one in own.definitions.items() if one.file}
    for unpacked in packages:
        problems, taken = _clashes(unpacked, homes)
        public = unpacked.offered.keys() - taken
        homes |= dict.fromkeys(public, unpacked.package.place.manifest_file)
        brought = _Naming(package=unpacked.package, public=frozenset(public)).generation(
            unpacked.generation
        )
        everything = Generation(
            definitions={**everything.definitions, **brought.definitions},
            prompts={**everything.prompts, **brought.prompts},
            hooks={**everything.hooks, **brought.hooks},
            tools={**everything.tools, **brought.tools},
            problems=(*everything.problems, *brought.problems, *problems),
        )
    return everything


def _clashes(
    unpacked: Unpacked, homes: Mapping[str, str]
) -> tuple[list[LoadProblem], frozenset[str]]:
    """The entry agents that cannot be offered, with the reason."""
    manifest, file = unpacked.package.manifest, unpacked.package.place.manifest_file
    known = unpacked.generation.definitions
    failing = {problem.file for problem in unpacked.generation.problems if problem.is_error}
    problems: list[LoadProblem] = []
    for at, name in enumerate(manifest.entry_agents):
        message = None
        if name not in known:
            if failing:
                continue  # the problem of its file is already reported
            message = f"unknown agent {name!r}{did_you_mean(name, known)}"
        elif name in homes:
            message = f"the agent {name!r} already exists, from {homes[name]}"
        if message is not None:
            field = f"entryAgents[{at}]"
            problems.append(LoadProblem(file=file, field=field, message=message))
    return problems, frozenset(homes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Naming:
    """Converts the names of one package to names outside of it."""

    package: Package
    public: frozenset[str]

    def generation(self, inside: Generation) -> Generation:
        return Generation(
            definitions={
                self._agent(name): self._definition(one) for name, one in inside.definitions.items()
            },
            prompts=self._all({name: self._prompt(one) for name, one in inside.prompts.items()}),
            hooks=self._all(inside.hooks),
            tools=self._all(inside.tools),
            problems=inside.problems,
        )

    def _all(self, things: Mapping[str, ThingT]) -> dict[str, ThingT]:
        return {self._private(name): thing for name, thing in things.items()}

    def _agent(self, name: str) -> str:
        return name if name in self.public else self._private(name)

    def _private(self, name: str) -> str:
        return qualified(self.package.name, name)

    def _definition(self, one: Definition) -> Definition:
        manifest = self.package.manifest
        return replace(
            one,
            name=self._agent(one.name),
            side_a=self._side(one.side_a),
            side_b=self._side(one.side_b) if one.side_b else None,
            model=self._model(one.model),
            fallback_models=self._models(one.fallback_models),
            hooks=tuple(self._private(hook) for hook in one.hooks),
            home=Home(
                package=manifest.name,
                version=manifest.version,
                tools=frozenset(manifest.needs.tools),
            ),
        )

    def _side(self, side: Side) -> Side:
        return replace(side, prompt=self._prompt(side.prompt))

    def _prompt(self, one: Prompt) -> Prompt:
        return replace(
            one,
            name=self._private(one.name),
            model=self._model(one.model),
            fallback_models=self._models(one.fallback_models),
            tools=None if one.tools is None else tuple(map(self._entry, one.tools)),
            hooks=tuple(self._private(hook) for hook in one.hooks),
        )

    def _entry(self, entry: PromptTool) -> PromptTool:
        if isinstance(entry, FunctionEntry):
            return entry
        if isinstance(entry, SubPromptEntry):
            return replace(entry, target=self._private(entry.name))
        return replace(entry, target=self._agent(entry.name))

    def _model(self, name: str | None) -> str | None:
        return None if name is None else self.package.model(name)

    def _models(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.package.model, names))
