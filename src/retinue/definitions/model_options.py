"""Model options that definitions and prompts set."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

ToolChoice = Literal["auto", "none", "required"]
ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
OptionName = Literal[
    "temperature",
    "max_tokens",
    "top_p",
    "stop",
    "seed",
    "reasoning_effort",
    "reasoning_budget",
    "tool_choice",
    "parallel_tool_calls",
    "provider_options",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Options of a model call; None leaves the choice to the provider."""

    temperature: float | None = None
    max_tokens: int | None = None
    """of the response"""
    top_p: float | None = None
    stop: tuple[str, ...] | None = None
    """texts that end the response"""
    seed: int | None = None
    reasoning_effort: ReasoningEffort | None = None
    reasoning_budget: int | None = None
    """tokens for reasoning"""
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    provider_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """merged into the request body as they are"""

    def over(self, others: "ModelOptions") -> "ModelOptions":
        """These options, completed from `others`; provider options are merged key by key."""
        own = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        merged = {**others.provider_options, **self.provider_options}
        return replace(others, **{**own, "provider_options": merged})

    def for_summary(self) -> "ModelOptions":
        """The options that also suit a summary: nothing that limits or shapes the answer."""
        return replace(self, max_tokens=None, stop=None, tool_choice=None, parallel_tool_calls=None)

    @property
    def given(self) -> frozenset[OptionName]:
        """The names of the options that are set."""
        return frozenset(name for name in _NAMES if getattr(self, name) not in (None, {}))


_NAMES: tuple[OptionName, ...] = tuple(one.name for one in fields(ModelOptions))  # pyright: ignore[reportAssignmentType]
