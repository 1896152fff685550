"""How messages ended: the newest in the state, the others in a file that is only appended to.

The state is written again and again, so it must not grow with the past; a file that is appended to
costs a sync. So fates move from the one to the other several at a time.
"""

from dataclasses import replace

import msgspec

from retinue.stores.whole import EndedItem, HeldItem, StoredAgent

_TOGETHER = 8


def settle(stored: StoredAgent) -> tuple[StoredAgent, bytes]:
    """Take out what can move, as lines: fates of messages before the first that has none yet."""
    ended = msgspec.json.decode(stored.ended, type=list[EndedItem])
    if len(ended) < _TOGETHER:
        return stored, b""
    inbox = msgspec.json.decode(stored.inbox, type=list[HeldItem])
    first_open = min((held.item.seq for held in inbox), default=stored.last_item + 1)
    moving = [item for item in ended if item.seq < first_open]
    if len(moving) < _TOGETHER:
        return stored, b""
    staying = ended[len(moving) :]
    lines = b"".join(msgspec.json.encode(item) + b"\n" for item in moving)
    settled = replace(stored, ended=msgspec.json.encode(staying), settled=moving[-1].seq)
    return settled, lines
