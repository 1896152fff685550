"""Formats requests as text, and parses answers to their fields."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from retinue.agents.form import Field, value_of
from retinue.cli.phrases import ago, moment
from retinue.errors import UsageError
from retinue.events import FieldView, RequestView

_MARGIN = "  │ "


def card(request: RequestView, now: datetime) -> list[str]:
    """Return everything that a decision depends on; text from a model is behind a margin."""
    name = request.requester or request.definition
    where = " (in the background)" if request.is_background else ""
    lines = [
        f"{request.kind.capitalize()} {request.id}",
        f"  agent {request.agent_id} of {request.definition}{where}:",
        *_behind_margin(f"{name} {request.headline}"),
    ]
    for label, text in (
        ("permission", request.permission),
        ("stated reason", request.reason),
        ("tool", request.tool),
        ("arguments", request.arguments),
    ):
        if text:
            lines += [f"  {label}:", *_behind_margin(text)]
    for field in request.fields:
        lines.append(f"  field {field_line(field)}")
        lines += _behind_margin(field.description) if field.description else []
    if request.status == "pending":
        until = moment(request.expires_at, now)
        lines += [
            f"  {request.consequence}",
            f"  Expires {until} (asked {ago(request.created_at, now)}).",
        ]
        if request.kind == "variables":
            lines.append(f"  Provide the values with: retinue env give {request.id}")
    else:
        lines.append(f"  {settled_line(request, now)}")
    return lines


def settled_line(request: RequestView, now: datetime) -> str:
    at = f" {ago(request.decided_at, now)}" if request.decided_at else ""
    note = f": {request.note}" if request.note else ""
    return f"{request.status}{at}{note}"


def field_line(field: FieldView) -> str:
    """Format a field with its type, limits and default."""
    kind = " | ".join(field.choices) if field.choices else field.type
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (("at least", field.minimum), ("at most", field.maximum))
        if bound is not None
    ]
    extras = [
        *bounds,
        *(["required"] if field.required else []),
        *([f"default {field.default}"] if field.default is not None else []),
    ]
    more = f", {', '.join(extras)}" if extras else ""
    label = f" “{field.label}”" if field.label else ""
    return f"{field.name}{label} ({kind}{more})"


def _behind_margin(text: str) -> list[str]:
    return [f"{_MARGIN}{line}" for line in text.split("\n")]


def values_of(fields: Sequence[FieldView], given: Sequence[str]) -> dict[str, Any]:
    """Parse `field=value` arguments; raises a `UsageError` that names the field."""
    by_name = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    for argument in given:
        name, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(f"{argument!r}: expected field=value")
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            raise UsageError(f"no field {name!r}. Available: {known}")
        values[name] = typed(by_name[name], text)
    return values


def typed(field: FieldView, text: str) -> str | float | bool:
    """Parse one value by the type of its field."""
    try:
        return value_of(Field(name=field.name, type=field.type), text)
    except UsageError as error:
        raise UsageError(f"{field.name}: {error.message}") from None
