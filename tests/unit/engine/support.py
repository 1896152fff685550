"""Models and tools that tests of the engine share."""

import asyncio
from collections.abc import Callable, Sequence

from retinue.model_messages import TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.tools.function_tool import tool
from retinue.tools.port import Effect, Tool
from tests.waiting import eventually as eventually
from tests.waiting import until as until


def said(request: ModelRequest) -> list[str]:
    """Give all texts that the model is shown and did not say itself, in order."""
    lines: list[str] = []
    for message in request.messages:
        if isinstance(message, UserMessage):
            lines += [c.text for c in message.content if isinstance(c, TextContent)]
        elif isinstance(message, ToolMessage):
            lines.append(message.text)
    return [*lines, request.closing] if request.closing else lines


def last_said(request: ModelRequest) -> str:
    return said(request)[-1]


def calls(*names: str, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=name, arguments=arguments) for name in names])


def tool_then_answer(name: str, answer: str = "done") -> Callable[[ModelRequest], Answer]:
    """Call a tool for each new message, then answer."""

    def reply(request: ModelRequest) -> Answer:
        is_new = isinstance(request.messages[-1], UserMessage)
        return calls(name) if is_new else answer

    return reply


class Gate:
    """Something that waits until the test lets it go on, and tells when it was reached."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self.count = 0

    async def __call__(self) -> None:
        self.count += 1
        self.reached.set()
        await self.opened.wait()


def gated(gate: Gate, *, effect: Effect = "once", name: str = "gated") -> Tool:
    async def wait() -> str:
        """Wait until the gate opens."""
        await gate()
        return "passed"

    return tool(name=name, effect=effect)(wait).as_tool()


def counted_tool(log: list[str], name: str, effect: Effect = "once") -> Tool:
    async def work() -> str:
        """Do a thing."""
        log.append(name)
        return f"{name} done"

    return tool(name=name, effect=effect)(work).as_tool()


def in_order(texts: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the texts appear among the lines in this order."""
    rest = iter(lines)
    return all(any(text == line for line in rest) for text in texts)
