"""Text and JSON that every encoder accepts."""

from typing import Any, cast


def clean_text(text: str) -> str:
    """Replace lone surrogates with U+FFFD and remove NUL characters.

    Applied to all incoming text: requests, models, tools. A single bad character would otherwise
    block an agent for good, because nothing downstream could store it.
    """
    if "\x00" in text:
        text = text.replace("\x00", "")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Any) -> Any:
    """Clean every string in a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value)
        return {clean_text(str(key)): clean_json(entry) for key, entry in entries.items()}
    if isinstance(value, list):
        return [clean_json(entry) for entry in cast("list[Any]", value)]
    return value
