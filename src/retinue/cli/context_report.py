"""`retinue show AGENT --context`: the request that the model would receive now."""

import json
from typing import TYPE_CHECKING

from retinue.cli.output import one_line, print_fields, print_table, say
from retinue.cli.phrases import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retinue.engine.prompting.context_view import ContextMessage, ContextView

_BAR = 24


def print_context(view: "ContextView") -> None:
    """Print the sizes, then every part as the model reads it."""
    print_fields(_facts(view))
    say()
    print_table(("PART", "TOKENS", ""), list(_sizes(view)))
    for section in view.system:
        _heading(f"system: {section.name}", section.tokens)
        say(section.text)
    for tool in view.tools:
        _heading(f"tool: {tool.name}", tool.tokens)
        say(tool.description)
        say(json.dumps(tool.parameters, ensure_ascii=False))
    for message in view.messages:
        _heading(message.role, message.tokens)
        for line in _lines(message):
            say(line)
    for section in view.closing:
        _heading(f"after the conversation: {section.name}", section.tokens)
        say(section.text)


def _facts(view: "ContextView") -> list[tuple[str, str]]:
    tokens, marks = view.tokens, view.marks
    facts = [
        ("agent", view.agent_id),
        ("definition", f"{view.definition} {view.side}".strip()),
        ("model", view.model),
        ("tokens", f"about {tokens.corrected:,} of {view.limit:,} ({view.pressure})"),
        ("estimated", f"{tokens.estimated:,}"),
        ("compacts at", f"{marks.warning:,} after the turn, {marks.critical:,} immediately"),
    ]
    if view.reported is not None:
        facts.append(("last call", f"{view.reported.reported:,} reported by {view.reported.model}"))
    if view.summary is not None:
        before = f"records before {view.summary.kept_from}"
        facts.append(("summarised", f"{before} ({view.summary.reason})"))
    if view.hooks:
        facts.append(("hooks", ", ".join(view.hooks)))
    if view.blocked is not None:
        facts.append(("blocked", one_line(view.blocked, 200)))
    return facts


def _sizes(view: "ContextView") -> "Iterator[tuple[str, str, str]]":
    tokens = view.tokens
    parts = [
        ("system", tokens.system),
        (f"tools ({len(view.tools)})", tokens.tools),
        (f"messages ({len(view.messages)})", tokens.messages),
        ("after the conversation", tokens.closing),
    ]
    whole = max(1, sum(size for _, size in parts))
    for name, size in parts:
        yield name, f"{size:,}", "█" * round(_BAR * size / whole)


def _heading(name: str, tokens: int) -> None:
    say(f"\n── {name} ({plural(tokens, 'token')})")


def _lines(message: "ContextMessage") -> "Iterator[str]":
    for part in message.parts:
        match part.type:
            case "call":
                yield f"[call {part.name} {part.text}]"
            case "result":
                yield f"[{'error' if part.is_error else 'result'} of {part.name}] {part.text}"
            case "thinking":
                yield f"[thinking] {part.text}"
            case _:
                yield part.text
