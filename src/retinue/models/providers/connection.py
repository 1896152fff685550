"""How to connect to a provider: address, key and timeouts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from retinue.definitions.model_options import OptionName
from retinue.installation import Extra

Kind = Literal["openai", "anthropic", "google", "ollama", "openai-compatible"]
Api = Literal["chat", "responses"]
"""The two APIs of OpenAI: chat completions and responses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Maximum time without data from a model, in seconds."""

    first_event: float = 120
    idle: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A configured provider."""

    name: str  # the prefix of its models: `local` in `local:small`
    kind: Kind
    api: Api = "chat"
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    advice: str = ""  # which key to set, for error messages


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFacts:
    """Static information about a kind of provider."""

    label: str
    extra: Extra  # the extra that installs its client
    key_variables: tuple[str, ...] = ()  # environment variables for its key
    needs_key: bool = True
    base_url: str | None = None
    base_url_variable: str | None = None


KINDS: Mapping[Kind, KindFacts] = {
    "openai": KindFacts(
        label="OpenAI",
        extra="openai",
        key_variables=("OPENAI_API_KEY",),
        base_url="https://api.openai.com/v1",
        base_url_variable="OPENAI_BASE_URL",
    ),
    "anthropic": KindFacts(
        label="Anthropic",
        extra="anthropic",
        key_variables=("ANTHROPIC_API_KEY",),
        base_url="https://api.anthropic.com",
        base_url_variable="ANTHROPIC_BASE_URL",
    ),
    "google": KindFacts(
        label="Google", extra="google", key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "ollama": KindFacts(
        label="Ollama",
        extra="openai",
        needs_key=False,
        base_url="http://127.0.0.1:11434/v1",
        base_url_variable="OLLAMA_BASE_URL",
    ),
    "openai-compatible": KindFacts(
        label="OpenAI-compatible servers", extra="openai", needs_key=False
    ),
}

_UNSUPPORTED: Mapping[Kind, frozenset[OptionName]] = {
    "openai": frozenset({"reasoning_budget"}),
    "anthropic": frozenset({"seed"}),
    "google": frozenset({"parallel_tool_calls"}),
    "ollama": frozenset({"reasoning_budget"}),
    "openai-compatible": frozenset({"reasoning_budget"}),
}
_UNSUPPORTED_BY_RESPONSES: frozenset[OptionName] = frozenset({"seed", "stop"})


def unsupported_options(kind: Kind, api: Api) -> frozenset[OptionName]:
    """Return the model options that a provider does not support."""
    found = _UNSUPPORTED[kind]
    return found | _UNSUPPORTED_BY_RESPONSES if kind == "openai" and api == "responses" else found
