"""Requests in words: the whole of what is asked, in lines that its text cannot forge."""

from datetime import datetime

from retinue.cli.wording import ago, moment
from retinue.events import FieldView, RequestView

_MARGIN = "  │ "


def card(request: RequestView, now: datetime) -> list[str]:
    """Everything that a decision depends on; what a model wrote is behind a margin."""
    name = request.requester or request.definition
    where = " (in the background)" if request.is_background else ""
    lines = [
        f"{request.kind.capitalize()} {request.id}",
        f"  agent {request.agent_id} of {request.definition}{where}:",
        *_behind_margin(f"{name} {request.headline}"),
    ]
    for label, text in (
        ("permission", request.permission),
        ("reason, as it says", request.reason),
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
            f"  It expires {until} (asked {ago(request.created_at, now)}).",
        ]
        if request.kind == "variables":
            lines.append(f"  Give the values with: retinue env give {request.id}")
    else:
        lines.append(f"  {settled_line(request, now)}")
    return lines


def settled_line(request: RequestView, now: datetime) -> str:
    at = f" {ago(request.decided_at, now)}" if request.decided_at else ""
    note = f": {request.note}" if request.note else ""
    return f"{request.status}{at}{note}"


def field_line(field: FieldView) -> str:
    """A field, what fits into it, and whether it may stay empty."""
    kind = " | ".join(field.choices) if field.choices else field.type
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (("at least", field.minimum), ("at most", field.maximum))
        if bound is not None
    ]
    extras = [
        *bounds,
        *(["required"] if field.required else []),
        *([f"else {field.default}"] if field.default is not None else []),
    ]
    more = f", {', '.join(extras)}" if extras else ""
    label = f" “{field.label}”" if field.label else ""
    return f"{field.name}{label} ({kind}{more})"


def _behind_margin(text: str) -> list[str]:
    return [f"{_MARGIN}{line}" for line in text.split("\n")]
