"""What the names in definitions and prompts can refer to."""

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
"""Says why no model can be found under a name; None when one can."""
UnsupportedOptions = abc.Callable[[str], frozenset[OptionName]]
"""Gives the options that the provider of a model does not take."""
Schema = Mapping[str, Any] | None
"""What a prompt wants to be given; None when it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChecks:
    """How the models that files name are checked, and which one serves those that name none."""

    problem: ModelProblem
    unsupported: UnsupportedOptions
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Callable:
    """What a prompt has to know about a definition to call it."""

    kind: Kind
    is_exposed: bool
    schemas: Mapping[SideName, Schema]
    """of the prompts of its sides"""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The names there are; tools may be patterns, or None when nobody knows them yet."""

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
        return f"no tool, prompt or agent is called {name!r}{did_you_mean(name, known)}"
