"""The targets that names in definitions and prompts can refer to."""

from collections import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retinue.definitions.definition import Kind
from retinue.definitions.model_options import OptionName
from retinue.definitions.scoping import first_match
from retinue.ids import SideName
from retinue.settings.keys import did_you_mean

ModelProblem = abc.Callable[[str], str | None]
"""The reason there is no model with a name, or None."""
UnsupportedOptions = abc.Callable[[str], frozenset[OptionName]]
"""The options that the provider of a model does not support."""
Schema = Mapping[str, Any] | None
"""The schema of a prompt's arguments; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChecks:
    """Checks for the models in files, and the default model."""

    problem: ModelProblem
    unsupported: UnsupportedOptions
    default: str
    refresh: abc.Callable[[], None] = lambda: None
    """forgets models whose keys changed or are gone"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Callable:
    """The properties of a definition that a prompt needs to call it."""

    kind: Kind
    is_exposed: bool
    schemas: Mapping[SideName, Schema]
    """of the prompts of its sides"""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """All known names; tools may be patterns, or None if they are not known yet."""

    definitions: Mapping[str, Callable]
    prompts: Mapping[str, Schema]
    tools: frozenset[str] | None = None
    hooks: frozenset[str] = frozenset()
    models: ModelChecks | None = None

    def may_be_tool(self, name: str) -> bool:
        return self.tools is None or self.is_tool(name)

    def is_tool(self, name: str) -> bool:
        return first_match(self.tools or (), name) is not None

    def unknown_tool(self, name: str) -> str:
        return f"unknown tool {name!r}{did_you_mean(name, self.tools or ())}"

    def unknown_prompt(self, name: str) -> str:
        return f"unknown prompt {name!r}{did_you_mean(name, self.prompts)}"

    def unknown_definition(self, name: str) -> str:
        return f"unknown agent {name!r}{did_you_mean(name, self.definitions)}"

    def unknown_hook(self, name: str) -> str:
        return f"unknown hook {name!r}{did_you_mean(name, self.hooks)}"

    def unknown_entry(self, name: str) -> str:
        known = {*(self.tools or ()), *self.prompts, *self.definitions}
        return f"there is no tool, prompt or agent {name!r}{did_you_mean(name, known)}"
