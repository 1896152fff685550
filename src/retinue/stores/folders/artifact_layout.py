"""How lists, notes and views lie in plain files, and how they are read back.

artifacts/<owner>/lists/<id>.json    a list with its items, in order
artifacts/<owner>/notes/<id>.md      a note: front matter, then its text
artifacts/<owner>/views/<id>.json    a view
artifacts/<owner>/changes.jsonl      the last changes, one a line: what undoing needs
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
    """Give the owners who have a folder."""
    try:
        names = sorted(path.name for path in (data / ARTIFACTS).iterdir() if path.is_dir())
    except FileNotFoundError:
        return []
    return [OwnerId(unquote(name)) for name in names]


def file_of(folder: Path, kind: str, artifact_id: str) -> Path:
    if not is_file_id(artifact_id):
        raise ValueError(f"{artifact_id!r} cannot be the name of a file")
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
    """Read everything of one owner; what cannot be read is told, by file and reason."""
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
        raise ValueError(f"it holds {first.artifact.id!r}")
    if FOLDERS.get(kind_of(first.artifact)) != path.parent.name:
        raise ValueError(f"it holds a {kind_of(first.artifact)}")
    if not all(isinstance(one.artifact, ListItem) for one in items):
        raise ValueError("it holds something that is no item")
    if not all(0 < one.version < _LARGEST for one in found):
        raise ValueError("it holds a version that is none")
    return found


def _claim(read: Sequence[StoredArtifact], path: Path, taken: dict[object, Path]) -> None:
    """Refuse a file with an id or a name that another one has: one of them would be lost."""
    first = read[0].artifact
    claims: list[object] = [one.artifact.id for one in read]
    claims.append((kind_of(first), folded(name_of(first))))
    if len({*claims}) < len(claims):
        raise ValueError("two of its items have the same id")
    for claim in claims:
        if claim in taken:
            raise ValueError(f"what it holds is in {taken[claim].name} too, by id or by name")
    taken.update(dict.fromkeys(claims, path))


def _read_note(content: bytes) -> StoredArtifact:
    head, fence, text = content.removeprefix(_FENCE).partition(b"\n" + _FENCE)
    if not content.startswith(_FENCE) or not fence:
        raise ValueError("it has no front matter between lines of ---")
    # Every value as it is written: a title may look like a number, a day or a yes.
    front: Any = yaml.load(head, Loader=yaml.BaseLoader)
    if not isinstance(front, dict):
        raise ValueError("its front matter has no names and values")
    front = cast("dict[str, Any]", front)
    version = int(front.pop("version", 1))
    note = msgspec.convert(front | {"content": text.decode()}, Note)
    return StoredArtifact(artifact=note, version=version)


def _read_changes(folder: Path, owner: OwnerId) -> list[ArtifactChange]:
    """Read the last changes; a torn line costs itself."""
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
