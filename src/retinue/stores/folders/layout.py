"""The contents of an agent's folder, and how it is read and written.

agents/<id>/descriptor.json    what the agent is; changes only for permanent agents
agents/<id>/state.json         its state, and the messages that are not in the history yet
agents/<id>/history.jsonl      one record per line; append-only
agents/<id>/fates.jsonl        the outcome of messages, one per line; the newest are in the state
agents/<id>/files/             its own files
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from retinue.agents.descriptor import decode_descriptor
from retinue.agents.request import Request
from retinue.agents.state import Lifecycle, decode_state
from retinue.errors import StoreDamagedError, UsageError
from retinue.ids import AgentId, OwnerId, is_agent_id
from retinue.stores.agent_export import EndedItem, HeldItem, StoredAgent
from retinue.stores.folders.atomic_files import cut_open_file
from retinue.stores.port import NewDelivery

AGENTS = "agents"
DESCRIPTOR = "descriptor.json"
STATE = "state.json"
HISTORY = "history.jsonl"
FATES = "fates.jsonl"
FILES = "files"

_FATE_BATCH = 8  # fates that are moved at a time
_TAIL = 64 * 1024


class _Envelope(Struct, kw_only=True, rename="camel"):
    """The fields of `state.json` in addition to those of the state."""

    id: str
    owner: str
    definition: str
    lifecycle: Lifecycle
    context_from: int
    records: int  # the number of lines in history.jsonl
    inbox: msgspec.Raw
    ended: msgspec.Raw
    outbox: msgspec.Raw
    requests: msgspec.Raw = msgspec.Raw(b"[]")
    settled: int = 0  # the last message whose fate is in fates.jsonl
    v: int = 1
    cursor: int = 0  # the feed cursor when this was written


class _Numbered(Struct):
    seq: int


_encode = msgspec.json.encode
_envelopes = msgspec.json.Decoder(_Envelope)
_numbered = msgspec.json.Decoder(_Numbered)
_fates = msgspec.json.Decoder(EndedItem)


def agent_folder(data: Path, agent_id: AgentId) -> Path:
    return data / AGENTS / agent_id


def folder_ids(data: Path) -> list[AgentId]:
    """The ids of all agents' folders; other names are ignored."""
    try:
        names = [path.name for path in (data / AGENTS).iterdir()]
    except FileNotFoundError:
        return []
    return [AgentId(name) for name in sorted(names) if is_agent_id(name)]


def state_file(stored: StoredAgent, cursor: int) -> bytes:
    """The content of `state.json`: the fields of the envelope, then those of the state."""
    envelope = _encode(
        _Envelope(
            id=stored.id,
            owner=stored.owner,
            definition=stored.definition,
            lifecycle=stored.lifecycle,
            context_from=stored.context_from,
            records=stored.last_seq,
            inbox=msgspec.Raw(stored.inbox),
            ended=msgspec.Raw(stored.ended),
            outbox=msgspec.Raw(stored.outbox),
            requests=msgspec.Raw(stored.requests),
            settled=stored.settled,
            cursor=cursor,
        )
    )
    own = stored.state.removeprefix(b"{")
    return envelope[:-1] + (b"," if own != b"}" else b"") + own + b"\n"


def move_fates(stored: StoredAgent) -> tuple[StoredAgent, bytes]:
    """Move fates out of the state; returns them as lines for `fates.jsonl`.

    The state is rewritten often, so it must not grow with the history; appending to a file costs a
    sync. Therefore several fates are moved at a time: those of messages before the first open one.
    """
    ended = msgspec.json.decode(stored.ended, type=list[EndedItem])
    if len(ended) < _FATE_BATCH:
        return stored, b""
    inbox = msgspec.json.decode(stored.inbox, type=list[HeldItem])
    first_open = min((held.item.seq for held in inbox), default=stored.last_item + 1)
    moving = [item for item in ended if item.seq < first_open]
    if len(moving) < _FATE_BATCH:
        return stored, b""
    # Byte for byte as stored: another spelling of a timestamp would count as a difference.
    spelled = msgspec.json.decode(stored.ended, type=list[msgspec.Raw])
    lines = b"".join(bytes(line) + b"\n" for line in spelled[: len(moving)])
    staying = msgspec.json.encode(spelled[len(moving) :])
    return replace(stored, ended=staying, settled=moving[-1].seq), lines


def read_state_cursor(folder: Path) -> int:
    return _envelopes.decode((folder / STATE).read_bytes()).cursor


def read_owner(folder: Path) -> OwnerId:
    return OwnerId(_envelopes.decode((folder / STATE).read_bytes()).owner)


def read_folder(folder: Path) -> StoredAgent:
    """Read an agent from its folder. Raises `StoreDamagedError` with the file."""
    stored = parse_folder(
        _read(folder / DESCRIPTOR), _read(folder / STATE), _read(folder / HISTORY), folder
    )
    if not stored.settled:
        return stored
    older = [msgspec.Raw(line) for line in settled_fates(folder).splitlines()]
    newest = msgspec.json.decode(stored.ended, type=list[msgspec.Raw])
    return replace(stored, ended=_encode([*older, *newest]), settled=0)


def settled_fates(folder: Path) -> bytes:
    """The whole lines of `fates.jsonl` that the state covers."""
    settled = _envelopes.decode((folder / STATE).read_bytes()).settled
    if not settled:
        return b""
    path = folder / FATES
    fates = _read(path)
    count = 0
    lines = fates[: fates.rfind(b"\n") + 1].splitlines(keepends=True)
    for line in lines:
        try:
            seq = _fates.decode(line).seq
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _unreadable(path, f"line {count + 1} is not a fate: {error}") from error
        if seq > settled:
            break
        count += 1
    return b"".join(lines[:count])


def parse_folder(descriptor: bytes, state: bytes, history: bytes, folder: Path) -> StoredAgent:
    """Parse the contents of an agent's files; `folder` is used in messages only."""
    descriptor = descriptor.strip()
    try:
        decode_descriptor(descriptor)
    except UsageError as error:
        raise _unreadable(folder / DESCRIPTOR, error) from error
    try:
        envelope = _envelopes.decode(state)
        decode_state(state)
        open_items = _with_commands(bytes(envelope.inbox))
        inbox = msgspec.json.decode(open_items, type=list[HeldItem])
        ended = msgspec.json.decode(envelope.ended, type=list[EndedItem])
        msgspec.json.decode(envelope.outbox, type=list[NewDelivery])
        msgspec.json.decode(envelope.requests, type=list[Request])
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError) as error:
        raise _unreadable(folder / STATE, error) from error
    whole = history[: history.rfind(b"\n") + 1]  # without a torn last line
    # Lines beyond the state are dropped: their items are still in its inbox.
    whole = b"".join(whole.splitlines(keepends=True)[: envelope.records])
    count = check_history(whole, folder / HISTORY)
    return StoredAgent(
        id=AgentId(envelope.id),
        owner=OwnerId(envelope.owner),
        descriptor=descriptor,
        definition=envelope.definition,
        lifecycle=envelope.lifecycle,
        context_from=envelope.context_from,
        state=_own_fields(state),
        last_seq=count,
        last_item=max(
            envelope.settled,
            max((held.item.seq for held in inbox), default=0),
            max((item.seq for item in ended), default=0),
        ),
        history=whole,
        inbox=open_items,
        ended=bytes(envelope.ended),
        outbox=bytes(envelope.outbox),
        requests=bytes(envelope.requests),
        settled=envelope.settled,
    )


def _with_commands(inbox: bytes) -> bytes:
    """Convert endings and switches, as earlier versions stored them, to commands."""
    if b'"ending"' not in inbox and b'"switch"' not in inbox:
        return inbox
    held: list[dict[str, Any]] = msgspec.json.decode(inbox)
    for item in [one["item"] for one in held]:
        body = item["body"]
        if item["kind"] == "ending":
            reason = body.get("text") or "its parent was terminated"
            body["command"] = {"type": "terminate", "reason": reason}
        elif item["kind"] == "switch":
            body["command"] = {"type": "switch", **body.pop("move", {})}
        else:
            continue
        item |= {"kind": "command", "silent": True}
    return _encode(held)


def check_history(history: bytes, path: Path) -> int:
    """Count the lines. Raises `StoreDamagedError` if one is missing or not a record."""
    count = 0
    for line in history.splitlines():
        seq = line_seq(line)
        count += 1
        if seq != count:
            found = "is not a record" if seq is None else f"has the seq {seq}"
            raise _unreadable(path, f"line {count} {found}")
    return count


def line_seq(line: bytes) -> int | None:
    """The seq of a history line, or None if it is not a record."""
    try:
        return _numbered.decode(line).seq
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def repair_tail(path: str) -> int | None:
    """Cut off a torn last line, save a copy of it, and return the seq of the last whole line.

    None means that the last line has no seq and the file must be written again.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        end, line = _last_line(descriptor, size)
        cut_open_file(path, descriptor, end)
        return line_seq(line) if line else 0
    finally:
        os.close(descriptor)


def _last_line(descriptor: int, size: int) -> tuple[int, bytes]:
    """The last whole line, and the offset where it ends."""
    reach = _TAIL
    while True:
        start = max(0, size - reach)
        tail = os.pread(descriptor, size - start, start)
        newline = tail.rfind(b"\n")
        before = tail.rfind(b"\n", 0, max(newline, 0))
        if start == 0 or before >= 0:
            return start + newline + 1, tail[before + 1 : max(newline, 0)]
        reach *= 8


def _own_fields(state: bytes) -> bytes:
    """The state without the envelope; unknown fields are kept."""
    fields: dict[str, msgspec.Raw] = msgspec.json.decode(state, type=dict[str, msgspec.Raw])
    for name in _Envelope.__struct_encode_fields__:
        fields.pop(name, None)
    return _encode(fields)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error.strerror) from error


def _unreadable(path: Path, why: object) -> StoreDamagedError:
    return StoreDamagedError(
        f"{path} cannot be read ({why}): repair it or move the folder away, "
        "then run `retinue serve --rebuild`"
    )
