"""Converts pydantic-ai stream events to model events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, cast

import msgspec
from pydantic_ai import messages as vendor

from retinue.errors import StreamCutError
from retinue.ids import new_call_id
from retinue.models.port import CallDelta, Completed, ModelEvent, TextDelta, ThinkingDelta
from retinue.records import CallPart, Part, TextPart, ThinkingPart, Usage
from retinue.text import clean_json, clean_text


class Incoming:
    """Parses one response: deltas as they arrive, and the whole response at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._places: dict[int, int] = {}  # the vendor's index of a part → our index
        self._halves: dict[int, str] = {}  # the first half of a split surrogate pair

    def deltas(self, event: vendor.ModelResponseStreamEvent) -> Iterator[ModelEvent]:
        match event:
            case vendor.PartStartEvent(index=index, part=part):
                yield from self._started(index, part)
            case vendor.PartDeltaEvent(index=index, delta=delta) if index in self._places:
                yield from self._continued(self._places[index], delta)
            case _:
                pass

    def completed(self, response: vendor.ModelResponse) -> Completed:
        """Return the whole response. Raises `StreamCutError` if it has no finish reason."""
        details = response.provider_details or {}
        finish = details.get("finish_reason") or (
            # A refusal has no finish reason, but is complete.
            "content_filter" if response.finish_reason == "content_filter" else ""
        )
        if not finish:
            raise StreamCutError(f"{self._name}: the response ended without a finish reason")
        kept = [part for part in response.parts if isinstance(part, _KEPT)]
        return Completed(
            parts=[_part(part) for part in kept],
            usage=_usage(response),
            finish=clean_text(str(finish)),
            model=clean_text(response.model_name or ""),
            provider=self._provider(response, kept),
        )

    def leftovers(self) -> Iterator[ModelEvent]:
        """Yield text that was held back for a second half that never arrived."""
        for place, half in self._halves.items():
            if half:
                yield TextDelta(part=place, text=clean_text(half))

    def _started(self, index: int, part: vendor.ModelResponsePart) -> Iterator[ModelEvent]:
        if not isinstance(part, _KEPT):
            return
        place = self._places.setdefault(index, len(self._places))
        match part:
            case vendor.TextPart():
                yield from self._text(place, part.content)
            case vendor.ThinkingPart():
                yield from _thinking(place, part.content)
            case vendor.ToolCallPart():
                written = clean_text(_written(part.args))
                yield CallDelta(part=place, name=clean_text(part.tool_name), arguments=written)

    def _continued(self, place: int, delta: vendor.ModelResponsePartDelta) -> Iterator[ModelEvent]:
        match delta:
            case vendor.TextPartDelta():
                yield from self._text(place, delta.content_delta)
            case vendor.ThinkingPartDelta():
                yield from _thinking(place, delta.content_delta or "")
            case vendor.ToolCallPartDelta():
                written = clean_text(_written(delta.args_delta))
                if written:
                    yield CallDelta(part=place, name="", arguments=written)
            case _:
                pass

    def _text(self, place: int, text: str) -> Iterator[ModelEvent]:
        text = self._halves.pop(place, "") + text
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._halves[place] = text[-1]
            text = text[:-1]
        if text:
            yield TextDelta(part=place, text=clean_text(text))

    def _provider(self, response: vendor.ModelResponse, parts: list["_Kept"]) -> Mapping[str, Any]:
        """Collect the data that the same model expects back in later requests."""
        texts = {
            str(index): details
            for index, part in enumerate(parts)
            if isinstance(part, vendor.TextPart) and (details := _plain(part.provider_details))
        }
        known = {
            "by": self._name,
            "system": response.provider_name,
            "canonical": response.canonical_system,
            "response": response.provider_response_id,
            "texts": texts,
        }
        return {key: value for key, value in known.items() if value}


_Kept = vendor.TextPart | vendor.ThinkingPart | vendor.ToolCallPart
_KEPT = (vendor.TextPart, vendor.ThinkingPart, vendor.ToolCallPart)


def _part(part: _Kept) -> Part:
    match part:
        case vendor.TextPart():
            return TextPart(text=clean_text(part.content))
        case vendor.ThinkingPart():
            return ThinkingPart(
                text=clean_text(part.content),
                signature=part.signature,
                provider=_opaque(part.id, part.provider_details),
            )
        case vendor.ToolCallPart():
            arguments, malformed = _arguments(part.args)
            # Use our own ids, because servers reuse theirs within and across responses.
            return CallPart(
                id=new_call_id(),
                name=clean_text(part.tool_name),
                arguments=arguments,
                malformed=malformed,
                provider=_opaque(part.id, part.provider_details),
            )


def _opaque(identity: str | None, details: dict[str, Any] | None) -> dict[str, Any] | None:
    known = {"id": identity, "details": _plain(details)}
    return {key: value for key, value in known.items() if value} or None


def _plain(details: dict[str, Any] | None) -> dict[str, Any] | None:
    """Convert details to plain JSON; details that cannot be stored are dropped."""
    if not details:
        return None
    try:
        return clean_json(msgspec.json.decode(msgspec.json.encode(details)))
    except (TypeError, ValueError, OverflowError):
        return None


def _arguments(written: str | dict[str, Any] | None) -> tuple[dict[str, Any], str | None]:
    """Parse the arguments of a call; invalid ones are returned as text."""
    if not written:
        return {}, None
    try:
        parsed: Any = _parsed(written) if isinstance(written, str) else written
        value = clean_json(parsed)
        msgspec.json.encode(value)
    except (ValueError, TypeError, OverflowError, RecursionError):
        return {}, clean_text(written if isinstance(written, str) else str(written))
    if isinstance(value, dict):
        return cast("dict[str, Any]", value), None
    return {}, clean_text(str(written))


def _parsed(written: str) -> Any:
    return json.loads(written, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _written(args: str | Mapping[str, Any] | None) -> str:
    if args is None or isinstance(args, str):
        return args or ""
    return json.dumps(args)


def _thinking(place: int, text: str) -> Iterator[ModelEvent]:
    if text:
        yield ThinkingDelta(part=place, text=clean_text(text))


def _usage(response: vendor.ModelResponse) -> Usage | None:
    """Count each token once: the vendor's input count includes cached tokens, ours does not."""
    used = response.usage
    if not used.input_tokens and not used.output_tokens:
        return None
    cached = used.cache_read_tokens + used.cache_write_tokens
    return Usage(
        input=max(0, used.input_tokens - cached),
        output=used.output_tokens,
        cache_read=used.cache_read_tokens,
        cache_write=used.cache_write_tokens,
    )
