"""Decodes a complete agent for insertion into the database."""

from collections.abc import Iterator, Sequence
from typing import cast

import msgspec
from msgspec import Struct

from retinue.agents.descriptor import decode_descriptor, identity_of
from retinue.agents.inbox import Item, ItemBody, ItemKind, Sender
from retinue.agents.request import Request
from retinue.agents.state import decode_state
from retinue.agents.usage import Spent, spent
from retinue.errors import ConflictError
from retinue.records import AnyRecord, SystemRecord, UserRecord, decode_record
from retinue.stores.agent_export import EndedItem, HeldItem, StoredAgent
from retinue.stores.port import NewAgent, NewDelivery
from retinue.stores.sqlite.preconditions import KnownKeys

KeyedItem = tuple[Item, str | None, str]  # with its dedupe key and digest

_USAGE_MARKS = (b'"usage":', b'"kind":"handoff"')  # only such records are decoded


class _Keyed(Struct):
    key: str | None


class Restored:
    """An agent decoded before anything changes, so that an invalid one fails alone."""

    def __init__(self, stored: StoredAgent, keys: KnownKeys) -> None:
        self.new = NewAgent(
            id=stored.id,
            owner=stored.owner,
            descriptor=decode_descriptor(stored.descriptor),
            definition=stored.definition,
            state=decode_state(stored.state),
        )
        self.identity = stored_identity(stored)
        self.records = stored.history.splitlines()
        held = msgspec.json.decode(stored.inbox, type=list[HeldItem])
        self.items: list[KeyedItem] = [(entry.item, entry.key, entry.digest) for entry in held]
        self.items += _ended_items(stored, self.records)
        self.items.sort(key=lambda entry: entry[0].seq)
        self._check_keys(keys)
        self.requests = msgspec.json.decode(stored.requests, type=list[Request])
        self.spent: list[Spent] = [*spent(list(_with_usage(self.records)), stored.definition)]
        self.deliveries = msgspec.json.decode(stored.outbox, type=list[NewDelivery])

    def _check_keys(self, keys: KnownKeys) -> None:
        for _, key, _ in self.items:
            first = keys.first(self.new.owner, key)
            if first is not None:
                raise ConflictError(
                    f"the key {key!r} of a message to {self.new.id!r} was also used for a "
                    f"message to {first[0].agent_id!r}: delete that agent first"
                )


def stored_identity(stored: StoredAgent) -> str:
    ended = stored.id if stored.lifecycle != "active" else None
    return identity_of(decode_descriptor(stored.descriptor), ended=ended)


def stored_keys(stored: StoredAgent) -> Iterator[str]:
    for kept in (stored.inbox, stored.ended):
        for entry in msgspec.json.decode(kept, type=list[_Keyed]):
            if entry.key is not None:
                yield entry.key


def _ended_items(stored: StoredAgent, records: Sequence[bytes]) -> Iterator[KeyedItem]:
    """Items that have ended; their text is taken from the history."""
    ended = msgspec.json.decode(stored.ended, type=list[EndedItem])
    texts = _texts(records, {item.id for item in ended})
    for old in ended:
        sender = Sender(type="user" if old.kind == "message" else "engine")
        item = Item(
            id=old.id,
            agent_id=stored.id,
            seq=old.seq,
            kind=cast("ItemKind", old.kind),
            silent=old.silent,
            body=ItemBody(text=texts.get(old.id, ""), sender=sender),
            admitted_at=old.admitted_at,
            fate=old.fate,
            reason=old.reason,
            code=old.code,
            reply_seq=old.reply_seq,
            ended_at=old.ended_at,
        )
        yield item, old.key, old.digest


def _texts(records: Sequence[bytes], wanted: set[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for line in reversed(records):
        if len(texts) == len(wanted):
            break
        if b'"item":' in line:
            record = decode_record(line)
            if isinstance(record, UserRecord | SystemRecord) and record.item in wanted:
                texts[str(record.item)] = record.text
    return texts


def _with_usage(lines: Sequence[bytes]) -> Iterator[AnyRecord]:
    for line in lines:
        if any(mark in line for mark in _USAGE_MARKS):
            yield decode_record(line)
