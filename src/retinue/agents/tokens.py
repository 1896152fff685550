"""How big a context is: an estimate, corrected by what the provider counted last."""

from collections.abc import Mapping
from typing import Any

import msgspec

from retinue.agents.state import TokenSnapshot
from retinue.model_messages import Content, TextContent
from retinue.records import CallPart, Part

CHARACTERS_PER_TOKEN = 4
IMAGE_PLACEHOLDER = "<image>"
LARGEST_CORRECTION = 4.0

_encoder = msgspec.json.Encoder()


def content_characters(content: Content) -> int:
    """Count text as it is and any image as its placeholder, however large its data."""
    return len(content.text) if isinstance(content, TextContent) else len(IMAGE_PLACEHOLDER)


def characters_of_part(part: Part) -> int:
    if isinstance(part, CallPart):
        return len(part.name) + len(_encoder.encode(part.arguments)) + len(part.malformed or "")
    return len(part.text)


def json_characters(value: Mapping[str, Any]) -> int:
    return len(_encoder.encode(value))


def estimated_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def corrected_tokens(estimate: int, last: TokenSnapshot | None, model: str) -> int:
    """Scale the estimate by how far off it was at the last call to the same model."""
    if last is None or last.model != model or last.estimated < 100 or last.reported <= 0:
        return estimate
    ratio = last.reported / last.estimated
    ratio = min(LARGEST_CORRECTION, max(1 / LARGEST_CORRECTION, ratio))
    return round(estimate * ratio)
