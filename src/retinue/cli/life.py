"""The life of a message in words."""

from datetime import datetime

from retinue.cli.client import MessageView
from retinue.cli.printing import one_line
from retinue.cli.wording import ago, lasting, moment, plural

_EXCERPT = 200
_ENDINGS = {
    "answered": "answered",
    "failed": "failed",
    "cancelled": "cancelled",
    "refused": "refused",
    "expired": "expired before its turn came",
}


def life_of(message: MessageView, now: datetime) -> list[str]:
    """Tell when it came, where it is, how it ended and with what words."""
    item = message.item
    lines = [
        f"Message {item.id} to agent {item.agent_id}",
        f"  “{one_line(item.text, _EXCERPT)}”",
        f"{moment(item.at, now)}  admitted from {sender_line(item.sender)}, "
        f"number {item.seq} in the inbox ({ago(item.at, now)})",
    ]
    if item.silent:
        lines.append("          silent: recorded with the next step that runs anyway")
    lines.append(_whereabouts(message, now))
    if message.reply and item.fate == "answered":
        lines.append(f"  “{one_line(message.reply, _EXCERPT)}”")
    elif message.reply and message.reply != item.reason:
        lines.append(f"  {one_line(message.reply, _EXCERPT)}")
    return lines


def _whereabouts(message: MessageView, now: datetime) -> str:
    item = message.item
    reason = f": {one_line(item.reason, _EXCERPT)}" if item.reason else ""
    if item.fate in _ENDINGS:
        at = f"{moment(item.ended_at, now)}  " if item.ended_at else ""
        took = f", {lasting(item.ended_at - item.at)} after it came" if item.ended_at else ""
        record = f", in record {item.reply_seq}" if item.reply_seq is not None else ""
        return f"{at}{_ENDINGS[item.fate]}{reason}{record}{took}"
    if message.waiting_until:
        until = moment(message.waiting_until, now)
        return f"now       its model call failed; the next try is at {until}{reason}"
    if item.fate == "queued":
        before = plural(message.position, "message") if message.position else "nothing"
        return f"now       queued, with {before} before it{reason}"
    if item.fate == "waiting":
        return f"now       waiting{reason}"
    return f"now       being worked on{reason}"


def sender_line(sender: dict[str, object]) -> str:
    """Who sent it, as far as the door knew."""
    kind = str(sender.get("type", "somebody"))
    who = str(sender.get("id") or "")
    through = str(sender.get("connector") or "")
    words = f"{kind} {who}".strip()
    return f"{words} through {through}" if through else words
