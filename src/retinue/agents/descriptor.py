"""Descriptors: the identity of an agent, set at creation."""

from typing import ClassVar, Literal

import msgspec
from msgspec import Struct

from retinue.errors import UsageError
from retinue.ids import AgentId

Kind = Literal["user", "cron", "heartbeat", "system", "subagent", "swarm", "permanent"]


class Route(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A chat that is currently answered by another agent."""

    agent_id: AgentId  # the chat's own agent
    connector: str
    channel: str


class _Descriptor(
    Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", forbid_unknown_fields=True
):
    is_foreground: ClassVar[bool] = False  # whether a person waits for what it does


class UserDescriptor(_Descriptor, frozen=True, kw_only=True, tag="user"):
    """A person's chat."""

    is_foreground: ClassVar[bool] = True
    connector: str
    user_id: str
    channel_id: str


class CronDescriptor(_Descriptor, frozen=True, kw_only=True, tag="cron"):
    """A schedule entry."""

    id: str


class HeartbeatDescriptor(_Descriptor, frozen=True, kw_only=True, tag="heartbeat"):
    """The one agent that runs the heartbeat batch."""


class SystemDescriptor(_Descriptor, frozen=True, kw_only=True, tag="system"):
    """A built-in agent with a configured tag."""

    tag: str


class SubagentDescriptor(_Descriptor, frozen=True, kw_only=True, tag="subagent"):
    """A background agent with a parent."""

    id: AgentId
    parent_agent_id: AgentId
    name: str


class SwarmDescriptor(_Descriptor, frozen=True, kw_only=True, tag="swarm"):
    """The agent of a swarm for one contact."""

    id: str
    contact_agent_id: AgentId


class PermanentDescriptor(_Descriptor, frozen=True, kw_only=True, tag="permanent"):
    """A background agent with a stable name and prompt."""

    id: AgentId
    name: str
    description: str
    system_prompt: str


Descriptor = (
    UserDescriptor
    | CronDescriptor
    | HeartbeatDescriptor
    | SystemDescriptor
    | SubagentDescriptor
    | SwarmDescriptor
    | PermanentDescriptor
)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Descriptor)


def encode_descriptor(descriptor: Descriptor) -> bytes:
    return _encoder.encode(descriptor)


def decode_descriptor(data: bytes | str) -> Descriptor:
    """Decode a descriptor. Raises `UsageError` for unknown types and keys."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise UsageError(f"descriptor: {error}") from error


def kind_of(descriptor: Descriptor) -> Kind:
    match descriptor:
        case UserDescriptor():
            return "user"
        case CronDescriptor():
            return "cron"
        case HeartbeatDescriptor():
            return "heartbeat"
        case SystemDescriptor():
            return "system"
        case SubagentDescriptor():
            return "subagent"
        case SwarmDescriptor():
            return "swarm"
        case PermanentDescriptor():
            return "permanent"


def parent_of(descriptor: Descriptor) -> AgentId | None:
    """Return the parent or contact that the descriptor names."""
    match descriptor:
        case SubagentDescriptor(parent_agent_id=parent):
            return parent
        case SwarmDescriptor(contact_agent_id=contact):
            return contact
        case _:
            return None


def identity_of(descriptor: Descriptor, *, ended: AgentId | None = None) -> str:
    """Return the unique key of a descriptor, which finds its agent again.

    The parts are encoded as JSON, so that no part can imitate another key. The heartbeat and the
    system agent with the tag `heartbeat` share one key. A permanent agent's key is its name in
    lower case, so that an owner cannot have two with the same name. When an agent ends, its key
    becomes free for a new agent, except for a chat.
    """
    if ended is not None and not isinstance(descriptor, UserDescriptor):
        return _encoder.encode(["agent", ended]).decode()
    match descriptor:
        case UserDescriptor(connector=connector, user_id=user, channel_id=channel):
            parts = ["user", connector, user, channel]
        case CronDescriptor(id=schedule):
            parts = ["cron", schedule]
        case HeartbeatDescriptor() | SystemDescriptor(tag="heartbeat"):
            parts = ["system", "heartbeat"]
        case SystemDescriptor(tag=tag):
            parts = ["system", tag]
        case SubagentDescriptor(id=agent):
            parts = ["agent", agent]
        case PermanentDescriptor(name=name):
            parts = ["permanent", " ".join(name.split()).casefold()]
        case SwarmDescriptor(id=swarm, contact_agent_id=contact):
            parts = ["swarm", swarm, contact]
    return _encoder.encode(parts).decode()
