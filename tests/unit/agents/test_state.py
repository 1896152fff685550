"""States as they are stored, also by versions that kept more."""

import msgspec

from retinue.agents.inbox import Sender
from retinue.agents.state import AgentState, Turn, decode_state
from retinue.ids import ItemId

OLDER = b"""{
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-02T00:00:00Z",
    "providerSession": "resp_1",
    "turn": {"items": ["m1"], "firstSeq": 3, "startedAt": "2026-01-02T00:00:00Z", "steps": 2}
}"""


def test_fields_that_are_no_longer_kept_are_passed_over() -> None:
    state = decode_state(OLDER)
    assert state.turn == Turn(items=[ItemId("m1")], first_seq=3, steps=2)
    assert state == msgspec.structs.replace(
        AgentState(created_at=state.created_at, updated_at=state.updated_at), turn=state.turn
    )
    older = b'{"type": "user", "id": "7", "connector": "telegram", "messageIds": ["1", "2"]}'
    assert msgspec.json.decode(older, type=Sender) == Sender(
        type="user", id="7", connector="telegram"
    )
