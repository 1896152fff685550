"""What owners keep beside their agents: lists with items, notes, and views."""

import unicodedata
from datetime import datetime
from typing import Annotated, Literal, NewType

from msgspec import Meta, Struct

ArtifactId = NewType("ArtifactId", str)
ArtifactKind = Literal["list", "item", "note", "view"]
FieldType = Literal["text", "number", "date", "time", "datetime", "select", "checkbox"]
Moment = Annotated[datetime, Meta(tz=True)]
"""Never without its offset: moments that have none cannot be compared with others."""
FieldValue = str | float | bool
"""A value of a custom field: text also for dates and times, as `2026-11-20` or `18:30`."""


class CustomField(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A field that the items of one list have."""

    key: str
    label: str
    type: FieldType
    options: tuple[str, ...] = ()  # of a select


class _Artifact(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, tag_field="kind"
):
    id: ArtifactId
    created_at: Moment
    updated_at: Moment
    tags: tuple[str, ...] = ()


class ItemList(_Artifact, frozen=True, kw_only=True, tag="list"):
    """A list; its items are kept one by one."""

    name: str
    description: str = ""
    default_tags: tuple[str, ...] = ()  # that new items get
    fields: tuple[CustomField, ...] = ()


class ListItem(_Artifact, frozen=True, kw_only=True, tag="item"):
    """One item of a list."""

    title: str
    url: str = ""
    notes: str = ""
    custom: dict[str, FieldValue] = {}
    completed_at: Moment | None = None  # None = not completed
    touched_at: Moment | None = None  # last looked through; no change of the item


class Note(_Artifact, frozen=True, kw_only=True, tag="note"):
    """A text in Markdown."""

    title: str
    content: str = ""


class View(_Artifact, frozen=True, kw_only=True, tag="view"):
    """A query that is kept under a name."""

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
    """Give a text as it is looked up and searched: without case, accents and odd forms."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).casefold()
