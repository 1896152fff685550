"""What a schedule or a task looks at before it wakes anybody, and what it remembers of it."""

import difflib
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct

from retinue.errors import UsageError
from retinue.ids import ItemId

LONGEST_KEPT = 100_000
"""Characters of what was seen that are kept to be compared; of more, only a digest."""
_LONGEST_DIFFERENCE = 6_000


class Watch(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One thing to look at."""

    file: str | None = None  # a path in the project, or among the files of the agent that asked
    command: str | None = None  # its output, in a sandbox
    url: str | None = None
    list: str | None = None  # a list, for its items that are due

    @property
    def words(self) -> str:
        kind, what = next(iter(_given(self).items()))
        return f"{kind} {what}"


class Mark(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is remembered of a task or a watch between its runs."""

    since: datetime  # first known
    ran_at: datetime | None = None  # last looked at or run
    woke_at: datetime | None = None  # last time that an agent was woken for it
    item: ItemId | None = None  # what woke it
    digest: str | None = None  # of what was seen last
    seen: str | None = None  # that itself, when it is not too long
    problem: str = ""  # why the last look failed
    is_told: bool = False  # somebody heard of the problem


def check_watch(watch: Watch) -> None:
    given = _given(watch)
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise UsageError(
            f"watch: give one of file, command, url and list, not {found}",
            details={"field": "watch"},
        )
    if not next(iter(given.values())).strip():
        raise UsageError(f"watch: {next(iter(given))} is empty", details={"field": "watch"})


def digest_of(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def difference(mark: Mark, text: str) -> str | None:
    """Tell what changed since the mark; None when nothing did, or when it is the first look."""
    digest = digest_of(text)
    if mark.digest is None or mark.digest == digest:
        return None
    if mark.seen is None or len(text) > LONGEST_KEPT:
        return f"It changed: its digest was {mark.digest} and is {digest}."
    lines = difflib.unified_diff(
        mark.seen.splitlines(), text.splitlines(), "before", "now", lineterm="", n=2
    )
    told = "\n".join(lines) or "Only line ends changed."
    if len(told) > _LONGEST_DIFFERENCE:
        left_out = len(told) - _LONGEST_DIFFERENCE
        told = f"{told[:_LONGEST_DIFFERENCE]}\n[{left_out} more characters of difference]"
    return told


def kept(text: str) -> str | None:
    return text if len(text) <= LONGEST_KEPT else None


def _given(watch: Watch) -> dict[str, str]:
    every = {"file": watch.file, "command": watch.command, "url": watch.url, "list": watch.list}
    return {name: value for name, value in every.items() if value is not None}
