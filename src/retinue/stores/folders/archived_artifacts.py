"""The lists, notes and views of an archive: one file before the agents."""

import asyncio
from pathlib import Path

import msgspec
from msgspec.structs import replace

from retinue.agents.artifact import kind_of, name_of
from retinue.errors import ConflictError, UsageError
from retinue.ids import OwnerId
from retinue.stores.agent_export import ArtifactReader
from retinue.stores.artifact_port import ArtifactStore, KeptArtifacts
from retinue.stores.folders.archived_schedules import read_beginning
from retinue.stores.folders.artifact_layout import KEPT_CHANGES, is_file_id

ARTIFACT_MEMBER = "artifacts.json"

_decoder = msgspec.json.Decoder(list[KeptArtifacts])


def encode_artifacts(reader: ArtifactReader) -> bytes:
    return msgspec.json.encode([reader.kept(owner, KEPT_CHANGES) for owner in reader.owners()])


async def checked_artifacts(
    path: Path, store: ArtifactStore, owner: OwnerId | None
) -> list[KeptArtifacts]:
    """Read the artifacts, for their own owner or for another.

    Raises `ConflictError` with those that already exist with different content.
    """
    content = await asyncio.to_thread(read_beginning, path, ARTIFACT_MEMBER)
    try:
        kept = [] if content is None else _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be imported: {ARTIFACT_MEMBER}: {error}") from error
    whole = [one if owner is None else _owned(one, owner) for one in kept]
    for one in whole:
        await _refuse_others(path, store, one)
    return whole


def _owned(kept: KeptArtifacts, owner: OwnerId) -> KeptArtifacts:
    changes = [replace(change, owner=owner, number=0) for change in kept.changes]
    return replace(kept, owner=owner, changes=changes)


async def _refuse_others(path: Path, store: ArtifactStore, kept: KeptArtifacts) -> None:
    known: list[str] = []
    for one in kept.artifacts:
        if not is_file_id(one.artifact.id):
            raise UsageError(f"{path} cannot be imported: invalid id {one.artifact.id!r}")
        here = await store.get(kept.owner, one.artifact.id)
        if here is not None and here.artifact != one.artifact:
            known.append(one.artifact.id)
        elif here is None and one.list_id is None:
            kind, name = kind_of(one.artifact), name_of(one.artifact)
            if await store.named(kept.owner, kind, name):
                known.append(name)
    if known:
        shown = ", ".join(known[:20])
        raise ConflictError(
            f"these lists, notes and views already exist: {shown}; delete them first, "
            "or import into another data directory",
            details={"artifacts": known},
        )
