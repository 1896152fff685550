"""Validates the values of artifacts: lengths, counts and types."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from retinue.agents.artifact import ArtifactId, CustomField, FieldType, FieldValue, folded
from retinue.errors import UsageError
from retinue.plugins.artifacts.query.date_values import clock_time, plain_day
from retinue.plugins.artifacts.query.fields import BUILT_IN_NAMES
from retinue.text import clean_text

LONGEST_TITLE = 300
LONGEST_URL = 2_000
LONGEST_NOTES = 10_000
LONGEST_CONTENT = 100_000
LONGEST_VALUE = 2_000
LONGEST_TAG = 50
MOST_TAGS = 30
MOST_FIELDS = 30
MOST_OPTIONS = 100
_SCHEMES = ("http", "https", "mailto")
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")
_NOT_IN_KEYS = re.compile(r"[^\w]+")
_LONGEST_SLUG = 60
_DAY_LENGTH = len("2026-11-20")


def title_of(text: str, what: str = "title") -> str:
    """Validate a title: one line, not empty."""
    line = " ".join(clean_text(text).split())
    if not any(letter.isprintable() for letter in line.replace(" ", "")):
        raise UsageError(f"{what} must not be empty", details={"field": what})
    return bounded(line, LONGEST_TITLE, what)


def bounded(text: str, longest: int, what: str) -> str:
    cleaned = clean_text(text)
    if len(cleaned) > longest:
        raise UsageError(
            f"{what} has {len(cleaned)} characters; the maximum is {longest}",
            details={"field": what, "limit": longest},
        )
    return cleaned


def url_of(text: str) -> str:
    """Validate a URL; schemes that could run code in a browser are rejected."""
    url = bounded(text.strip(), LONGEST_URL, "url")
    try:
        scheme = urlsplit(url).scheme.lower()
    except ValueError:
        scheme = ""
    if url and (scheme not in _SCHEMES or any(letter.isspace() for letter in url)):
        raise UsageError(
            "url must start with http://, https:// or mailto:", details={"field": "url"}
        )
    return url


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Normalize tags: trimmed, in lower case, without duplicates."""
    found = dict.fromkeys(" ".join(clean_text(tag).split()).lower() for tag in tags)
    found = {tag: None for tag in found if any(map(str.isprintable, tag.replace(" ", "")))}
    if len(found) > MOST_TAGS:
        raise UsageError(f"at most {MOST_TAGS} tags are allowed", details={"field": "tags"})
    for tag in found:
        bounded(tag, LONGEST_TAG, "tag")
    return tuple(found)


def slug_of(name: str) -> ArtifactId:
    """Derive the id of a list from its name."""
    return ArtifactId(_NOT_IN_SLUGS.sub("-", folded(name)).strip("-")[:_LONGEST_SLUG].strip("-"))


def field_of(label: str, type_: FieldType, key: str, options: Sequence[str]) -> CustomField:
    """Validate a custom field; its key defaults to the label."""
    name = title_of(label, "label")
    slug = _NOT_IN_KEYS.sub("_", folded(key or name)).strip("_")[:_LONGEST_SLUG]
    if not slug:
        raise UsageError(f"the field {name!r} requires a key with letters or digits")
    if slug in BUILT_IN_NAMES:
        raise UsageError(f"{slug!r} is a built-in field of every item: choose another key")
    if type_ == "select" and not options:
        raise UsageError(f"the select field {name!r} requires options")
    if len(options) > MOST_OPTIONS:
        raise UsageError(f"a field can have at most {MOST_OPTIONS} options")
    return CustomField(
        key=slug,
        label=name,
        type=type_,
        options=tuple(title_of(option, "option") for option in options),
    )


def fields_of(fields: Sequence[CustomField]) -> tuple[CustomField, ...]:
    if len(fields) > MOST_FIELDS:
        raise UsageError(f"a list can have at most {MOST_FIELDS} fields")
    keys = [field.key for field in fields]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"two fields have the key {key!r}")
    return tuple(fields)


def values_of(
    fields: Sequence[CustomField], values: Mapping[str, Any], before: Mapping[str, FieldValue]
) -> dict[str, FieldValue]:
    """Merge new values into existing ones; null removes a value."""
    known = {field.key: field for field in fields}
    known |= {field.label: field for field in fields if field.label not in known}
    result = dict(before)
    for name, value in values.items():
        field = known.get(name)
        if field is None:
            there = ", ".join(sorted(one.key for one in fields)) or "none"
            raise UsageError(f"the list has no field {name!r}; its fields are: {there}")
        if value is None or value == "":
            result.pop(field.key, None)
        else:
            result[field.key] = _value(field, value)
    return result


def _value(field: CustomField, value: Any) -> FieldValue:
    match field.type:
        case "checkbox":
            found = value if isinstance(value, bool) else None
        case "number":
            found = _number(value)
        case "select":
            text = _text(value)
            match = [one for one in field.options if folded(one) == folded(text or "")]
            found = match[0] if match else None
        case "text":
            text = _text(value)
            found = None if text is None else bounded(text, LONGEST_VALUE, field.key)
        case "date" | "time" | "datetime":
            found = _moment(field.type, value.strip()) if isinstance(value, str) else None
    if found is None:
        raise UsageError(
            f"{field.key} must be {_expected(field)}, not {str(value)[:60]!r}",
            details={"field": field.key},
        )
    return found


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _text(value: object) -> str | None:
    """Accept text, or a number that was written without quotes."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if is_plain else None


def _moment(kind: FieldType, value: str) -> str | None:
    """Return a date, a time or a date and time in normalized form."""
    if kind == "date":
        day = plain_day(value)
        return None if day is None else day.isoformat()
    if kind == "time":
        found = clock_time(value)
        return None if found is None else found.isoformat("minutes")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if len(value) == _DAY_LENGTH:
        return moment.date().isoformat()
    has_seconds = moment.second or moment.microsecond
    return moment.isoformat(timespec="auto" if has_seconds else "minutes")


def fitting(fields: Sequence[CustomField], values: Mapping[str, Any]) -> dict[str, FieldValue]:
    """Return the values that are valid for the fields of another list."""
    kept: dict[str, FieldValue] = {}
    for field in fields:
        try:
            if values.get(field.key) is not None:
                kept[field.key] = _value(field, values[field.key])
        except UsageError:
            continue
    return kept


def _expected(field: CustomField) -> str:
    return {
        "checkbox": "true or false",
        "number": "a number",
        "select": f"one of {', '.join(field.options)}",
        "text": "text",
        "date": "a date, such as 2026-11-20",
        "time": "a time of day, such as 18:30",
        "datetime": "a date and time, such as 2026-11-20T18:30",
    }[field.type]
