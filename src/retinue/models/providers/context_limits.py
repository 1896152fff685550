"""Context windows of public models."""

from collections.abc import Mapping

from retinue.models.providers.connection import Kind

_PUBLIC: frozenset[Kind] = frozenset({"openai", "anthropic", "google"})
# Published by Google and absent from the data below.
_ADDED: Mapping[str, int] = {
    "gemini-2.5-pro": 1_048_576,
    "gemini-3-pro": 1_048_576,
    "gemini-3.1-pro": 1_048_576,
}


def known_window(kind: Kind, model: str) -> int | None:
    """Look up a context window in the data of pydantic-ai; None if it is unknown."""
    if kind not in _PUBLIC:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(model, None, kind, None)
    except LookupError:
        return None
    added = (window for name, window in _ADDED.items() if model.startswith(name))
    return found.context_window or next(added, None)
