"""Agents, items and changes as the API returns them."""

from collections.abc import Callable
from itertools import count
from typing import Any, Literal

import msgspec

from retinue.agents.children import ChildEntry
from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.inbox import Item, is_final
from retinue.agents.state import Suspension
from retinue.engine.feed.request_views import request_view
from retinue.events import (
    AgentDeletedEvent,
    AgentEvent,
    AgentView,
    ArtifactEvent,
    ChildView,
    CommittedEvent,
    ItemEvent,
    ItemView,
    RecordEvent,
    RequestEvent,
    ResyncEvent,
    WaitView,
)
from retinue.ids import AgentId
from retinue.records import encode_record
from retinue.stores.artifact_port import ArtifactNews
from retinue.stores.port import Agent, Change

_EVENT_BITS = 16
_LAST_EVENT = (1 << _EVENT_BITS) - 1

Status = Literal["running", "queued", "waiting", "resting", "terminated"]
ShownLifecycle = Literal["awake", "resting", "sleeping", "terminated"]
IsInMemory = Callable[[AgentId], bool]


def status_of(agent: Agent) -> Status:
    if agent.lifecycle != "active":
        return "terminated"
    turn = agent.state.turn
    if turn is not None:
        return "waiting" if turn.retry_at is not None or turn.suspended else "running"
    return "queued" if agent.queued else "resting"


def lifecycle_of(agent: Agent, is_in_memory: IsInMemory) -> ShownLifecycle:
    match status_of(agent):
        case "terminated":
            return "terminated"
        case "resting":
            return "resting" if is_in_memory(agent.id) else "sleeping"
        case "running" | "queued" | "waiting":
            return "awake"


def _as_dict(value: object) -> dict[str, Any]:
    return msgspec.to_builtins(value)


def agent_view(agent: Agent, is_in_memory: IsInMemory) -> AgentView:
    state, descriptor = agent.state, agent.descriptor
    is_child = isinstance(descriptor, SubagentDescriptor)
    return AgentView(
        id=agent.id,
        kind=agent.kind,
        definition=agent.definition,
        lifecycle=lifecycle_of(agent, is_in_memory),
        status=status_of(agent),
        created_at=state.created_at,
        updated_at=state.updated_at,
        descriptor=_as_dict(descriptor),
        parent_id=descriptor.parent_agent_id if is_child else None,
        queued=agent.queued,
        waits=[wait_view(wait) for wait in state.turn.suspended] if state.turn else [],
        children=[child_view(child) for child in state.children],
        name=state.name,
        pinned_at=state.pinned_at,
        last_user_activity_at=state.last_user_activity_at,
        title=state.title,
        last_snippet=state.last_snippet,
        model=state.model,
        retry_at=state.turn.retry_at if state.turn else None,
        attributes=state.attributes,
    )


def child_view(child: ChildEntry) -> ChildView:
    return ChildView(
        agent_id=child.reference,
        definition=child.name,
        lifecycle=child.lifecycle,
        name=child.thread_name or child.title,
        status_text=child.status_text,
        failure=child.failure,
        is_resumable=child.is_resumable,
        is_blocking=child.is_blocking,
    )


def wait_view(wait: Suspension) -> WaitView:
    return WaitView(
        call=wait.call,
        reason=wait.reason,
        agent_id=wait.agent_id,
        item_id=wait.item,
        request=wait.request,
        until=wait.until,
    )


def item_view(item: Item) -> ItemView:
    return ItemView(
        id=item.id,
        agent_id=item.agent_id,
        seq=item.seq,
        kind=item.kind,
        text=item.body.text,
        fate=item.fate,
        at=item.admitted_at,
        sender=_as_dict(item.body.sender),
        silent=item.silent,
        reason=item.reason,
        files=[_as_dict(file) for file in item.body.files],
        reply_seq=item.reply_seq,
        ended_at=item.ended_at,
    )


def cursor_of(change_cursor: int) -> int:
    """The stream's cursor after all events of that change."""
    return (change_cursor << _EVENT_BITS) | _LAST_EVENT


def change_before(cursor: int) -> int:
    """The last change that a reader with this cursor has seen completely."""
    is_whole = cursor & _LAST_EVENT == _LAST_EVENT
    return max(0, (cursor >> _EVENT_BITS) - (not is_whole))


def artifact_event(cursor: int, news: ArtifactNews) -> ArtifactEvent:
    return ArtifactEvent(
        cursor=cursor,
        kind=news.kind,
        id=news.id,
        action=news.action,
        version=news.version,
        change=news.change,
        list=news.list_id,
        by=news.by,
    )


def _has_ended(change: Change) -> bool:
    return any(is_final(item.fate) for item in change.items)


def events_of(change: Change, is_in_memory: IsInMemory) -> list[CommittedEvent | ResyncEvent]:
    """The events of one change.

    Each event has its own cursor, the same live and replayed, so a reader that was disconnected
    between two of them continues with the next. The agent's event comes last. A change with too
    many events for its cursors becomes a single resync event.
    """
    agent_id = change.agent_id
    if len(change.records) + len(change.items) + len(change.artifacts) > _LAST_EVENT:
        return [ResyncEvent(cursor=cursor_of(change.cursor))]
    if change.is_deleted:
        return [AgentDeletedEvent(cursor=cursor_of(change.cursor), agent_id=agent_id)]
    items = [item for item in change.items if item.kind != "command"]
    if change.items and not items and not change.records and not _has_ended(change):
        return []  # a command was admitted; its effects are announced
    numbers = count(change.cursor << _EVENT_BITS)
    if change.artifacts:
        return [artifact_event(next(numbers), news) for news in change.artifacts]
    events: list[CommittedEvent | ResyncEvent] = [
        RecordEvent(
            cursor=next(numbers), agent_id=agent_id, record=msgspec.Raw(encode_record(record))
        )
        for record in change.records
    ]
    events += [
        ItemEvent(cursor=next(numbers), agent_id=agent_id, item=item_view(item)) for item in items
    ]
    events += [
        RequestEvent(cursor=next(numbers), agent_id=agent_id, request=request_view(request))
        for request in change.requests
    ]
    if change.agent is not None:
        view = agent_view(change.agent, is_in_memory)
        events.append(AgentEvent(cursor=cursor_of(change.cursor), agent_id=agent_id, agent=view))
    return events
