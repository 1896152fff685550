"""The page about the event stream."""

from manual.http import openapi
from manual.markdown import page
from manual.schemas import Schema, fields_table

_INTRODUCTION = """\
`GET /api/events` (server-sent events) and the WebSocket `/api/ws` give the same stream. An event
with a `cursor` tells of something that is on disk: keep the last cursor, and
`/api/events?after=<cursor>` goes on from there without a gap. An event without one is live output:
never stored, never needed, since what it showed arrives again as a record."""


def events_page() -> str:
    kinds = openapi()["components"]["schemas"]
    named = [entry["$ref"].rpartition("/")[2] for entry in kinds["StreamEvent"]["anyOf"]]
    return page("Events", _INTRODUCTION, *(_event(kinds[name]) for name in named))


def _event(schema: Schema) -> str:
    (tag,) = schema["properties"]["type"]["enum"]
    is_live = "cursor" not in schema["properties"]
    about = schema["description"] + (" Live output." if is_live else "")
    return f"## `{tag}`\n\n{about}\n\n{fields_table(schema)}"
