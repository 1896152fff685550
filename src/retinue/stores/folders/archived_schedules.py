"""The schedules of an archive: one file before the agents."""

import asyncio
import gzip
import tarfile
import zlib
from collections import ChainMap
from itertools import islice
from pathlib import Path

from msgspec import structs

from retinue.errors import ConflictError, NotFoundError, RetinueError, UsageError
from retinue.ids import OwnerId
from retinue.stores.folders.schedule_file import SCHEDULES, decode_schedules
from retinue.stores.schedule_port import KeptSchedules, ScheduleStore

_BEGINNING = 3  # the manifest, then the schedules and the artifacts
_LARGEST = 1 << 28


async def checked_schedules(
    path: Path, store: ScheduleStore, owner: OwnerId | None
) -> KeptSchedules:
    """Read the schedules, for their own owner or for another.

    Raises `ConflictError` with those that already exist with different content.
    """
    kept = _owned(_decoded(path, await asyncio.to_thread(read_beginning, path, SCHEDULES)), owner)
    await _refuse_others(store, kept)
    return kept


def read_beginning(path: Path, name: str) -> bytes | None:
    """Read one of the files that precede the agents."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in islice(archive, _BEGINNING):
                if member.name == name and member.isreg() and member.size < _LARGEST:
                    content = archive.extractfile(member)
                    return content.read() if content is not None else None
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {str(path)!r}") from None
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, OSError) as error:
        raise UsageError(f"{path} is not a Retinue archive: {error}") from error
    return None


def _decoded(path: Path, content: bytes | None) -> KeptSchedules:
    if content is None:
        return KeptSchedules()
    try:
        return decode_schedules(content, path / SCHEDULES)
    except RetinueError as error:
        raise UsageError(f"{path} cannot be imported: {error}") from error


def _owned(kept: KeptSchedules, owner: OwnerId | None) -> KeptSchedules:
    """Assign all schedules to one owner; of several with the same id, the first is kept."""
    if owner is None:
        return kept
    stored = {
        one.schedule.id: structs.replace(one, schedule=structs.replace(one.schedule, owner=owner))
        for one in reversed(kept.schedules)
    }
    return structs.replace(
        kept,
        schedules=list(stored.values()),
        slots={owner: dict(ChainMap(*map(dict, kept.slots.values())))},
        marks={owner: dict(ChainMap(*map(dict, kept.marks.values())))},
    )


async def _refuse_others(store: ScheduleStore, kept: KeptSchedules) -> None:
    known: list[str] = []
    for owner in {one.schedule.owner for one in kept.schedules}:
        here = {one.schedule.id: one.schedule for one in await store.all(owner)}
        schedules = [one.schedule for one in kept.schedules if one.schedule.owner == owner]
        known += [one.id for one in schedules if here.get(one.id, one) != one]
    if known:
        raise ConflictError(
            f"these schedules already exist: {', '.join(sorted(known))}; delete them first, "
            "or import into another data directory",
            details={"schedules": sorted(known)},
        )
