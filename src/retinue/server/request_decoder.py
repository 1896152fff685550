"""Decodes requests into wire types, with size limits and errors that name the field."""

import asyncio
import difflib
import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Literal, Protocol, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.requests import ClientDisconnect, Request

from retinue.errors import UsageError
from retinue.server.error_responses import HttpError, too_large
from retinue.server.options import ServerOptions
from retinue.text import clean_json, clean_text

T = TypeVar("T", bound=Struct)

_MOST_FIELDS = 100
_LINGER_SECONDS = 3
_PLACE = re.compile(r" - at `\$\.?(?P<path>.*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$")


class Decoded(Protocol):
    """The types that an endpoint accepts."""

    @property
    def takes(self) -> Literal["nothing", "json", "optional json", "bytes"]: ...

    @property
    def query(self) -> type[Struct]: ...

    @property
    def body(self) -> type[Struct]: ...


async def decode_request(
    request: Request, types: Decoded, options: ServerOptions
) -> tuple[Struct, Struct]:
    """Decode the query and the body of a request."""
    query = decode_query(request.scope["query_string"], types.query)
    if types.takes in ("nothing", "bytes"):
        return query, types.body()
    data = await read_body(
        request, limit=options.body_bytes, timeout_seconds=options.read_timeout_seconds
    )
    if not data and types.takes == "optional json":
        return query, types.body()
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise HttpError(
            415, "unsupported_media_type", "send JSON with `Content-Type: application/json`"
        )
    return query, decode_json(data, types.body)


async def read_body(request: Request, *, limit: int, timeout_seconds: float) -> bytes:
    """Read the whole body, within limits of size and time."""
    stream = request.stream()
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        if "expect" not in request.headers:
            await _discard(stream)
        raise too_large(f"the body has {declared} bytes; the limit is {limit}")
    chunks: list[bytes] = []
    size = 0
    try:
        while True:
            async with asyncio.timeout(timeout_seconds):
                chunk = await anext(stream, None)
            if chunk is None:
                return b"".join(chunks)
            size += len(chunk)
            if size > limit:
                await _discard(stream)
                raise too_large(f"the body is too large; the limit is {limit} bytes")
            chunks.append(chunk)
    except TimeoutError:
        raise HttpError(
            408, "timeout", "the body did not arrive in time", headers={"Connection": "close"}
        ) from None
    except ClientDisconnect:
        raise HttpError(400, "invalid", "the body was cut off") from None


async def _discard(stream: AsyncGenerator[bytes]) -> None:
    """Read and drop the rest: a client that is cut off while sending reads no response."""
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(_LINGER_SECONDS):
            async for _ in stream:
                pass


@cache
def _decoder(kind: type[T]) -> "msgspec.json.Decoder[T]":
    return msgspec.json.Decoder(kind)


@cache
def _names(kind: type[Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


@cache
def _choices(kind: type[Struct], name: str) -> list[str]:
    """Return the allowed values of an enumerated field."""
    info = msgspec.inspect.type_info(kind)
    fields = info.fields if isinstance(info, msgspec.inspect.StructType) else ()
    for field in fields:
        if field.encode_name == name:
            inner = field.type
            kinds = inner.types if isinstance(inner, msgspec.inspect.UnionType) else (inner,)
            literals = [one for one in kinds if isinstance(one, msgspec.inspect.LiteralType)]
            return [str(value) for literal in literals for value in literal.values]
    return []


def _invalid(error: msgspec.ValidationError, kind: type[Struct], what: str) -> UsageError:
    """Return an error that names the invalid field."""
    text = str(error)
    place = _PLACE.search(text)
    path = place["path"] if place else ""
    reason = _PLACE.sub("", text)
    if unknown := _UNKNOWN.match(reason):
        return _unknown_field(unknown["name"], path, kind, what)
    if missing := _MISSING.match(reason):
        path = f"{path}.{missing['name']}" if path else missing["name"]
        reason = "is missing"
    elif reason.startswith("Expected"):
        reason = "e" + reason[1:].replace("`", "")
    elif reason.startswith("Invalid enum value") and (choices := _choices(kind, path)):
        given = reason.removeprefix("Invalid enum value").strip()
        reason = f"{given} is not one of {', '.join(choices)}"
    field = path.replace("[...]", "")
    message = f"{what} {field!r}: {reason}" if field else reason
    return UsageError(message, details={"field": field} if field else None)


def _unknown_field(name: str, path: str, kind: type[Struct], what: str) -> UsageError:
    near = [] if path else difflib.get_close_matches(name, _names(kind), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    known = "" if path or near else f"; known: {', '.join(_names(kind)) or 'none'}"
    full = f"{path}.{name}" if path else name
    return UsageError(f"unknown {what} {full!r}{hint}{known}", details={"field": full})


def decode_json(data: bytes, kind: type[T]) -> T:
    """Decode a JSON body."""
    if b"\\u0000" in data:
        return _decode_odd_text(data, kind, ValueError("malformed"))
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        # A field is invalid, or the text is not JSON after it; both are errors of the sender.
        raise _invalid(error, kind, "field") from None
    except RecursionError:
        raise UsageError("the JSON is nested too deeply") from None
    except ValueError as error:
        return _decode_odd_text(data, kind, error)


def _decode_odd_text(data: bytes, kind: type[T], error: ValueError) -> T:
    """Accept lone surrogates and NULs in text by cleaning them.

    Names and keys are refused instead, because two of them must not become equal.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_number)
        _refuse_odd_names(value, "")
        return msgspec.convert(clean_json(value), kind)
    except UsageError:
        raise
    except UnicodeDecodeError:
        raise UsageError("the body is not valid UTF-8") from None
    except RecursionError:
        raise UsageError("the JSON is nested too deeply") from None
    except msgspec.ValidationError as invalid:
        raise _invalid(invalid, kind, "field") from None
    except ValueError:
        raise UsageError(f"the body is not JSON: {error}") from None


def _refuse_odd_names(value: Any, path: str) -> None:
    if isinstance(value, list):
        for entry in cast("list[Any]", value):
            _refuse_odd_names(entry, path)
    if isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            place = f"{path}.{name}" if path else name
            is_exact = (
                place in ("key", "value")
                or path == "env"
                or (path == "attachments" and name in ("id", "name", "path"))
            )
            odd = next((s for s in (name, inner if is_exact else "") if _is_odd(s)), None)
            if odd is not None:
                shown = clean_text(place)
                raise UsageError(
                    f"field {shown!r}: a name or key must not contain NUL or lone surrogates",
                    details={"field": shown},
                )
            _refuse_odd_names(inner, place)


def _is_odd(value: Any) -> bool:
    return isinstance(value, str) and clean_text(value) != value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def decode_query(query: bytes, kind: type[T]) -> T:
    """Decode a query string; no parameter may be repeated."""
    if not query:
        return _convert({}, kind)
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        raise UsageError("the query string is not valid UTF-8") from None
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"parameter {twice!r} is repeated", details={"field": twice})
    for name in values:
        if name not in _names(kind):
            raise _unknown_field(name, "", kind, "parameter")
    return _convert(clean_json(values), kind)


def _convert(values: Mapping[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, kind, "parameter") from None
