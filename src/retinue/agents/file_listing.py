"""Listings and streams of an agent's files."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from retinue.records import FileReference


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A file or folder of an agent."""

    path: str
    modified: datetime
    file: FileReference | None = None  # None for a folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStream:
    """A file that is read in chunks while it is sent."""

    size: int
    pieces: AsyncIterator[bytes]
