"""Prompts: the text of a side, with its model and tools."""

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
r"""`{{name}}` is a variable, `{{include name}}` another prompt's text, `\{{name}}` is literal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A value that a prompt needs from the environment of its agent."""

    name: str
    type: Literal["text", "secret"] = "secret"
    """only text can be rendered into a prompt"""
    is_required: bool = False
    is_scoped: bool = False
    """whether each child needs its own value"""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEntry:
    """A tool, by name."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """values for calls through this prompt; they take precedence"""
    optional: str | None = None
    """variable that switches this entry on"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubPromptEntry:
    """Another prompt, called as a tool: one model step, hidden from the caller."""

    name: str
    include_text_response: bool = True
    include_tool_calls: bool = True
    include_errors: bool = True
    init_user_message_property: str | None = None
    init_attachments_property: str | None = None
    optional: str | None = None
    target: str = ""
    """the key of the target if it differs from the name (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffEntry:
    """An `ai_human` definition that can take over the conversation."""

    name: str
    init_user_message_property: str | None = None
    init_attachments_property: str | None = None
    optional: str | None = None
    target: str = ""
    """the key of the target if it differs from the name (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


PromptTool = FunctionEntry | SubPromptEntry | SubagentConfig | HandoffEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The instructions of a side, with includes expanded and variables not yet filled in."""

    name: str
    text: str = ""
    """call `render` before a model sees it"""
    placeholders: frozenset[str] = frozenset()
    """names in the text that are replaced with values"""
    tool_description: str = ""
    """its description for prompts that call it"""
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    options: ModelOptions = field(default_factory=ModelOptions)
    """options that are not set here come from the definition"""
    tools: tuple[PromptTool, ...] | None = None
    """None: every tool that the definition's scope allows"""
    required_schema: Mapping[str, object] | None = None
    """JSON schema of the arguments of a call"""
    variables: tuple[Variable, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    hooks: tuple[str, ...] = ()
    """ids; if there are any, they replace the definition's"""
    file: str = ""

    @property
    def properties(self) -> frozenset[str]:
        """The names of its arguments."""
        return frozenset(properties_of(self.required_schema))

    @property
    def gates(self) -> frozenset[str]:
        """The variables that switch on entries."""
        return frozenset(entry.optional for entry in self.tools or () if entry.optional)

    def switched(self, on: frozenset[str]) -> "Prompt":
        """The same prompt with only the entries that these variables switch on."""
        if not self.gates:
            return self
        kept = (e for e in self.tools or () if e.optional is None or e.optional in on)
        return replace(self, tools=tuple(kept))

    def lists(self, tool: str) -> bool:
        """Whether a model with this prompt may be offered a tool of this name."""
        return self.tools is None or any(entry.name == tool for entry in self.tools)

    def render(self, values: Mapping[str, str]) -> str:
        """Fill in the variables in one pass: placeholders inside a value are not expanded."""
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
