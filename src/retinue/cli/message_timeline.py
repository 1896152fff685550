"""Describes what happened to a message."""

from datetime import datetime

from retinue.agents.inbox import seen_text
from retinue.cli.output import one_line
from retinue.cli.phrases import ago, lasting, moment, plural
from retinue.events import WaitView
from retinue.server.wire import MessageAnswer

_EXCERPT = 200
_ENDINGS = {
    "answered": "answered",
    "failed": "failed",
    "cancelled": "cancelled",
    "refused": "refused",
    "expired": "expired before it was processed",
}


def timeline_of(message: MessageAnswer, now: datetime, *, is_working: bool = True) -> list[str]:
    """Return lines about the message's arrival, state, outcome and reply.

    If no engine `is_working`, a message that the store calls running was interrupted.
    """
    lines = [
        f"Message {message.id} to agent {message.agent_id}",
        f"  “{one_line(seen_text(message.text, message.sender.get('id', '')), _EXCERPT)}”",
        f"{moment(message.at, now)}  received from {sender_line(message.sender)}, "
        f"number {message.seq} in the inbox ({ago(message.at, now)})",
    ]
    if message.silent:
        lines.append("          silent: added to the history with the next step, starts no turn")
    lines.append(_state(message, now, is_working=is_working))
    if message.reply and message.fate == "answered":
        lines.append(f"  “{one_line(message.reply, _EXCERPT)}”")
    elif message.reply and message.reason not in message.reply:
        lines.append(f"  {one_line(message.reply, _EXCERPT)}")
    return lines


def _state(message: MessageAnswer, now: datetime, *, is_working: bool) -> str:
    reason = f": {one_line(message.reason, _EXCERPT)}" if message.reason else ""
    if message.fate in _ENDINGS:
        at = f"{moment(message.ended_at, now)}  " if message.ended_at else ""
        took = f", after {lasting(message.ended_at - message.at)}" if message.ended_at else ""
        record = f", in record {message.reply_seq}" if message.reply_seq is not None else ""
        return f"{at}{_ENDINGS[message.fate]}{reason}{record}{took}"
    if message.waiting_until:
        until = moment(message.waiting_until, now)
        return f"now       model call failed, next retry at {until}{reason}"
    if message.fate == "queued":
        ahead = plural(message.position, "message") if message.position else "nothing"
        return f"now       queued, {ahead} ahead of it{reason}"
    if message.waits:
        awaited = "; ".join(awaited_line(wait, now) for wait in message.waits)
        return f"now       waiting for {awaited}"
    if message.fate == "waiting":
        return f"now       waiting{reason}"
    if not is_working:
        return (
            "now       interrupted when the last server stopped; resumes when a server starts"
            f"{reason}"
        )
    return f"now       in progress{reason}"


def awaited_line(wait: WaitView, now: datetime) -> str:
    """Describe what a turn waits for, and until when."""
    until = f" until {moment(wait.until, now)}" if wait.until else ""
    if wait.agent_id is None:
        return f"{wait.reason}{until}"
    about = f" (message {wait.item_id})" if wait.item_id else ""
    return f"agent {wait.agent_id}{about}{until}"


def sender_line(sender: dict[str, object]) -> str:
    """Describe the sender."""
    kind = str(sender.get("type", "unknown sender"))
    who = str(sender.get("id") or "")
    through = str(sender.get("connector") or "")
    words = f"{kind} {who}".strip()
    return f"{words} via {through}" if through else words
