"""Watches: resources that are checked for changes before a scheduled agent runs."""

import difflib
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct

from retinue.errors import UsageError
from retinue.ids import ItemId

LONGEST_KEPT = 100_000
"""Maximum length of content that is stored for comparison; of longer content, only a digest is."""
_LONGEST_DIFFERENCE = 6_000


class Watch(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One watched resource."""

    file: str | None = None  # a path in the project, or in the files of the agent that created it
    command: str | None = None  # run in a sandbox; its output is compared
    url: str | None = None
    list: str | None = None  # a list that is checked for due items

    @property
    def words(self) -> str:
        kind, what = next(iter(_given(self).items()))
        return f"{kind} {what}"


class Mark(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of a task or a watch between its runs."""

    since: datetime  # first known
    ran_at: datetime | None = None  # last check or run
    woke_at: datetime | None = None  # last time that it woke an agent
    item: ItemId | None = None  # the item that woke it
    digest: str | None = None  # of the last content
    seen: str | None = None  # the last content, if it is not too long
    problem: str = ""  # why the last check failed
    is_told: bool = False  # the problem was reported


def check_watch(watch: Watch) -> None:
    given = _given(watch)
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise UsageError(
            f"watch: set exactly one of file, command, url or list; got {found}",
            details={"field": "watch"},
        )
    if not next(iter(given.values())).strip():
        raise UsageError(f"watch: {next(iter(given))} is empty", details={"field": "watch"})


def digest_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def difference(mark: Mark, text: str) -> str | None:
    """Describe the change since the mark, or return None if there is none or no earlier content."""
    digest = digest_of(text)
    if mark.digest is None or mark.digest == digest:
        return None
    if mark.seen is None or len(text) > LONGEST_KEPT:
        return f"The content changed: its digest was {mark.digest} and is now {digest}."
    lines = difflib.unified_diff(
        mark.seen.splitlines(), text.splitlines(), "before", "now", lineterm="", n=2
    )
    changes = "\n".join(lines) or "Only line endings changed."
    if len(changes) > _LONGEST_DIFFERENCE:
        left_out = len(changes) - _LONGEST_DIFFERENCE
        changes = f"{changes[:_LONGEST_DIFFERENCE]}\n[{left_out} more characters of changes]"
    return changes


def kept(text: str) -> str | None:
    return text if len(text) <= LONGEST_KEPT else None


def _given(watch: Watch) -> dict[str, str]:
    every = {"file": watch.file, "command": watch.command, "url": watch.url, "list": watch.list}
    return {name: value for name, value in every.items() if value is not None}
