"""Prompts: the text of a side, with the model and the tools that go with it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from retinue.definitions.model_options import ModelOptions
from retinue.definitions.schemas import properties_of
from retinue.definitions.subagent_config import SubagentConfig
from retinue.errors import UsageError

PLACEHOLDER = re.compile(
    r"(?P<escape>\\)?\{\{\s*(?:include\s+(?P<include>[A-Za-z0-9_.-]+)|(?P<name>[A-Za-z_]\w*))\s*\}\}"
)
"""`{{name}}` is a variable, `{{include name}}` another prompt's text, `\\{{name}}` just braces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A value that a prompt needs from the environment of its agent."""

    name: str
    type: Literal["text", "secret"] = "secret"
    """only text may be rendered into a prompt"""
    is_required: bool = False
    is_scoped: bool = False
    """whether each child has to be given its own"""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEntry:
    """A tool by its name."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """values for calls through this prompt, before all others"""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    optional: str | None = None
    """variable that switches this entry on"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubPromptEntry:
    """Another prompt, called as a tool: one model step, out of the caller's sight."""

    name: str
    include_text_response: bool = True
    include_tool_calls: bool = True
    include_errors: bool = True
    init_user_message_property: str | None = None
    init_attachments_property: str | None = None
    optional: str | None = None
    target: str = ""
    """the key of what it names, where that is not the name itself (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffEntry:
    """An `ai_human` definition that can take the conversation over."""

    name: str
    init_user_message_property: str | None = None
    init_attachments_property: str | None = None
    optional: str | None = None
    target: str = ""
    """the key of what it names, where that is not the name itself (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


PromptTool = FunctionEntry | SubPromptEntry | SubagentConfig | HandoffEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One side's instructions, with includes in place and variables still to be filled in."""

    name: str
    text: str = ""
    """give it to `render` before a model sees it"""
    placeholders: frozenset[str] = frozenset()
    """names in the text that stand for values"""
    tool_description: str = ""
    """what it does, to prompts that call it"""
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    options: ModelOptions = field(default_factory=ModelOptions)
    """those that are open here are the definition's"""
    tools: tuple[PromptTool, ...] | None = None
    """None: every tool that the definition's scope allows"""
    required_schema: Mapping[str, object] | None = None
    """JSON schema of the arguments of a call"""
    variables: tuple[Variable, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    hooks: tuple[str, ...] = ()
    """ids; when there are some, they replace the definition's"""
    file: str = ""

    @property
    def properties(self) -> frozenset[str]:
        """What a call of it may be given by name."""
        return frozenset(properties_of(self.required_schema))

    @property
    def gates(self) -> frozenset[str]:
        """The variables that switch entries on."""
        return frozenset(entry.optional for entry in self.tools or () if entry.optional)

    def switched(self, on: frozenset[str]) -> "Prompt":
        """The same with only those entries that these variables have on."""
        if not self.gates:
            return self
        kept = (e for e in self.tools or () if e.optional is None or e.optional in on)
        return replace(self, tools=tuple(kept))

    def lists(self, tool: str) -> bool:
        """Tell whether a model with this prompt may be offered a tool of this name."""
        return self.tools is None or any(entry.name == tool for entry in self.tools)

    def render(self, values: Mapping[str, str]) -> str:
        """Fill in the variables, once: what stands in a value is never read as a variable."""
        required = {variable.name for variable in self.variables if variable.is_required}
        missing = sorted((self.placeholders & required) - values.keys())
        if missing:
            names = ", ".join(missing)
            raise UsageError(
                f"prompt {self.name!r} needs a value for {names}", details={"variables": missing}
            )

        def value(match: re.Match[str]) -> str:
            name = match["name"]
            if match["escape"] or name not in self.placeholders:
                return match[0].removeprefix("\\")
            return values.get(name, "")

        return PLACEHOLDER.sub(value, self.text)
