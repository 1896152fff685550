"""The Events page."""

from manual.http import openapi
from manual.markdown import page
from manual.schemas import Schema, fields_table

_INTRODUCTION = """\
`GET /api/events` (server-sent events) and the WebSocket `/api/ws` carry the same stream. An event
with a `cursor` describes something that is stored: keep the last cursor and reconnect with
`/api/events?after=<cursor>` to continue without a gap. An event without a cursor is live output. It
is never stored; its content arrives again as a record."""


def events_page() -> str:
    kinds = openapi()["components"]["schemas"]
    named = [entry["$ref"].rpartition("/")[2] for entry in kinds["StreamEvent"]["anyOf"]]
    return page("Events", _INTRODUCTION, *(_event(kinds[name]) for name in named))


def _event(schema: Schema) -> str:
    (tag,) = schema["properties"]["type"]["enum"]
    is_live = "cursor" not in schema["properties"]
    about = schema["description"] + (" Live output." if is_live else "")
    return f"## `{tag}`\n\n{about}\n\n{fields_table(schema)}"
