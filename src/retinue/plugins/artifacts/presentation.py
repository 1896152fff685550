"""Converts artifacts and changes to the results of operations."""

from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

import msgspec

from retinue.agents.artifact import ListItem, Note, kind_of, name_of
from retinue.errors import UsageError
from retinue.plugins.artifacts.query.fields import QueryField, Row
from retinue.stores.artifact_port import ArtifactChange, Edit, StoredArtifact

MOST_SHOWN = 200
_OMITTED = {"version", "createdAt", "updatedAt", "completedAt", "touchedAt"}
_LONGEST = 200  # characters of a value in the history


def shown(stored: StoredArtifact) -> dict[str, Any]:
    """Return a complete artifact."""
    one: dict[str, Any] = msgspec.to_builtins(stored.artifact)
    del one["kind"]
    one["version"] = stored.version
    match stored.artifact:
        case ListItem() as item:
            one |= {"list": stored.list_id, "position": stored.position}
            one["completed"] = item.completed_at is not None
            if "custom" in one:
                one["fields"] = one.pop("custom")
        case _:
            pass
    return one


def brief(stored: StoredArtifact) -> dict[str, Any]:
    """Return an artifact without the content of notes."""
    one = shown(stored)
    match stored.artifact:
        case Note(content=content):
            one.pop("content", None)
            one["characters"] = len(content)
        case _:
            pass
    return one


def shown_row(row: Row, stored: StoredArtifact, show: Sequence[QueryField]) -> dict[str, Any]:
    """Return a result row with the fields that the query shows, or all of them."""
    kind = kind_of(row.of)
    if not show:
        return {"kind": kind} | brief(stored)
    one: dict[str, Any] = {"kind": kind, "id": row.of.id}
    return one | {field.name: _plain(field.value(row)) for field in show}


def page(
    rows: Sequence[Any], *, limit: int, offset: int = 0
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return a page and information about the rest."""
    check_page(limit=limit, offset=offset)
    part = rows[offset : offset + limit]
    return part, page_info(len(part), len(rows), offset)


def check_page(*, limit: int, offset: int = 0) -> None:
    if not 1 <= limit <= MOST_SHOWN or offset < 0:
        raise UsageError(f"limit must be between 1 and {MOST_SHOWN}, and offset at least 0")


def page_info(shown: int, total: int, offset: int) -> dict[str, Any]:
    """Return the total and the offset of the next page."""
    info: dict[str, Any] = {"total": total}
    left = total - offset - shown
    if left > 0:
        info["more"] = f"{left} more; continue with offset {offset + shown}"
    return info


def outcome(change: ArtifactChange) -> dict[str, Any]:
    """Return the result of a change; a repeated call returns the same."""
    edit = change.main
    what = kind_of(edit.one.artifact)
    if edit.after:
        result: dict[str, Any] = {what: brief(edit.one)}
    else:
        result = {"removed": _named(edit.one)}
    if len(change.edits) > 1:
        result["also"] = len(change.edits) - 1
    return result | {"change": change.id}


def history_line(change: ArtifactChange) -> dict[str, Any]:
    line: dict[str, Any] = {
        "change": change.id,
        "at": change.at,
        "action": change.action,
        "by": change.by or "you",
        "what": _named(change.main.one),
    }
    if change.main.one.list_id is not None:
        line["list"] = change.main.one.list_id
    if change.undoes is not None:
        line["undoes"] = change.undoes
    if change.undone_by is not None:
        line["undoneBy"] = change.undone_by
    if fields := _differences(change.main):
        line["fields"] = fields
    return line


def _differences(edit: Edit) -> Sequence[dict[str, Any]]:
    """Return the fields that an edit changed; for the content of notes, only the length."""
    if edit.before is None or edit.after is None:
        return ()
    before, after = _field_values(edit.before), _field_values(edit.after)
    return [
        {"field": name, "before": before.get(name), "after": after.get(name)}
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def _field_values(stored: StoredArtifact) -> dict[str, Any]:
    one = brief(stored)
    if isinstance(stored.artifact, ListItem):
        one = {**one.pop("fields", {}), **one}
    return {name: _clipped(value) for name, value in one.items() if name not in _OMITTED}


def _clipped(value: object) -> object:
    if not isinstance(value, str) or len(value) <= _LONGEST:
        return value
    return f"{value[: _LONGEST - 1]}…"


def _named(stored: StoredArtifact) -> dict[str, str]:
    return {
        "kind": kind_of(stored.artifact),
        "id": stored.artifact.id,
        "name": name_of(stored.artifact),
    }


def listed(stored: StoredArtifact, items: int) -> dict[str, Any]:
    """Return a list with its item count."""
    return shown(stored) | {"items": items}


def _plain(value: object) -> object:
    match value:
        case datetime() | date() | time():
            return value.isoformat()
        case tuple():
            return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return value
