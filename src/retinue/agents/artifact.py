"""Artifacts: lists with items, notes and views that belong to an owner."""

import unicodedata
from datetime import datetime
from typing import Annotated, Literal, NewType

from msgspec import Meta, Struct

ArtifactId = NewType("ArtifactId", str)
ArtifactKind = Literal["list", "item", "note", "view"]
FieldType = Literal["text", "number", "date", "time", "datetime", "select", "checkbox"]
Moment = Annotated[datetime, Meta(tz=True)]
"""A date and time with an offset, so that any two can be compared."""
FieldValue = str | float | bool
"""A value of a custom field. Dates and times are text, such as `2026-11-20` or `18:30`."""


class CustomField(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A custom field of the items in a list."""

    key: str
    label: str
    type: FieldType
    options: tuple[str, ...] = ()  # the choices of a select field


class _Artifact(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind"
):
    id: ArtifactId
    created_at: Moment
    updated_at: Moment
    tags: tuple[str, ...] = ()


class ItemList(_Artifact, frozen=True, kw_only=True, tag="list"):
    """A list; its items are stored separately."""

    name: str
    description: str = ""
    default_tags: tuple[str, ...] = ()  # added to new items
    fields: tuple[CustomField, ...] = ()


class ListItem(_Artifact, frozen=True, kw_only=True, tag="item"):
    """One item of a list."""

    title: str
    url: str = ""
    notes: str = ""
    custom: dict[str, FieldValue] = {}
    completed_at: Moment | None = None  # None = not completed
    touched_at: Moment | None = None  # last reviewed; does not count as a change


class Note(_Artifact, frozen=True, kw_only=True, tag="note"):
    """A Markdown text."""

    title: str
    content: str = ""


class View(_Artifact, frozen=True, kw_only=True, tag="view"):
    """A saved query."""

    name: str
    query: str


Artifact = ItemList | ListItem | Note | View


def kind_of(artifact: Artifact) -> ArtifactKind:
    match artifact:
        case ItemList():
            return "list"
        case ListItem():
            return "item"
        case Note():
            return "note"
        case View():
            return "view"


def name_of(artifact: Artifact) -> str:
    return artifact.name if isinstance(artifact, ItemList | View) else artifact.title


def folded(text: str) -> str:
    """Normalize text for lookups and search: case, accents and compatibility forms are removed."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).casefold()
