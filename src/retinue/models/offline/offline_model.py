"""The offline model: answers by rules, and streams its answers word by word."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import msgspec

from retinue.agents.context import (
    characters_of_part,
    content_characters,
    estimated_tokens,
    json_characters,
)
from retinue.clock import Clock, SystemClock
from retinue.ids import new_call_id
from retinue.model_messages import (
    AssistantMessage,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.offline.answers import (
    GREETING,
    MARKDOWN,
    counting,
    help_text,
    not_understood,
    passed_on,
    results_text,
    thought,
)
from retinue.models.offline.arguments import fitted
from retinue.models.offline.commands import CommandProblem, Step, Tools, steps
from retinue.models.offline.summaries import is_summary_request, summary
from retinue.models.port import (
    CallDelta,
    Completed,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
)
from retinue.records import CallPart, Part, TextPart, ThinkingPart, Usage
from retinue.text import clean_json, clean_text

_WINDOW = 100_000
_DELAY_SECONDS = 0.02
_DELAYS = 100  # at most, so that no answer takes longer than two seconds

_WORD = re.compile(r"\s*\S+|\s+")
_FRAMED = re.compile(r'\s*<system_message origin="([^"]*)">(.*)</system_message>\s*', re.DOTALL)
_CONTEXT_LINE = re.compile(r"\A(?:\s*<context\b[^>]*/>\s*)+")
_SCHEDULE = re.compile(r"\A\[schedule\] [^\n]*\n(?:\w+: [^\n]*\n)*\n")
_GREETING = re.compile(r"(?:hi|hello|hey|good (?:morning|evening|day))\b.{0,20}", re.IGNORECASE)
_HELP = re.compile(
    r"(?:(?:hi|hello|hey)(?: there)?[,.!]? )?"
    r"(?:/?help|what can you do|who are you|what are you|how does this work)",
    re.IGNORECASE,
)
_COUNT = re.compile(r"count (?:up )?to (\d{1,9})", re.IGNORECASE)
_THINK = re.compile(r"think(?: about| of| hard about)?\s+(.+)", re.IGNORECASE | re.DOTALL)
_MARKDOWN = re.compile(r"show(?: me)?(?: some| the)? markdown|markdown", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineAnswer:
    """Text to say, and a tool call to make after it."""

    text: str = ""
    thinking: str = ""
    step: Step | None = None


class OfflineModel:
    """A rule-based model that needs neither key nor network."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()

    @property
    def name(self) -> str:
        return "offline"

    @property
    def window(self) -> int | None:
        return _WINDOW

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        parts = _parts(answer(request))
        for index, part in enumerate(parts):
            match part:
                case CallPart():
                    written = msgspec.json.encode(part.arguments).decode()
                    yield CallDelta(part=index, name=part.name, arguments=written)
                case TextPart() | ThinkingPart():
                    delta = TextDelta if isinstance(part, TextPart) else ThinkingDelta
                    for words in _spoken(part.text):
                        yield delta(part=index, text=words)
                        await self._clock.sleep(_DELAY_SECONDS)
        has_calls = any(isinstance(part, CallPart) for part in parts)
        yield Completed(
            parts=parts,
            usage=_usage(request, parts),
            finish="tool_calls" if has_calls else "stop",
            model=self.name,
        )


def answer(request: ModelRequest) -> OfflineAnswer:
    """Decide what to answer; the same request always gets the same answer."""
    if is_summary_request(request):
        return OfflineAnswer(text=summary(request.messages))
    may_call = request.options.tool_choice != "none"
    tools = {tool.name: tool for tool in request.tools} if may_call else {}
    texts, results = _situation(request.messages)
    wanted = _wanted(texts, tools)
    if results:
        return _after(results, wanted)
    if not isinstance(wanted, CommandProblem) and wanted:
        return OfflineAnswer(step=wanted[0])
    last = texts[-1] if texts else ""
    ready = _forced(request, last, tools) or _canned(last, tools)
    if ready is not None:
        return ready
    if _is_from_schedule(request.messages):
        return OfflineAnswer(text=f"Reminder: {last}")
    if isinstance(wanted, CommandProblem):
        return OfflineAnswer(text=wanted.reason)
    framed = _last_framed(request.messages)
    if framed is not None and framed.group(1) != "system":
        return OfflineAnswer(text=passed_on(last, framed.group(1)))
    is_first = not any(isinstance(message, AssistantMessage) for message in request.messages)
    return OfflineAnswer(text=not_understood(last, is_first=is_first))


def _after(
    results: Sequence[ToolMessage], wanted: Sequence[Step] | CommandProblem
) -> OfflineAnswer:
    """Report the last result, and continue with the next command unless it failed."""
    failed = results[-1].is_error
    if isinstance(wanted, CommandProblem) or failed or len(results) >= len(wanted):
        return OfflineAnswer(text=results_text(results[-1:]))
    return OfflineAnswer(text=results_text(results[-1:]), step=wanted[len(results)])


def _wanted(texts: Sequence[str], tools: Tools) -> Sequence[Step] | CommandProblem:
    """Collect the commands of all messages of a turn."""
    wanted: list[Step] = []
    problem: CommandProblem | None = None
    for text in texts:
        match steps(text, tools):
            case CommandProblem() as problem:
                pass
            case None:
                pass
            case found:
                wanted.extend(found)
    return wanted or problem or wanted


def _forced(request: ModelRequest, said: str, tools: Tools) -> OfflineAnswer | None:
    """Call a tool if the request or a reminder of the engine requires one."""
    named = None
    if request.options.tool_choice == "required":
        named = next(iter(tools.values()), None)
    if named is None and _is_from_engine(request.messages):
        named = next((tools[name] for name in tools if f"`{name}`" in said), None)
        said = _last_words(request.messages) or said
    if named is None:
        return None
    return OfflineAnswer(
        step=Step(tool=named.name, arguments=fitted(named.parameters, {"text": said}))
    )


def _canned(said: str, tools: Tools) -> OfflineAnswer | None:
    plain = said.strip().rstrip("?!.").strip()
    if _HELP.fullmatch(plain):
        return OfflineAnswer(text=help_text(tools))
    if _MARKDOWN.fullmatch(plain):
        return OfflineAnswer(text=MARKDOWN)
    if _GREETING.fullmatch(plain):
        return OfflineAnswer(text=GREETING)
    counted = _COUNT.fullmatch(plain)
    if counted is not None:
        return OfflineAnswer(text=counting(int(counted.group(1))))
    pondered = _THINK.fullmatch(plain)
    if pondered is not None:
        thinking, text = thought(pondered.group(1))
        return OfflineAnswer(thinking=thinking, text=text)
    return None


def _situation(messages: Sequence[ModelMessage]) -> tuple[list[str], list[ToolMessage]]:
    """Return the last texts and the tool results since."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        match message:
            case ToolMessage():
                results.insert(0, message)
            case UserMessage():
                return _texts(message), results
            case AssistantMessage():
                pass
    return [], results


def _texts(message: UserMessage) -> list[str]:
    """Extract the texts of a message; texts from the engine count only if there are no others."""
    said: list[str] = []
    from_engine: list[str] = []
    for content in message.content:
        if not isinstance(content, TextContent) or content.text.startswith("[file] "):
            continue
        framed = _FRAMED.fullmatch(content.text)
        text = _CONTEXT_LINE.sub("", framed.group(2) if framed else content.text).strip()
        text = _SCHEDULE.sub("", text) if framed else text
        (from_engine if framed and framed.group(1) == "system" else said).append(text)
    return said or from_engine


def _last_framed(messages: Sequence[ModelMessage]) -> re.Match[str] | None:
    """Return the frame of the last message if it is from the engine or another agent."""
    last = messages[-1] if messages else None
    if not isinstance(last, UserMessage) or not last.content:
        return None
    content = last.content[-1]
    return _FRAMED.fullmatch(content.text) if isinstance(content, TextContent) else None


def _is_from_schedule(messages: Sequence[ModelMessage]) -> bool:
    framed = _last_framed(messages)
    return framed is not None and _SCHEDULE.match(framed.group(2).strip()) is not None


def _is_from_engine(messages: Sequence[ModelMessage]) -> bool:
    framed = _last_framed(messages)
    return framed is not None and framed.group(1) == "system"


def _last_words(messages: Sequence[ModelMessage]) -> str:
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return "".join(part.text for part in message.parts if isinstance(part, TextPart))
    return ""


def _parts(said: OfflineAnswer) -> list[Part]:
    parts: list[Part] = []
    if said.thinking:
        parts.append(ThinkingPart(text=clean_text(said.thinking)))
    if said.text:
        parts.append(TextPart(text=clean_text(said.text)))
    if said.step is not None:
        arguments = clean_json(dict(said.step.arguments))
        parts.append(CallPart(id=new_call_id(), name=said.step.tool, arguments=arguments))
    return parts


def _spoken(text: str) -> list[str]:
    """Split text into deltas of one or more words, depending on its length."""
    words = _WORD.findall(text)
    size = -(-len(words) // _DELAYS) or 1
    return ["".join(words[start : start + size]) for start in range(0, len(words), size)]


def _usage(request: ModelRequest, parts: Sequence[Part]) -> Usage:
    characters = len(request.system) + len(request.closing)
    for tool in request.tools:
        characters += len(tool.name) + len(tool.description) + json_characters(tool.parameters)
    for message in request.messages:
        match message:
            case UserMessage():
                characters += sum(content_characters(content) for content in message.content)
            case AssistantMessage():
                characters += sum(characters_of_part(part) for part in message.parts)
            case ToolMessage():
                characters += len(message.text)
    output = sum(characters_of_part(part) for part in parts)
    return Usage(input=estimated_tokens(characters), output=estimated_tokens(output))
