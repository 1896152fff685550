"""Converts plain commands to tool calls, depending on the available tools."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from retinue.models.offline.arguments import cron_line, fitted
from retinue.models.port import ToolSpec

Tools = Mapping[str, ToolSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool call to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProblem:
    """A recognized command that cannot be executed."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRule:
    """The pattern of a command; its named groups are the roles of the words."""

    example: str
    pattern: re.Pattern[str]
    tools: re.Pattern[str]  # names of tools that can execute it


def _rule(example: str, pattern: str, tools: str) -> CommandRule:
    return CommandRule(
        example=example,
        pattern=re.compile(pattern, re.IGNORECASE | re.DOTALL),
        tools=re.compile(tools),
    )


_SCHEDULING = r"schedules?_(?:create|add|set|remind)\w*|reminders?_\w+|cron_(?:create|add)"
_PATH = r"[\"'`]?(?P<path>[^\s\"'`]*[./][^\s\"'`]*)[\"'`]?"
RULES: Sequence[CommandRule] = (
    _rule(
        "what time is it",
        r"(?:what time is it|what(?:'s| is) the (?:time|date)|what day is it|time)"
        r"(?: now)?(?: in (?P<zone>\S+?))?",
        r"time|\w+_time|now|clock",
    ),
    _rule(
        "list files",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? files(?: in (?P<folder>\S+))?|ls",
        r"files_list|list_files|list_directory|\w+_files_list",
    ),
    _rule(
        "write hello to notes.txt",
        rf"(?:write|save|put) (?P<content>.+) (?:in)?to {_PATH}",
        r"files_write|write_file|\w+_files_write",
    ),
    _rule(
        "append more to notes.txt",
        rf"(?:append|add) (?P<content>.+) to {_PATH}",
        r"files_append|append_file|\w+_files_append",
    ),
    _rule(
        "replace milk with oat milk in notes.txt",
        rf"(?:replace|change) (?P<old>.+) (?:with|to) (?P<new>.+) in {_PATH}",
        r"files_edit|edit_file|\w+_files_edit",
    ),
    _rule(
        "fetch https://example.com",
        r"(?:fetch|get|open|download|visit|read) (?P<url>https?://\S+)",
        r"web_fetch|fetch|fetch_url|\w+_web_fetch",
    ),
    _rule(
        "read notes.txt",
        rf"(?:read|show|open|cat|print)(?: the file)? {_PATH}",
        r"files_read|read_file|\w+_files_read",
    ),
    _rule(
        "delete notes.txt",
        rf"(?:delete|remove|rm) {_PATH}",
        r"files_delete|delete_file|\w+_files_delete",
    ),
    _rule(
        "run echo hello",
        r"(?:run|execute|shell|\$)[: ]\s*(?P<command>.+)",
        r"shell|bash|\w+_shell|run_command",
    ),
    _rule(
        "remind me at 9 to water the plants",
        r"remind me (?:(?:at|in|on|every) )?"
        r"(?P<when>[\w:.]+(?: ?(?:am|pm|seconds?|minutes?|hours?|days?))?)"
        r" (?:(?:to|about|that) )?(?P<text>.+)",
        _SCHEDULING,
    ),
    _rule(
        "every weekday at 8 what time is it",
        r"every (?P<every>(?:week)?day|hour|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
        r"(?: at (?P<clock>\d{1,2}(?:[:.]\d{2})? ?(?:am|pm)?))?,?(?: to)? (?P<text>.+)",
        _SCHEDULING,
    ),
    _rule(
        "list schedules",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? (?:schedules|reminders)",
        r"schedules?_list",
    ),
    _rule(
        "request network to look something up",
        r"(?:request|ask for) (?:the )?(?P<permission>network|@\S+)(?: access)?"
        r"(?: (?:because|to|for) (?P<reason>.+))?",
        r"request_permission",
    ),
    _rule(
        "start a background agent to count to 20",
        r"(?:start|launch) (?:a|an|another) (?:background |sub)agent"
        r"(?: (?:called|named) (?P<name>[\w-]+))? (?:to|that|who|which) (?P<task>.+)",
        r"start_background_agent",
    ),
    _rule(
        "create a permanent agent called Ada that keeps my notes",
        r"(?:create|make)(?: me)?(?: a| the)? permanent agent (?:called|named) (?P<name>[\w-]+),?"
        r" (?:that|who|which|to|for) (?P<purpose>.+)",
        r"create_permanent_agent",
    ),
    _rule(
        "list permanent agents",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? permanent agents",
        r"list_permanent_agents",
    ),
    _rule(
        "delete the permanent agent Ada",
        r"(?:delete|remove)(?: the| my)? permanent agent (?P<agent>[\w-]+)",
        r"delete_permanent_agent",
    ),
    _rule(
        "write to agent system:architect: what time is it",
        r"(?:write|send a message) to(?: the)? agent (?P<agent>[\w:.-]*[\w.-])[:,]? (?P<text>.+)",
        r"send_agent_message",
    ),
    _rule(
        "list agents",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my| other)? agents",
        r"agents_list",
    ),
    _rule("ask me which size I wear", r"ask me (?P<question>.+)", r"ask_user"),
    _rule(
        "ask todo to plan my day",
        r"(?:ask|tell)(?: the)? (?!me\b|us\b)(?P<agent>[\w-]+)(?: agent)?"
        r"(?: (?:to|for|about|that))? (?P<request>.+)",
        r"agents_message",
    ),
    _rule(
        "switch to journal",
        r"(?:switch|go back|take me)(?: back)?(?: to)?(?: the)? (?P<agent>[\w-]+)(?: agent)?"
        r"(?:,? (?:and|with|to) (?P<request>.+))?",
        r"agents_switch",
    ),
    _rule(
        "add milk to groceries",
        r"(?:add|put) (?P<item>.+) (?:on|in)?to (?:the |my )?(?P<list>[\w -]+?)(?: list)?",
        r"lists_(?:add|append)\w*|lists_items?_(?:add|create)|lists_create_item",
    ),
    _rule(
        "what is on groceries",
        r"what(?:'s| is) on (?:the |my )?(?P<list>[\w -]+?)(?: list)?",
        r"lists_(?:items?_list|list_items|items|read)",
    ),
    _rule(
        "open the groceries list",
        r"(?:open|show)(?: me)?(?: the| my)? (?P<list>[\w -]+?) list",
        r"lists_show",
    ),
    _rule(
        "tick milk off groceries",
        r"(?:tick|check|cross) (?P<done>.+) off (?:the |my )?(?P<list>[\w -]+?)(?: list)?",
        r"lists_item_update",
    ),
    _rule(
        "mark milk done",
        r"mark (?P<done>.+?)(?: on (?:the |my )?(?P<list>[\w -]+?)(?: list)?)?"
        r" (?:as )?(?:done|completed?|finished)",
        r"lists_item_update",
    ),
    _rule("find milk", r"(?:find|search for|look for) (?P<text>.+)", r"views_query"),
    _rule(
        "show my lists",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? lists|what lists are there",
        r"lists_list",
    ),
    _rule(
        "note that the key is under the mat",
        r"(?:note(?: that)?|remember(?: that)?)[: ]\s*(?P<thought>.+)",
        r"notes_(?:create|add\w*)",
    ),
    _rule(
        "search notes for key",
        r"(?:search|look through)(?: the| my)? notes for (?P<text>.+)",
        r"notes_search",
    ),
    _rule(
        "show my notes",
        r"(?:list|show)(?: me)?(?: all)?(?: the| my)? notes",
        r"notes_list",
    ),
)
_HEADING = 80
_LONGEST = 4_000  # longer texts are not commands, and matching them would be slow
_CALL = re.compile(r"call\s+`?([\w.-]+)`?\s*(.*)", re.IGNORECASE | re.DOTALL)
_NEXT = re.compile(r"\s*(?:;|,? and then|,? then)\s+", re.IGNORECASE)


def steps(text: str, tools: Tools) -> Sequence[Step] | CommandProblem | None:
    """Parse a text as one or more commands ("this then that"); None if it is not a command."""
    whole = _step(text, tools)
    if isinstance(whole, Step) and not _NEXT.search(text):
        return [whole]
    pieces = [_step(piece, tools) for piece in _NEXT.split(text)]
    several = [piece for piece in pieces if isinstance(piece, Step)]
    if len(several) == len(pieces):
        return several
    return [whole] if isinstance(whole, Step) else whole


def rule_for(tool: str) -> CommandRule | None:
    """Return the command for a tool, for the help text."""
    return next((rule for rule in RULES if rule.tools.fullmatch(tool)), None)


def _step(text: str, tools: Tools) -> Step | CommandProblem | None:
    words = text.strip()
    called = _CALL.fullmatch(words)
    if called is not None:
        return _called(called.group(1), called.group(2), tools)
    if len(words) > _LONGEST:
        return None
    plain = words.rstrip("?!.").strip()
    trouble: CommandProblem | None = None
    for rule in RULES:
        is_verbatim = rule.pattern.groupindex.keys() & {"command", "url"}
        found = rule.pattern.fullmatch(words if is_verbatim else plain)
        if found is None:
            continue
        spec = next((tools[name] for name in tools if rule.tools.fullmatch(name)), None)
        if spec is not None:
            said = {role: word.strip() for role, word in found.groupdict().items() if word}
            return Step(tool=spec.name, arguments=fitted(spec.parameters, _meant(said)))
        trouble = trouble or CommandProblem(
            reason=f"I understood this as “{rule.example}”, but this agent has no tool for it."
        )
    name, _, rest = words.partition(" ")
    is_name = name in tools and ("_" in name or not rest or rest.lstrip().startswith("{"))
    return _called(name, rest, tools) if is_name else trouble


def _meant(said: dict[str, str]) -> dict[str, str]:
    """Add the implied values of a command."""
    if "permission" in said:
        said.setdefault("reason", "You asked me to request it.")
    if "purpose" in said:
        said["manner"] = f"You are {said['name']}, an agent that {said['purpose']}."
    if "every" in said:
        said["every"] = cron_line(said["every"], said.pop("clock", ""))
    if "item" in said:
        said["making"] = "true"
    if "done" in said:
        said["finishing"] = "true"
    if "thought" in said:
        said["heading"] = said["thought"].splitlines()[0][:_HEADING]
    return said


def _called(name: str, rest: str, tools: Tools) -> Step | CommandProblem:
    spec = tools.get(name)
    if spec is None:
        names = ", ".join(f"`{tool}`" for tool in tools) or "none"
        return CommandProblem(reason=f"There is no tool `{name}`. Available tools: {names}.")
    rest = rest.strip().removeprefix("with ").strip()
    if not rest:
        return Step(tool=name, arguments={})
    if not rest.startswith("{"):
        return Step(tool=name, arguments=fitted(spec.parameters, {"text": rest}))
    try:
        value: Any = json.loads(rest)
    except (ValueError, RecursionError) as error:
        return CommandProblem(reason=f"The text after `call {name}` is not a JSON object: {error}.")
    return Step(tool=name, arguments=cast("dict[str, Any]", value))
