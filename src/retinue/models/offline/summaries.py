"""Rule-based summaries of conversations, for compaction without a key."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from retinue.ids import CallId
from retinue.model_messages import (
    AssistantMessage,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.offline.answers import clipped
from retinue.models.port import ModelRequest
from retinue.records import CallPart, TextPart

_ASKED = "summarise the conversation"
_HEADINGS = ("Goal", "Constraints", "Progress", "Decisions", "Next steps")
_LINES: Mapping[str, int] = {
    "Goal": 3,
    "Constraints": 8,
    "Progress": 14,
    "Decisions": 6,
    "Next steps": 2,
}
_LINE = 160
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CONSTRAINT = re.compile(
    r"\b(?:must|never|always|only|don't|do not|at most|at least|should not|remember)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|let's|we will|i will|agreed|chose|choose|instead of|go with)\b", re.IGNORECASE
)
_TAG = re.compile(r"</?system_message[^>]*>")
_SPEAKER = re.compile(
    r"^(User|Assistant|System message from [^:\n]*|Summary of what came before"
    r"|Result of (?P<tool>[^\n]*?) \((?P<status>\w+)\)): ",
    re.MULTILINE,
)
_CALLED = re.compile(r"\n\[calls (\S+) .*\]$", re.MULTILINE)
_INDENT = re.compile(r"^  ", re.MULTILINE)
_REQUEST = "Summarise it now."


def is_summary_request(request: ModelRequest) -> bool:
    return request.system.lstrip().lower().startswith(_ASKED)


def summary(messages: Sequence[ModelMessage]) -> str:
    """Summarize messages under fixed headings, with a limited length."""
    found: dict[str, list[str]] = {heading: [] for heading in _HEADINGS}
    last_asked = ""
    for message in _unfolded(messages):
        match message:
            case UserMessage():
                last_asked = _take_user(message, found) or last_asked
            case AssistantMessage():
                _take_assistant(message, found)
            case ToolMessage():
                outcome = "failed" if message.is_error else "returned"
                found["Progress"].append(f"`{message.name}` {outcome}: {_line(message.text)}")
    found["Next steps"] = (
        [f"Continue with the last request: {_line(last_asked)}"] if last_asked else []
    )
    return "\n\n".join(f"## {heading}\n{_bullets(heading, found)}" for heading in _HEADINGS)


def _unfolded(messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """Split a transcript in one message into separate messages."""
    last = messages[-1] if len(messages) == 1 else None
    if not isinstance(last, UserMessage):
        return messages
    text = "\n".join(each.text for each in last.content if isinstance(each, TextContent))
    text = text.removesuffix(_REQUEST).rstrip()
    heads = list(_SPEAKER.finditer(text))
    if not heads:
        return messages
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [_message(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def _message(head: re.Match[str], body: str) -> ModelMessage:
    text = _INDENT.sub("", _CALLED.sub("", body)).strip()
    if head["tool"] is not None:
        is_error = head["status"] != "ok"
        return ToolMessage(call=CallId(""), name=head["tool"], text=text, is_error=is_error)
    if head[1] != "Assistant":
        return UserMessage(content=[TextContent(text=text)])
    calls = [CallPart(id=CallId(""), name=name) for name in _CALLED.findall(body)]
    return AssistantMessage(parts=[*([TextPart(text=text)] if text else []), *calls])


def _take_user(message: UserMessage, found: dict[str, list[str]]) -> str:
    last = ""
    for content in message.content:
        if not isinstance(content, TextContent):
            continue
        text = _TAG.sub("", content.text).strip()
        if "## Goal\n" in text:
            for heading, line in _earlier(text):
                found[heading].append(line)
            continue
        last = text or last
        if text and len(found["Goal"]) < _LINES["Goal"]:
            found["Goal"].append(_line(text))
        found["Constraints"].extend(_sentences(text, _CONSTRAINT))
        found["Decisions"].extend(_sentences(text, _DECISION))
    return last


def _take_assistant(message: AssistantMessage, found: dict[str, list[str]]) -> None:
    for part in message.parts:
        match part:
            case TextPart():
                found["Decisions"].extend(_sentences(part.text, _DECISION))
                found["Progress"].append(f"Said: {_line(part.text)}")
            case CallPart():
                found["Progress"].append(f"Called `{part.name}`")
            case _:
                pass


def _earlier(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of an earlier summary."""
    heading = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ").strip()
        elif line.startswith("- ") and heading in _HEADINGS:
            yield heading, line.removeprefix("- ").strip()


def _sentences(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    return (_line(each) for each in _SENTENCE.split(text) if pattern.search(each))


def _bullets(heading: str, found: Mapping[str, Iterable[str]]) -> str:
    lines = [line for line in dict.fromkeys(found[heading]) if line]
    limit = _LINES[heading]
    # Keep the first goals and constraints, but the latest events.
    kept = lines[:limit] if heading in ("Goal", "Constraints") else lines[-limit:]
    return "\n".join(f"- {line}" for line in kept) or "None."


def _line(text: str) -> str:
    return clipped(" ".join(text.split()), _LINE)
