"""The texts of the offline model: about itself, its tools and results."""

import json
import re
from collections.abc import Sequence

from retinue.model_messages import ToolMessage
from retinue.models.offline.arguments import example
from retinue.models.offline.commands import Tools, rule_for
from retinue.models.offline.tool_outcomes import in_words

_SHORT = 160
_LONGEST = 4_000
_QUOTED = 300
_HIGHEST = 1_000
_BACKTICKS = re.compile(r"`{3,}")

REAL_MODEL = (
    'To talk to a real model, set `model = "openai:gpt-5"` (or `anthropic:…`, `google:…`, '
    "`ollama:…`) in `retinue.toml`, and its key, such as `OPENAI_API_KEY`, in the environment."
)
GREETING = (
    "Hello! I am the **offline model** that is built into Retinue: a set of rules, not an AI. "
    "I can use this agent's tools. Say `help` to see how."
)
MARKDOWN = """\
# A heading

Some text with **bold**, *italic*, `code` and a [link](https://example.com).

## A list

1. First
2. Second
   - with a nested item

- [x] done
- [ ] to do

## A table

| term | meaning |
|---|---|
| definition | the template |
| agent | one durable instance of it |

## Code

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

> A quotation at the end.
"""


def counting(highest: int) -> str:
    top = min(highest, _HIGHEST)
    more = f"\n\nI stop at {_HIGHEST}." if highest > _HIGHEST else ""
    return ", ".join(str(number) for number in range(1, top + 1)) + "." + more


def not_understood(text: str, *, is_first: bool) -> str:
    """Say that no rule matches, and how to set up a real model."""
    quoted = "\n".join(f"> {line}" for line in clipped(text, _QUOTED).splitlines()) or "> (empty)"
    if not is_first:
        return f"I am the offline model, and I have no rule for this:\n\n{quoted}\n\nTry `help`."
    return (
        "I am the **offline model**: a set of rules, not an AI. I have no rule for this:"
        f"\n\n{quoted}\n\nSay `help` to see what I can do. {REAL_MODEL}"
    )


def passed_on(text: str, origin: str) -> str:
    """Quote a message from another agent."""
    quoted = "\n".join(f"> {line}" for line in clipped(text, _LONGEST).splitlines()) or "> (empty)"
    return f"Message from the agent `{origin}`:\n\n{quoted}"


def thought(topic: str) -> tuple[str, str]:
    """Return a thinking part and a text."""
    thinking = (
        f"The person asks me to think about “{clipped(topic, _QUOTED)}”. I have rules and cannot "
        "think, so I only show what a thinking part looks like."
    )
    return thinking, (
        f"I thought about “{clipped(topic, _QUOTED)}”, but rules cannot really think. {REAL_MODEL}"
    )


def help_text(tools: Tools) -> str:
    """List the commands for the available tools."""
    lines = [
        "I am the **offline model**: a set of rules, not an AI. Here is what I can do.",
        "",
    ]
    if tools:
        lines += ["| say | tool |", "|---|---|"]
        lines += [f"| `{_way(name, tools)}` | {_about(name, tools)} |" for name in tools]
    else:
        lines.append("This agent has no tools.")
    lines += [
        "",
        "Join several commands with *then*. `call <tool> <json>` works for every tool. "
        "Without tools: `show markdown`, `count to 50`, `think about rain`.",
        "",
        REAL_MODEL,
    ]
    return "\n".join(lines)


def results_text(results: Sequence[ToolMessage]) -> str:
    return "\n\n".join(_result(result) for result in results)


def clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _way(name: str, tools: Tools) -> str:
    rule = rule_for(name)
    if rule is not None:
        return rule.example
    sample = example(tools[name].parameters)
    return f"call {name} {json.dumps(sample)}" if sample else f"call {name}"


def _about(name: str, tools: Tools) -> str:
    description = tools[name].description.strip()
    first = clipped(description.splitlines()[0], 80) if description else ""
    return f"`{name}` {first}".rstrip().replace("|", "\\|")


def _result(result: ToolMessage) -> str:
    text = result.text.strip()
    if result.is_error:
        return f"The call to `{result.name}` failed:\n\n{_block(text or '(no message)')}"
    if not text:
        return f"`{result.name}` finished without output."
    if (words := in_words(result.name, text)) is not None:
        return words
    if len(text) <= _SHORT and "\n" not in text:
        return f"`{result.name}` returned: {text}"
    return f"`{result.name}` returned:\n\n{_block(text)}"


def _block(text: str) -> str:
    """Put text in a code block with a fence that does not occur in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    cut = len(text) - _LONGEST
    more = f"\n\n({cut} more characters)" if cut > 0 else ""
    return f"{fence}\n{text[:_LONGEST]}\n{fence}{more}"
