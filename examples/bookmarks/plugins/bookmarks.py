"""Bookmarks: links worth keeping, in a database of their own."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from retinue import OperationContext, define_plugin, operation
from retinue.errors import NotFoundError

DATABASE = Path(__file__).parents[1] / "bookmarks.db"
TABLE = """
CREATE TABLE IF NOT EXISTS bookmarks (
    owner TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    key TEXT NOT NULL,
    UNIQUE (owner, key)
)
"""


class Bookmark(TypedDict):
    url: str
    title: str


@contextmanager
def database() -> Generator[sqlite3.Connection]:
    """Open it for one operation, which takes effect as a whole or not at all."""
    connection = sqlite3.connect(DATABASE)
    try:
        connection.execute(TABLE)
        with connection:
            yield connection
    finally:
        connection.close()


@operation(effect="pure", capabilities=["bookmarks.read"])
def find(ctx: OperationContext, text: str = "") -> list[Bookmark]:
    """Find bookmarks whose title or address holds a text; all of them without one.

    Args:
        text: What to look for.
    """
    with database() as connection:
        rows = connection.execute(
            "SELECT url, title FROM bookmarks WHERE owner = ? AND instr(title || ' ' || url, ?) > 0"
            " ORDER BY rowid",
            (ctx.owner, text),
        )
        return [{"url": url, "title": title} for url, title in rows]


@operation(effect="keyed", capabilities=["bookmarks.write"])
def add(ctx: OperationContext, url: str, title: str) -> Bookmark:
    """Keep a link.

    Args:
        url: Its address.
        title: What it is called.
    """
    with database() as connection:
        # The same call again finds its own row: its effect happens once.
        connection.execute(
            "INSERT INTO bookmarks (owner, url, title, key) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (owner, key) DO NOTHING",
            (ctx.owner, url, title, ctx.idempotency_key),
        )
        kept = connection.execute(
            "SELECT url, title FROM bookmarks WHERE owner = ? AND key = ?",
            (ctx.owner, ctx.idempotency_key),
        ).fetchone()
        return {"url": kept[0], "title": kept[1]}


@operation(effect="once", capabilities=["bookmarks.write"])
def remove(ctx: OperationContext, url: str) -> str:
    """Forget a link.

    Args:
        url: Its address.
    """
    with database() as connection:
        gone = connection.execute(
            "DELETE FROM bookmarks WHERE owner = ? AND url = ?", (ctx.owner, url)
        )
        if not gone.rowcount:
            raise NotFoundError(f"there is no bookmark {url!r}")
    return f"{url} is forgotten."


plugin = define_plugin(
    id="bookmarks",
    title="Bookmarks",
    description="Links worth keeping: find, add and remove them.",
    operations=[find, add, remove],
)
