"""Formats times, sizes, descriptors and arguments for people."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from retinue.cli.output import one_line

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = ("B", "kB", "MB", "GB", "TB")


def moment(at: datetime, now: datetime) -> str:
    """Format a point in local time, with the date unless it is today."""
    local, today = at.astimezone(), now.astimezone()
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    if local.year == today.year:
        return f"{local:%d %b %H:%M}"
    return f"{local:%d %b %Y %H:%M}"


def ago(at: datetime, now: datetime) -> str:
    """Format the time since, in one unit."""
    seconds = (now - at).total_seconds()
    if seconds < 10:
        return "now"
    return f"{lasting(timedelta(seconds=seconds))} ago"


def lasting(span: timedelta) -> str:
    """Format a duration in one unit."""
    seconds = span.total_seconds()
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min"
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR:.0f} h"
    return f"{seconds // _DAY:.0f} days"


def milliseconds(value: int) -> str:
    return f"{value} ms" if value < 1000 else f"{value / 1000:.1f} s"


def size(count: int) -> str:
    """Format a number of bytes in the largest unit that fits."""
    value = float(count)
    for unit in _UNITS[:-1]:
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} {_UNITS[-1]}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def descriptor_line(descriptor: Mapping[str, Any]) -> str:
    """Format a descriptor on one line."""
    match descriptor.get("type"):
        case "user":
            parts = [descriptor.get(key, "?") for key in ("connector", "userId", "channelId")]
        case "subagent":
            parts = [descriptor.get("name", "?"), f"of {descriptor.get('parentAgentId', '?')}"]
        case "swarm":
            parts = [descriptor.get("id", "?"), f"for {descriptor.get('contactAgentId', '?')}"]
        case "permanent":
            parts = [descriptor.get("name", "?")]
        case "cron":
            parts = [descriptor.get("id", "?")]
        case "system":
            parts = [descriptor.get("tag", "?")]
        case _:
            parts = []
    kind = str(descriptor.get("type", "unknown"))
    return " / ".join([kind, *(str(part) for part in parts)])


def arguments_line(arguments: Mapping[str, Any], limit: int) -> str:
    """Format a call's arguments on one line."""
    import json

    shown = [
        f"{name}={one_line(json.dumps(value, ensure_ascii=False, default=str), 60)}"
        for name, value in arguments.items()
    ]
    return one_line(", ".join(shown), limit) if shown else ""
