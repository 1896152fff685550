"""Spelling of keys: camelCase and snake_case, and suggestions for unknown keys."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
_SEAM = re.compile(r"_([a-z0-9])")


def snake_case(key: str) -> str:
    return _HUMP.sub(r"_\1", key).lower()


def camel_case(key: str) -> str:
    return _SEAM.sub(lambda match: match.group(1).upper(), key)


def nearest(name: str, known: Iterable[str], *, limit: int = 1) -> list[str]:
    """Return the known names most similar to `name`, best first."""
    by_folded = {candidate.casefold(): candidate for candidate in sorted(known)}
    return [by_folded[folded] for folded in get_close_matches(name.casefold(), by_folded, limit)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion to append to an error about an unknown name, or an empty string."""
    found = nearest(name, known)
    return f"; did you mean {found[0]!r}?" if found else ""
