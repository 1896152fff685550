"""Creates subagents and sends them messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import structs

from retinue.agents.children import ChildEntry, ChildTerms, ChildUpdate
from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.inbox import ItemBody, ReplyTo, Sender, Trail
from retinue.definitions.definition import Definition
from retinue.definitions.subagent_config import SubagentConfig
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.background_agents import check_room
from retinue.engine.collaboration.delegation_chain import chain_of, refuse_endless
from retinue.engine.collaboration.services import CollaborationServices, new_agent
from retinue.engine.rules.messages import checked_text
from retinue.engine.subagents.file_copies import copy_files
from retinue.errors import RefusedError, RetinueError, UsageError
from retinue.ids import AgentId, SideName, derived_agent_id, new_item_id
from retinue.records import FileReference
from retinue.stores.port import Effects, NewAgent, NewItem, Post
from retinue.text import clean_json, clean_text
from retinue.tools.port import Pending, ToolOutput

_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildRequest:
    """A request to create a child."""

    config: SubagentConfig
    target: Definition
    side: SideName  # the side whose prompt lists the entry
    message: str
    name: str = ""
    attachments: Sequence[str] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """its own variables, encrypted for it"""
    is_late: bool = False
    """whether the call that requested it no longer waits"""

    @property
    def receives(self) -> SideName:
        resumable = self.config.resumable
        return resumable.receives_messages if resumable is not None else "side_a"


async def start_child(
    services: CollaborationServices, call: CallContext, wish: ChildRequest
) -> ToolOutput | Pending:
    """Create the child with its first message; both are committed with the call's result."""
    config, target = wish.config, wish.target
    refuse_endless(call, services.limits)
    refuse_more(call, config)
    await check_room(services, await services.store.agent(call.owner, call.agent_id))
    text = checked_text(wish.message, (), services.limits.message_characters)
    child = derived_agent_id(call.idempotency_key)
    named = _name(wish.name) or target.display_name
    files = await handed_over(services, call, wish.attachments, child)
    new = _new_child(call, wish, child, named)
    _send_arguments(call, new)
    entry = ChildEntry(
        reference=child,
        name=config.name,
        title=target.display_name,
        is_resumable=config.resumable is not None,
        is_blocking=config.blocking,
        thread_name=named,
        created_at=call.clock.now(),
        receives=wish.receives,
        side=wish.side,
        parent_communication=_communication(config),
    )
    call.emit(Effects(children=(entry,)))
    waiting = _send(
        call, new, text, files, entry, waits=config.blocking and not wish.is_late and not call.depth
    )
    if waiting is not None:
        return waiting
    return ToolOutput(
        text=f'Started the subagent "{named}" (reference: {child}). {_what_follows(entry)}'
    )


async def write_to_child(
    services: CollaborationServices,
    call: CallContext,
    entry: ChildEntry,
    message: str,
    paths: Sequence[str],
) -> ToolOutput | Pending:
    """Send a message to a resumable child; it starts a run or joins the current one."""
    refuse_endless(call, services.limits)
    text = checked_text(message, (), services.limits.message_characters)
    files = await handed_over(services, call, paths, entry.reference)
    update = ChildUpdate(reference=entry.reference, lifecycle="running")
    call.emit(Effects(children=(update,)))
    waiting = _send(
        call, entry.reference, text, files, entry, waits=entry.is_blocking and not call.depth
    )
    if waiting is not None:
        return waiting
    return ToolOutput(text=f"Sent to {entry.reference}. {_what_follows(entry)}")


def refuse_more(call: CallContext, config: SubagentConfig) -> None:
    """Enforce the instance limit of an entry."""
    most = config.resumable.max_instances if config.resumable is not None else None
    if most is None:
        return
    live = [e.reference for e in call.state.children if e.is_addressable and e.name == config.name]
    if len(live) >= most:
        raise RefusedError(
            f"{config.name!r} has reached its limit of instances (maxInstances {most}): use "
            f"subagent_message to write to an existing one: {', '.join(live)}"
        )


async def handed_over(
    services: CollaborationServices, call: CallContext, paths: Sequence[str], to: AgentId
) -> list[FileReference]:
    """Copy files to the child's tree; if one cannot be copied, nothing is sent."""
    problems: list[str] = []
    for path in paths:
        try:
            await call.files.stat(path)
        except RetinueError as error:
            problems.append(error.message)
    if problems:
        raise UsageError(f"attachments: {'; '.join(problems)}. Nothing was sent.")
    copied = await copy_files(
        services.trees, paths, source=call.agent_id, to=to, cause=call.idempotency_key
    )
    if copied.problems:
        raise UsageError(f"attachments: {'; '.join(copied.problems)}. Nothing was sent.")
    return copied.files


def _new_child(call: CallContext, wish: ChildRequest, child: AgentId, named: str) -> NewAgent:
    descriptor = SubagentDescriptor(id=child, parent_agent_id=call.agent_id, name=named)
    new = new_agent(call, descriptor, wish.target.name, agent_id=child)
    terms = ChildTerms(
        parent=call.agent_id,
        is_resumable=wish.config.resumable is not None,
        is_explicit=_communication(wish.config) == "explicit",
        parent_side=wish.side,
    )
    arguments = clean_json(dict(wish.arguments))
    state = structs.replace(
        new.state, name=named, child=terms, arguments=arguments, env=dict(wish.env)
    )
    return structs.replace(new, state=state)


def _send_arguments(call: CallContext, new: NewAgent) -> None:
    """Send the arguments as a silent message that the child's models see."""
    if not new.state.arguments:
        return
    text = f"You were started with these arguments:\n{pretty(new.state.arguments)}"
    body = ItemBody(text=text, sender=Sender(type="engine"))
    item = NewItem(
        id=new_item_id(), kind="system", body=body, admitted_at=call.clock.now(), silent=True
    )
    call.emit(Effects(posts=(Post(to=new, item=item, owner=call.owner),)))


def _send(
    call: CallContext,
    to: AgentId | NewAgent,
    text: str,
    files: list[FileReference],
    entry: ChildEntry,
    *,
    waits: bool,
) -> Pending | None:
    """Post the message; the outcome of a blocking child is the result of the call."""
    reply_to = None
    trail = call.trail
    if waits:
        reply_to = ReplyTo(agent_id=call.agent_id, call=call.call_id, mode="child")
        waiting = [*trail.agents, call.agent_id]
        trail = Trail(agents=waiting, definitions=chain_of(call), hops=trail.hops)
    body = ItemBody(
        text=text,
        sender=Sender(type="agent", id=call.agent_id),
        files=files,
        trail=trail,
        reply_to=reply_to,
        to_side=entry.receives,
    )
    item = NewItem(id=new_item_id(), kind="message", body=body, admitted_at=call.clock.now())
    call.emit(Effects(posts=(Post(to=to, item=item, owner=call.owner),)))
    if reply_to is None:
        return None
    return Pending(reason="child", agent_id=entry.reference, item=item.id)


def _what_follows(entry: ChildEntry) -> str:
    if entry.parent_communication == "explicit":
        return "It will write to you if it has something to report."
    return "Its result will arrive as a message."


def _communication(config: SubagentConfig) -> Any:
    return config.resumable.parent_communication if config.resumable is not None else "implicit"


def _name(name: str) -> str:
    return " ".join(clean_text(name).split())[:_LONGEST_NAME].rstrip()


def pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
