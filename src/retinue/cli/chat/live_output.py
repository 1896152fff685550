"""The live lines above the prompt: streamed text, running tools and queued messages."""

import textwrap
from datetime import datetime

from retinue.agents.inbox import seen_text
from retinue.cli.output import one_line, safe
from retinue.cli.transcript import StreamedPart, Transcript

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_PER_SECOND = 8
_QUEUE_SHOWN = 3
_THINKING_LINES = 3

Line = tuple[str, str]
"""A prompt style, and text that fits the width."""


def live_lines(
    transcript: Transcript, *, now: datetime, seconds: float, width: int, rows: int
) -> list[Line]:
    """Return the lines to show; the newest ones if there are more than `rows`."""
    spinner = _SPINNER[int(seconds * _FRAMES_PER_SECOND) % len(_SPINNER)]
    below = [*_tools(transcript, spinner, width), *_queue(transcript, width)]
    if transcript.retry_at is not None:
        left = max((transcript.retry_at - now).total_seconds(), 0)
        below.append(("class:notice", f"↻ model call failed, retrying in {left:.0f} s"))
    above: list[Line] = []
    for part in transcript.parts.values():
        above += _streamed(part, spinner, width)
    if transcript.is_busy and not above and not below:
        below.append(("class:notice", f"{spinner} working"))
    room = max(rows - len(below), 3)
    return above[-room:] + below[:rows]


def _streamed(part: StreamedPart, spinner: str, width: int) -> list[Line]:
    if part.kind == "call":
        return [("class:notice", f"{spinner} {one_line(part.name, width - 4)}")]
    text = safe(part.rest).strip("\n")
    wrapped = [
        line for paragraph in text.split("\n") for line in (textwrap.wrap(paragraph, width) or [""])
    ]
    if not text:
        return []
    if part.kind == "thinking":
        return [("class:thinking", line) for line in wrapped[-_THINKING_LINES:]]
    return [("", line) for line in wrapped]


def _tools(transcript: Transcript, spinner: str, width: int) -> list[Line]:
    lines: list[Line] = []
    for tool in transcript.tools.values():
        progress = f" {tool.progress}" if tool.progress else ""
        mark = spinner if tool.is_started else "·"
        lines.append(("class:notice", f"{mark} {one_line(tool.line + progress, width - 3)}"))
    return lines


def _queue(transcript: Transcript, width: int) -> list[Line]:
    waiting = transcript.queued
    if len(waiting) == len(transcript.items) and not transcript.parts and not transcript.tools:
        waiting = waiting[1:]  # the first one is about to start
    lines = [
        (
            "class:notice",
            one_line(
                f"⋯ queued {position}: {seen_text(item.text, item.sender.get('id', ''))}", width - 1
            ),
        )
        for position, item in enumerate(waiting[:_QUEUE_SHOWN], 1)
    ]
    if len(waiting) > _QUEUE_SHOWN:
        lines.append(("class:notice", f"⋯ and {len(waiting) - _QUEUE_SHOWN} more"))
    return lines
