"""Converts model options to pydantic-ai settings and drops unsupported ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from retinue.definitions.model_options import ModelOptions, OptionName
from retinue.models.providers.connection import Connection, unsupported_options

_SAMPLING: frozenset[OptionName] = frozenset({"temperature", "top_p"})


def vendor_options(
    options: ModelOptions, connection: Connection, *, has_tools: bool
) -> dict[str, Any]:
    """Return the settings of a call; tool settings are sent only if there are tools."""
    chosen: dict[str, Any] = {
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "top_p": options.top_p,
        "stop_sequences": list(options.stop) if options.stop else None,
        "seed": options.seed,
        "extra_body": dict(options.provider_options) or None,
        **_reasoning(options, connection),
    }
    if has_tools:
        chosen["parallel_tool_calls"] = options.parallel_tool_calls
        chosen["tool_choice"] = options.tool_choice if options.tool_choice != "auto" else None
    return {name: value for name, value in chosen.items() if value is not None}


def _reasoning(options: ModelOptions, connection: Connection) -> dict[str, Any]:
    effort, budget = options.reasoning_effort, options.reasoning_budget
    match connection.kind:
        case "anthropic" if budget is not None:
            thinking = {"type": "enabled", "budget_tokens": budget}
            return {"anthropic_thinking": thinking, "anthropic_effort": effort}
        case "google" if budget is not None:
            return {"google_thinking_config": {"thinking_budget": budget}}
        case "anthropic" | "google":
            return {"thinking": False if effort == "none" else effort}
        case "openai" | "ollama" | "openai-compatible":
            return {"openai_reasoning_effort": effort}


def without_unsupported(
    options: ModelOptions, connection: Connection, profile: Mapping[str, Any]
) -> tuple[ModelOptions, frozenset[OptionName]]:
    """Return the options without unsupported ones, and the dropped names."""
    unsupported = unsupported_options(connection.kind, connection.api)
    dropped = options.given & (unsupported | _of_model(options, connection, profile))
    return replace(options, **dict.fromkeys(dropped)), dropped


def _of_model(
    options: ModelOptions, connection: Connection, profile: Mapping[str, Any]
) -> frozenset[OptionName]:
    """Return options that this model rejects, but other models of its provider support."""
    refused: set[OptionName] = set()
    match connection.kind:
        case "openai" | "ollama" | "openai-compatible":
            if profile.get("openai_supports_reasoning") and _reasons(options, profile):
                refused |= _SAMPLING
        case "anthropic" | "google":
            if profile.get("anthropic_disallows_sampling_settings"):
                refused |= _SAMPLING
            if profile.get("anthropic_disallows_budget_thinking"):
                refused.add("reasoning_budget")
            can_reason = profile.get("supports_thinking") or profile.get("thinking_always_enabled")
            has_budget = connection.kind == "google" and options.reasoning_budget is not None
            if not can_reason or has_budget:  # Google accepts only one of the two
                refused.add("reasoning_effort")
    return frozenset(refused)


def _reasons(options: ModelOptions, profile: Mapping[str, Any]) -> bool:
    """Whether an OpenAI reasoning model reasons in a call with these options."""
    efforts = profile.get("openai_reasoning_efforts")
    can_be_off = (
        "none" in efforts
        if efforts is not None
        else profile.get("openai_supports_reasoning_effort_none", False)
    )
    if not can_be_off:
        return True
    if options.reasoning_effort is not None:
        return options.reasoning_effort != "none"
    return bool(profile.get("thinking_enabled_by_default", False))
