"""How messages ended: the newest in the state, the others in a file that is only appended to.

The state is written again and again, so it must not grow with the past; a file that is appended to
costs a sync. So fates move from the one to the other several at a time.
"""

from dataclasses import replace

import msgspec

from retinue.stores.agent_export import EndedItem, HeldItem, StoredAgent

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
    # As the store spells them: another spelling of the same moment would be a difference.
    spelled = msgspec.json.decode(stored.ended, type=list[msgspec.Raw])
    lines = b"".join(bytes(line) + b"\n" for line in spelled[: len(moving)])
    staying = msgspec.json.encode(spelled[len(moving) :])
    return replace(stored, ended=staying, settled=moving[-1].seq), lines
