"""The file format of lists, notes and views, and its parser.

artifacts/<owner>/lists/<id>.json    a list with its items, in order
artifacts/<owner>/notes/<id>.md      a note: front matter, then its text
artifacts/<owner>/views/<id>.json    a view
artifacts/<owner>/changes.jsonl      the most recent changes, one per line, for undo
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, unquote

import msgspec
import yaml
from msgspec import Struct
from msgspec.structs import replace

from retinue.agents.artifact import ListItem, Note, folded, kind_of, name_of
from retinue.ids import OwnerId
from retinue.stores.artifact_port import ArtifactChange, KeptArtifacts, StoredArtifact

ARTIFACTS = "artifacts"
CHANGES = "changes.jsonl"
FOLDERS = {"list": "lists", "note": "notes", "view": "views"}
KEPT_CHANGES = 200

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_FENCE = b"---\n"
_LARGEST = 1 << 53


class _ListFile(Struct, kw_only=True):
    list: StoredArtifact
    items: Sequence[StoredArtifact]
    v: int = 1


_lists = msgspec.json.Decoder(_ListFile)
_views = msgspec.json.Decoder(StoredArtifact)
_changes = msgspec.json.Decoder(ArtifactChange)


def owner_folder(data: Path, owner: OwnerId) -> Path:
    return data / ARTIFACTS / quote(owner, safe="").replace(".", "%2E")


def owners_of(data: Path) -> list[OwnerId]:
    """The owners that have a folder."""
    try:
        names = sorted(path.name for path in (data / ARTIFACTS).iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    return [OwnerId(unquote(name)) for name in names]


def file_of(folder: Path, kind: str, artifact_id: str) -> Path:
    if not is_file_id(artifact_id):
        raise ValueError(f"{artifact_id!r} is not a valid file name")
    suffix = "md" if kind == "note" else "json"
    return folder / FOLDERS[kind] / f"{artifact_id}.{suffix}"


def is_file_id(artifact_id: str) -> bool:
    return _ID.fullmatch(artifact_id) is not None


def list_file(one: StoredArtifact, items: Sequence[StoredArtifact]) -> bytes:
    return _indented(_ListFile(list=one, items=items))


def view_file(one: StoredArtifact) -> bytes:
    return _indented(one)


def note_file(one: StoredArtifact, note: Note) -> bytes:
    front: dict[str, Any] = msgspec.to_builtins(replace(note, content=""))
    head = yaml.safe_dump(
        front | {"tags": list(note.tags), "version": one.version},
        allow_unicode=True,
        sort_keys=False,
        width=1000,
    )
    return _FENCE + head.encode() + _FENCE + note.content.encode()


def change_line(change: ArtifactChange) -> bytes:
    return msgspec.json.encode(change) + b"\n"


def read_owner_folder(folder: Path, owner: OwnerId) -> tuple[KeptArtifacts, list[tuple[Path, str]]]:
    """Read everything of one owner; returns unreadable files with the reason."""
    found: list[StoredArtifact] = []
    problems: list[tuple[Path, str]] = []
    taken: dict[object, Path] = {}
    for path in artifact_files(folder):
        try:
            read = _read(path)
            _claim(read, path, taken)
        except (OSError, ValueError, msgspec.MsgspecError, yaml.YAMLError) as error:
            problems.append((path, f"{path} cannot be read ({error})"))
        except (TypeError, RecursionError) as error:
            problems.append((path, f"{path} cannot be read ({type(error).__name__})"))
        else:
            found += read
    kept = KeptArtifacts(owner=owner, artifacts=found, changes=_read_changes(folder, owner))
    return kept, problems


def artifact_files(folder: Path) -> Iterator[Path]:
    for name, suffix in (("lists", ".json"), ("notes", ".md"), ("views", ".json")):
        for path in sorted((folder / name).glob(f"*{suffix}")):
            if is_file_id(path.stem):
                yield path


def _read(path: Path) -> list[StoredArtifact]:
    content = path.read_bytes()
    match path.parent.name:
        case "lists":
            whole = _lists.decode(content)
            one, items = whole.list, whole.items
            places = [
                replace(item, list_id=one.artifact.id, position=position)
                for position, item in enumerate(items)
            ]
            found = [one, *places]
        case "notes":
            found = [_read_note(content)]
        case _:
            found = [_views.decode(content)]
    first, *items = found
    if first.artifact.id != path.stem:
        raise ValueError(f"it contains {first.artifact.id!r}")
    if FOLDERS.get(kind_of(first.artifact)) != path.parent.name:
        raise ValueError(f"it contains a {kind_of(first.artifact)}")
    if not all(isinstance(one.artifact, ListItem) for one in items):
        raise ValueError("an entry of its items is not an item")
    if not all(0 < one.version < _LARGEST for one in found):
        raise ValueError("it contains an invalid version")
    return found


def _claim(read: Sequence[StoredArtifact], path: Path, taken: dict[object, Path]) -> None:
    """Refuse a file with the id or name of another one: one of them would be lost."""
    first = read[0].artifact
    claims: list[object] = [one.artifact.id for one in read]
    claims.append((kind_of(first), folded(name_of(first))))
    if len({*claims}) < len(claims):
        raise ValueError("two of its items have the same id")
    for claim in claims:
        if claim in taken:
            raise ValueError(f"{taken[claim].name} has the same id or name")
    taken.update(dict.fromkeys(claims, path))


def _read_note(content: bytes) -> StoredArtifact:
    head, fence, text = content.removeprefix(_FENCE).partition(b"\n" + _FENCE)
    if not content.startswith(_FENCE) or not fence:
        raise ValueError("it has no front matter between lines of ---")
    # All values stay strings: a title may look like a number, a date or a boolean.
    front: Any = yaml.load(head, Loader=yaml.BaseLoader)
    if not isinstance(front, dict):
        raise ValueError("its front matter is not a mapping")
    front = cast("dict[str, Any]", front)
    version = int(front.pop("version", 1))
    note = msgspec.convert(front | {"content": text.decode()}, Note)
    return StoredArtifact(artifact=note, version=version)


def _read_changes(folder: Path, owner: OwnerId) -> list[ArtifactChange]:
    """Read the most recent changes; unreadable lines are skipped."""
    try:
        lines = (folder / CHANGES).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found: dict[str, ArtifactChange] = {}
    for line in lines:
        try:
            change = _changes.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if not change.edits or not all(edit.before or edit.after for edit in change.edits):
            continue
        found[change.id] = replace(change, owner=owner)
        if change.undoes in found:
            found[change.undoes] = replace(found[change.undoes], undone_by=change.id)
    return list(found.values())[-KEPT_CHANGES:]


def _indented(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
