"""Converts database rows to the types of the port."""

from collections.abc import Sequence
from typing import Any

import msgspec

from retinue.agents.descriptor import decode_descriptor
from retinue.agents.inbox import Item, ItemBody
from retinue.agents.request import Request
from retinue.agents.state import decode_state
from retinue.clock import from_microseconds
from retinue.stores.port import Agent, AuditEntry, Delivery

Row = Sequence[Any]

_bodies = msgspec.json.Decoder(ItemBody)
_requests = msgspec.json.Decoder(Request)
_texts = msgspec.json.Decoder(dict[str, str])
_values = msgspec.json.Decoder(dict[str, Any])


class _Listed(msgspec.Struct, rename="camel"):
    name: str | None = None
    title: str | None = None
    last_snippet: str | None = None


_listed = msgspec.json.Decoder(_Listed)


def state_mentions(state: bytes, text: str) -> bool:
    """Whether the name, the title or the last snippet contains the case-folded text."""
    listed = _listed.decode(state)
    shown = (listed.name, listed.title, listed.last_snippet)
    return any(text in one.casefold() for one in shown if one)


def agent_of(row: Row) -> Agent:
    agent_id, owner, kind, descriptor, definition, lifecycle, state, queued, running = row[:9]
    return Agent(
        id=agent_id,
        owner=owner,
        kind=kind,
        descriptor=decode_descriptor(descriptor),
        definition=definition,
        state=decode_state(state),
        lifecycle=lifecycle,
        queued=queued,
        running=running,
    )


def item_of(row: Row) -> Item:
    _, item_id, agent_id, seq, kind, silent, body, admitted, fate, reason, reply, ended, code = row[
        :13
    ]
    return Item(
        id=item_id,
        agent_id=agent_id,
        seq=seq,
        kind=kind,
        silent=bool(silent),
        body=_bodies.decode(body),
        admitted_at=from_microseconds(admitted),
        fate=fate,
        reason=reason,
        code=code,
        reply_seq=reply,
        ended_at=None if ended is None else from_microseconds(ended),
    )


def delivery_of(row: Row) -> Delivery:
    number, agent_id, key, connector, channel, text, attempts, due = row
    return Delivery(
        id=number,
        agent_id=agent_id,
        key=key,
        connector=connector,
        channel=channel,
        text=text,
        attempts=attempts,
        due_at=from_microseconds(due),
    )


def audit_entry(row: Row) -> AuditEntry:
    number, agent_id, at, action, detail = row
    return AuditEntry(
        number=number,
        agent_id=agent_id,
        at=from_microseconds(at),
        action=action,
        detail=_texts.decode(detail),
    )


def request_of(row: Row) -> Request:
    body, status, decided_at, decided_by, note, answers = row
    request = _requests.decode(body)
    if status == "pending":
        return request
    return msgspec.structs.replace(
        request,
        status=status,
        decided_at=None if decided_at is None else from_microseconds(decided_at),
        decided_by=decided_by,
        note=note,
        values={} if answers is None else _values.decode(answers),
    )
