"""Expands `{{include name}}` in prompts, and collects the variables of the result."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from retinue.definitions.definition_drafts import Report
from retinue.definitions.prompt import PLACEHOLDER, Variable
from retinue.settings.keys import did_you_mean
from retinue.settings.table_reader import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text as written, with the names that are defined in it."""

    text: str
    variables: tuple[Variable, ...] = ()
    values: frozenset[str] = frozenset()
    """names other than variables: defaults from `env`, arguments of a call"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """A text with its includes expanded, and the placeholders in it."""

    text: str
    placeholders: frozenset[str]
    variables: tuple[Variable, ...]


def expand(
    passage: Passage,
    library: Mapping[str, Passage],
    report: Report,
    location: Location,
    *,
    name: str | None = None,
) -> Expanded:
    """Expand a text; `name` is its own name if others can include it."""
    includer = _Includer(library=library, report=report, location=location)
    text = includer.included(passage, () if name is None else (name,)).strip()
    return Expanded(
        text=text,
        placeholders=_placeholders(text, includer, report, location),
        variables=tuple(includer.variables.values()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Includer:
    """One expansion: follows includes and collects their declarations; the outermost wins."""

    library: Mapping[str, Passage]
    report: Report
    location: Location
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    values: set[str] = field(default_factory=set[str])

    def included(self, passage: Passage, chain: tuple[str, ...]) -> str:
        for variable in passage.variables:
            self.variables.setdefault(variable.name, variable)
        self.values.update(passage.values)
        return PLACEHOLDER.sub(lambda match: self._replacement(match, chain), passage.text)

    def _replacement(self, match: re.Match[str], chain: tuple[str, ...]) -> str:
        name = match["include"]
        if name is None or match["escape"]:
            return match[0]
        if name in chain:
            path = " → ".join((*chain[chain.index(name) :], name))
            self.report.error(self.location, f"prompts include each other: {path}")
        elif name not in self.library:
            hint = did_you_mean(name, self.library)
            self.report.error(self.location, f"include of unknown prompt {name!r}{hint}")
        else:
            return self.included(self.library[name], (*chain, name)).strip()
        return match[0]


def _placeholders(
    text: str, includer: _Includer, report: Report, location: Location
) -> frozenset[str]:
    used = {
        match["name"]
        for match in PLACEHOLDER.finditer(text)
        if match["name"] and not match["escape"]
    }
    known = includer.variables.keys() | includer.values
    for name in sorted(used - known):
        report.warn(
            location,
            f"{{{{{name}}}}} is not a variable, env or argument of this prompt and stays as written"
            + did_you_mean(name, known),
        )
    for name in sorted(used & includer.variables.keys()):
        if includer.variables[name].type == "secret":
            message = f"{name} is a secret, and secrets are never inserted into a prompt"
            report.error(location, f"{message}; declare it with type text if it is not secret")
    return frozenset(used & known)
