"""Context windows of models that are publicly known."""

from retinue.models.providers.connection import Kind

_PUBLIC: frozenset[Kind] = frozenset({"openai", "anthropic", "google"})


def known_window(kind: Kind, model: str) -> int | None:
    """Look a window up in the data that comes with pydantic-ai; None for what nobody published."""
    if kind not in _PUBLIC:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(model, None, kind, None)
    except LookupError:
        return None
    return found.context_window
