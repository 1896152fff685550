"""Who is told how an item ended: the one place, so that nobody is told twice and nobody never.

A report is a post in the very commit that gives the item its final fate. An item gets that once, on
whatever path it ends (an answer, an error, a limit, a stop, a termination, a poisoned restart), so
its report is sent once, too, and no crash can come between the two.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from retinue.agents.descriptor import parent_of
from retinue.agents.inbox import WITHDRAWN, Answer, Item, ItemBody, ReplyTo, Sender, Trail, is_final
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.engine.rules.messages import reply_text
from retinue.engine.turn.subagent_completion import Completions
from retinue.ids import AgentId, new_item_id
from retinue.records import AnyRecord, AssistantRecord, ThinkingPart, ToolRecord
from retinue.stores.port import FateChange, NewItem, Post, Store

_UNREPORTED = frozenset({"answer", "withdrawal", "command", "status"})


class Reporter:
    """Turns final fates into posts."""

    def __init__(self, *, store: Store, limits: Limits, completions: Completions) -> None:
        self._store = store
        self._limits = limits
        self._completions = completions

    async def reports(self, live: LiveAgent, draft: Draft) -> list[Post]:
        """The posts that belong to the fates of this draft."""
        terms = live.state.child
        if terms is not None:
            return await self._completions.posts(live, terms, draft)
        posts: list[Post] = []
        told: set[AgentId] = set()
        for change in draft.fates:
            if not is_final(change.fate) or _is_withdrawn(change):
                continue
            item = live.item(change.item_id)
            if item is None or item.silent:
                continue
            if item.body.reply_to is not None:
                posts.append(self._outcome(live, draft, item, change, item.body.reply_to))
                continue
            to = await self._listener(live, item, change)
            if to is None or (change.fate == "answered" and to in told):
                continue
            notice = self._notice(live, draft, item, change, to)
            if notice is not None:
                posts.append(notice)
                told.add(to)
        return posts

    async def _listener(self, live: LiveAgent, item: Item, change: FateChange) -> AgentId | None:
        """Who should hear about an item that nobody waits for."""
        if item.body.report_to is not None:
            return item.body.report_to
        parent = parent_of(live.descriptor)
        if parent is not None:
            return parent
        if change.fate == "failed" and item.body.sender.type == "schedule":
            chat = await fetch(self._store, live.owner, "most-recent-foreground")
            return chat.id if chat is not None and chat.id != live.id else None
        return None

    def _notice(
        self, live: LiveAgent, draft: Draft, item: Item, change: FateChange, to: AgentId
    ) -> Post | None:
        if change.fate == "answered":
            turn = live.state.turn
            if turn is None or item.id not in turn.items or to in turn.messaged:
                return None
            text = reply_text(_record(live, draft, change.reply_seq))
            if not text.strip():
                text = f"{title_of(live)} has finished without saying anything."
        elif item.kind in _UNREPORTED and change.fate != "failed":
            return None
        else:
            text = f"{title_of(live)} {_what_happened(change)}"
        body = ItemBody(text=text, sender=Sender(type="agent", id=live.id), trail=_trail(live))
        return _post(live, draft, item, to, "system", body)

    def _outcome(
        self, live: LiveAgent, draft: Draft, item: Item, change: FateChange, reply_to: ReplyTo
    ) -> Post:
        result = self._result(live, draft, item, change, reply_to)
        response = result.get("response")
        if response is not None:
            said = f"answered your message {item.id}:\n{response}"
        else:
            said = f"{_what_happened(change)} (your message {item.id})"
        answer = Answer(
            call=reply_to.call,
            text=msgspec.json.encode(result).decode(),
            status="ok" if change.fate == "answered" else "error",
        )
        body = ItemBody(
            text=f"{title_of(live)} {said}",
            sender=Sender(type="agent", id=live.id),
            trail=_trail(live),
            answer=answer,
            about=item.id,
        )
        return _post(live, draft, item, reply_to.agent_id, "answer", body)

    def _result(
        self, live: LiveAgent, draft: Draft, item: Item, change: FateChange, reply_to: ReplyTo
    ) -> Mapping[str, Any]:
        result: dict[str, Any] = {
            "mode": reply_to.mode,
            "status": "complete" if change.fate == "answered" else change.fate,
            **session_of(live),
            "created": reply_to.created,
            "responseId": item.id,
            "durationMs": round((draft.at - item.admitted_at).total_seconds() * 1000),
        }
        if change.fate == "answered":
            response = reply_text(_record(live, draft, change.reply_seq))
            longest = self._limits.tool_output_characters
            result["response"] = response[:longest]
            result["truncated"] = len(response) > longest
        else:
            result["message"] = change.reason or change.fate
        records = _of_turn(live, draft)
        calls = [record for record in records if isinstance(record, ToolRecord)]
        result["toolCallCount"] = len(calls)
        result["toolCalls"] = [{"name": c.name, "durationMs": c.duration_ms} for c in calls]
        thoughts = _thinking(records)
        if thoughts:
            result["thinkingText"] = thoughts[: self._limits.tool_output_characters]
        return result


def _is_withdrawn(change: FateChange) -> bool:
    """Whether its sender took it back, and so knows."""
    return change.fate == "cancelled" and change.reason == WITHDRAWN


def session_of(live: LiveAgent) -> dict[str, Any]:
    """How a delegating agent is told which agent of which definition it is about."""
    return {
        "agentId": live.definition,
        "sessionId": live.id,
        "sessionName": live.state.name or live.definition,
    }


def title_of(live: LiveAgent) -> str:
    """Name an agent to others: what it is, its name, and the id that reaches it."""
    named = getattr(live.descriptor, "name", None) or live.state.name or live.definition
    kind = "background agent" if live.kind == "subagent" else f"{live.kind} agent"
    return f'The {"agent" if live.kind == "user" else kind} "{named}" ({live.id})'


def _what_happened(change: FateChange) -> str:
    reason = f": {change.reason}" if change.reason else ""
    match change.fate:
        case "cancelled":
            return f"was cancelled before it had finished{reason}"
        case "failed":
            return f"failed{reason}"
        case _:
            return f"ended ({change.fate}){reason}"


def _post(
    live: LiveAgent, draft: Draft, item: Item, to: AgentId, kind: Any, body: ItemBody
) -> Post:
    new = NewItem(
        id=new_item_id(),
        kind=kind,
        body=body,
        admitted_at=draft.at,
        dedupe_key=f"report/{item.id}",
    )
    return Post(to=to, item=new, owner=live.owner, is_optional=True)


def _trail(live: LiveAgent) -> Trail | None:
    """An answer goes back the way that the question came: nobody behind it waits for it."""
    turn = live.state.turn
    hops = turn.trail.hops if turn is not None and turn.trail is not None else 0
    return Trail(hops=hops + 1)


def _record(live: LiveAgent, draft: Draft, seq: int | None) -> AnyRecord | None:
    if seq is None:
        return None
    for record in (*draft.records, *reversed(live.history.records)):
        if record.seq == seq:
            return record
    return None


def _of_turn(live: LiveAgent, draft: Draft) -> Sequence[AnyRecord]:
    turn = live.state.turn
    if turn is None:
        return draft.records
    return [r for r in (*live.history.records, *draft.records) if r.seq >= turn.first_seq]


def _thinking(records: Sequence[AnyRecord]) -> str:
    return "\n".join(
        part.text
        for record in records
        if isinstance(record, AssistantRecord)
        for part in record.parts
        if isinstance(part, ThinkingPart)
    )
