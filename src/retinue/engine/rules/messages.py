"""What may enter an inbox, and whose."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import blake2b

import msgspec

from retinue.agents.descriptor import (
    Descriptor,
    HeartbeatDescriptor,
    Route,
    SwarmDescriptor,
    SystemDescriptor,
)
from retinue.agents.inbox import ItemBody, Sender
from retinue.errors import UsageError
from retinue.ids import ItemId, new_item_id
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    FileReference,
    NoteRecord,
    RunRecord,
    SystemRecord,
    UserRecord,
)
from retinue.settings import Settings
from retinue.stores.port import NewItem
from retinue.text import clean_text

LONGEST_KEY = 256

_encoder = msgspec.json.Encoder()


def configured_definition(descriptor: Descriptor, settings: Settings) -> str | None:
    """The definition that the settings give this agent; one that they do not know is refused."""
    tags, swarms = settings.agents.system_tags, settings.agents.swarms
    match descriptor:
        case HeartbeatDescriptor() | SystemDescriptor(tag="heartbeat"):
            return tags.get("heartbeat")
        case SystemDescriptor(tag=tag):
            if tag not in tags:
                raise UsageError(f"no system agent has the tag {tag!r} ({_configured(tags)})")
            return tags[tag]
        case SwarmDescriptor(id=swarm):
            if swarm not in swarms:
                raise UsageError(f"there is no swarm {swarm!r} ({_configured(swarms)})")
            return swarms[swarm]
        case _:
            return None


def _configured(names: Iterable[str]) -> str:
    return f"configured: {', '.join(sorted(names)) or 'none'}"


def checked_text(text: str, files: Sequence[FileReference], longest: int) -> str:
    """Clean the text; an empty or over-long message is refused."""
    text = clean_text(text)
    if not text.strip() and not files:
        raise UsageError("the message is empty: send some text or a file")
    if len(text) > longest:
        raise UsageError(
            f"the message has {len(text)} characters, more than the {longest} allowed: "
            "send it as a file instead",
            details={"characters": len(text), "limit": longest},
        )
    return text


def checked_key(key: str | None) -> str | None:
    """Clean a dedupe key; an empty or over-long one is refused."""
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY:
        raise UsageError(f"a key has 1 to {LONGEST_KEY} characters")
    return clean_text(key)


def new_message(
    text: str,
    *,
    files: Sequence[FileReference],
    silent: bool,
    key: str | None,
    sender: Sender,
    at: datetime,
    route: Route | None = None,
) -> NewItem:
    key = checked_key(key)
    body = ItemBody(text=text, sender=sender, files=list(files), route=route)
    return NewItem(
        id=new_item_id(),
        kind="message",
        body=body,
        admitted_at=at,
        silent=silent,
        dedupe_key=key,
        digest=digest_of(body, silent=silent) if key is not None else "",
    )


def new_withdrawal(about: ItemId, sender: Sender, at: datetime) -> NewItem:
    """Ask for an item to be cancelled, if it is not done with yet."""
    body = ItemBody(text="", sender=sender, about=about)
    return NewItem(id=new_item_id(), kind="withdrawal", body=body, admitted_at=at)


def digest_of(body: ItemBody, *, silent: bool) -> str:
    """Tell a repeat from another message under the same key."""
    said = _encoder.encode([body.text, silent, [file.path for file in body.files]])
    return blake2b(said, digest_size=16).hexdigest()


def reply_text(record: AnyRecord | None) -> str:
    match record:
        case AssistantRecord():
            return record.text
        case NoteRecord() | RunRecord():
            return record.text
        case UserRecord() | SystemRecord():
            return ""  # a silent message: to be recorded was all it asked for
        case _:
            return ""
