"""Identity: which descriptors find the same agent again."""

import pytest

from retinue.agents.descriptor import (
    CronDescriptor,
    Descriptor,
    HeartbeatDescriptor,
    PermanentDescriptor,
    SubagentDescriptor,
    SwarmDescriptor,
    SystemDescriptor,
    UserDescriptor,
    decode_descriptor,
    encode_descriptor,
    identity_of,
    kind_of,
    parent_of,
)
from retinue.errors import UsageError
from retinue.ids import AgentId

A, B = AgentId("a23456789012345678901234"), AgentId("b23456789012345678901234")


def permanent(name: str, agent_id: AgentId = A) -> PermanentDescriptor:
    return PermanentDescriptor(id=agent_id, name=name, description="d", system_prompt="p")


ALL: dict[str, Descriptor] = {
    '{"type":"user","connector":"web","userId":"u","channelId":"c"}': UserDescriptor(
        connector="web", user_id="u", channel_id="c"
    ),
    '{"type":"cron","id":"daily"}': CronDescriptor(id="daily"),
    '{"type":"heartbeat"}': HeartbeatDescriptor(),
    '{"type":"system","tag":"keeper"}': SystemDescriptor(tag="keeper"),
    f'{{"type":"subagent","id":"{A}","parentAgentId":"{B}","name":"n"}}': SubagentDescriptor(
        id=A, parent_agent_id=B, name="n"
    ),
    f'{{"type":"swarm","id":"s","contactAgentId":"{B}"}}': SwarmDescriptor(
        id="s", contact_agent_id=B
    ),
    f'{{"type":"permanent","id":"{A}","name":"n","description":"d","systemPrompt":"p"}}': permanent(
        "n"
    ),
}


@pytest.mark.parametrize(("written", "descriptor"), ALL.items())
def test_each_kind_is_written_as_the_seeds_write_it(written: str, descriptor: Descriptor) -> None:
    assert encode_descriptor(descriptor).decode() == written
    assert decode_descriptor(written) == descriptor
    assert f'"type":"{kind_of(descriptor)}"' in written


def test_no_two_kinds_share_an_identity() -> None:
    assert len({identity_of(descriptor) for descriptor in ALL.values()}) == len(ALL)


def test_only_a_person_s_chat_is_foreground() -> None:
    assert [kind_of(d) for d in ALL.values() if d.is_foreground] == ["user"]


def test_the_heartbeat_is_the_system_agent_of_that_tag() -> None:
    assert identity_of(HeartbeatDescriptor()) == identity_of(SystemDescriptor(tag="heartbeat"))


def test_a_chat_is_told_apart_by_all_three_parts() -> None:
    chats = [
        UserDescriptor(connector=connector, user_id=user, channel_id=channel)
        for connector in ("a", "b")
        for user in ("a", 'a","b')
        for channel in ("a", "b")
    ]
    assert len({identity_of(chat) for chat in chats}) == len(chats)


def test_a_swarm_has_one_agent_for_each_contact() -> None:
    first = SwarmDescriptor(id="s", contact_agent_id=A)
    assert identity_of(first) != identity_of(SwarmDescriptor(id="s", contact_agent_id=B))
    assert parent_of(first) == A


def test_a_permanent_agent_s_name_is_unique_without_case() -> None:
    assert identity_of(permanent("Ledger  Keeper")) == identity_of(permanent("ledger keeper", B))
    assert identity_of(permanent("ledger")) != identity_of(permanent("keeper"))


@pytest.mark.parametrize(
    "written",
    [
        '{"type":"robot"}',
        '{"type":"cron"}',
        '{"type":"cron","id":"x","extra":1}',
        "[]",
        "not json",
    ],
)
def test_a_descriptor_that_is_not_one_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        decode_descriptor(written)
