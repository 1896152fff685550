"""Keeps the plain files of lists, notes and views in sync with the store."""

from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import msgspec

from retinue.agents.artifact import ArtifactId, ItemList, ListItem, Note, kind_of
from retinue.ids import OwnerId
from retinue.stores.agent_export import ArtifactReader
from retinue.stores.artifact_port import ArtifactChange
from retinue.stores.folders.artifact_layout import (
    ARTIFACTS,
    CHANGES,
    KEPT_CHANGES,
    artifact_files,
    change_line,
    file_of,
    list_file,
    note_file,
    owner_folder,
    view_file,
)
from retinue.stores.folders.atomic_files import append, replace_file, sync_paths

_PAGE = 200
_REACHED = "mirror.json"


class _Reached(msgspec.Struct):
    number: int


class ArtifactFiles:
    """Follows the change log: each change determines which files are written."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._reached: int | None = None
        self._lines: dict[OwnerId, int] = {}
        self.is_behind = True

    def follow(self, reader: ArtifactReader) -> None:
        self.is_behind = False  # before reading, so that later changes set it again
        try:
            self._follow(reader)
        except BaseException:
            self.is_behind = True
            raise

    def _follow(self, reader: ArtifactReader) -> None:
        oldest, newest = reader.bounds()
        if self._reached is None:
            self._reached = self._read_reached()
        if self._reached == newest:
            return
        if not oldest - 1 <= self._reached <= newest:
            self._write_all(reader)
            self._remember(newest)
        while changes := reader.changes(self._reached, _PAGE):
            self._write(reader, changes)
            self._remember(changes[-1].number)

    def _write(self, reader: ArtifactReader, changes: list[ArtifactChange]) -> None:
        touched: dict[OwnerId, dict[ArtifactId, str]] = defaultdict(dict)
        for change in changes:
            for edit in change.edits:
                for side in (edit.before, edit.after):
                    if side is None:
                        continue
                    if side.list_id is not None:
                        touched[change.owner][side.list_id] = "list"
                    else:
                        touched[change.owner][side.artifact.id] = kind_of(side.artifact)
        for owner, ids in touched.items():
            for artifact_id, kind in ids.items():
                self._write_one(reader, owner, artifact_id, kind)
            self._append(owner, [change for change in changes if change.owner == owner])

    def _write_one(
        self, reader: ArtifactReader, owner: OwnerId, artifact_id: ArtifactId, kind: str
    ) -> None:
        path = file_of(owner_folder(self._data, owner), kind, artifact_id)
        one = reader.get(owner, artifact_id)
        if one is None:
            with suppress(FileNotFoundError):
                path.unlink()
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        match one.artifact:
            case ItemList():
                content = list_file(one, reader.items(owner, artifact_id))
            case Note() as note:
                content = note_file(one, note)
            case ListItem():
                return
            case _:
                content = view_file(one)
        replace_file(str(path), content)

    def _append(self, owner: OwnerId, changes: list[ArtifactChange]) -> None:
        """Append lines; occasionally trims the file to the most recent changes."""
        path = owner_folder(self._data, owner) / CHANGES
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() and owner not in self._lines else None
        if before is not None:
            self._lines[owner] = before.count(b"\n")
        count = self._lines.get(owner, 0) + len(changes)
        if count > 2 * KEPT_CHANGES:
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
            kept = [*lines, *map(change_line, changes)][-KEPT_CHANGES:]
            replace_file(str(path), b"".join(kept))
            count = len(kept)
        else:
            torn = before is not None and before and not before.endswith(b"\n")
            append(str(path), (b"\n" if torn else b"") + b"".join(map(change_line, changes)))
            sync_paths([str(path)])
        self._lines[owner] = count

    def _write_all(self, reader: ArtifactReader) -> None:
        """Write all files again, and remove files of deleted artifacts."""
        for owner in reader.owners():
            kept = reader.kept(owner, KEPT_CHANGES)
            folder = owner_folder(self._data, owner)
            known: set[Path] = set()
            for one in kept.artifacts:
                if one.list_id is None:
                    kind = kind_of(one.artifact)
                    known.add(file_of(folder, kind, one.artifact.id))
                    self._write_one(reader, owner, one.artifact.id, kind)
            for path in artifact_files(folder):
                if path not in known:
                    path.unlink()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(str(folder / CHANGES), b"".join(map(change_line, kept.changes)))
            self._lines[owner] = len(kept.changes)

    def _read_reached(self) -> int:
        try:
            path = self._data / ARTIFACTS / _REACHED
            return msgspec.json.decode(path.read_bytes(), type=_Reached).number
        except FileNotFoundError:
            return 0
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return -1

    def _remember(self, number: int) -> None:
        folder = self._data / ARTIFACTS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(str(folder / _REACHED), msgspec.json.encode(_Reached(number)) + b"\n")
        self._reached = number
