"""The model, the tools and the connector of a trial: nothing of them has a memory."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from retinue.errors import ModelError
from retinue.ids import AgentId, RequestId
from retinue.messages import TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.problems import LoadProblem
from retinue.stores.port import Delivery
from retinue.testing.verify.effects import EFFECTS, SENT, Effect, EffectLog
from retinue.testing.verify.leading import LED_TOOLS, led
from retinue.tools.function import FunctionTool, tool
from retinue.tools.port import Pending, Tool, ToolContext

Act = Callable[[ToolContext, str], Awaitable[str]]

RELEASED = "released"
CONNECTOR = "log"
DELIVERED = ("main", "reset", "stopped", "asking", "asking-later")
"""the channels whose replies leave through the connector"""
SWITCHED = "switching"
"""one more of them, whose person goes from agent to agent"""


def reply(request: ModelRequest) -> Answer:
    """Answer as a function of the request alone, so that a repeated call gives the same."""
    if request.system.startswith("Summarise"):
        return "summed up"
    said = led(request)
    if said is not None:
        return said
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"used tools, {_lines(request)} lines"
    text = _last_text(last)
    word, _, rest = text.partition(" ")
    match word:
        case "ask":
            return Reply(calls=[_question(one) for one in rest.split(" + ")])
        case "start":
            arguments = {"prompt": f"background {rest}", "definition": "worker"}
            return Reply(calls=[Call(name="start_background_agent", arguments=arguments)])
        case "switch":
            return Reply(calls=[Call(name="agents_switch", arguments={"agentId": rest})])
        case "use":
            return Reply(calls=[_call(name) for name in rest.split()])
        case "flaky" if request.attempt == 0:
            return ModelError("busy for a moment", is_retryable=True)
        case "hopeless":
            return ModelError("this model is gone")
        case _:
            return Reply(text=f"re {text}, {_lines(request)} lines", chunk=8)


def _question(words: str) -> Call:
    """Read `worker sync 30 create what to do`; a timeout of 0 is none."""
    agent, mode, seconds, session, content = words.split(" ", 4)
    arguments: dict[str, object] = {
        "agentId": agent,
        "content": content,
        "mode": mode,
        "session": session,
    }
    if seconds != "0":
        arguments["timeout"] = int(seconds)
    return Call(name="agents_message", arguments=arguments)


def _call(name: str) -> Call:
    tool_name, _, argument = name.partition(":")
    if tool_name == "request_permission":
        wish = {"permission": f"@{argument}", "reason": "a trial"}
        return Call(name=tool_name, arguments=wish)
    return Call(name=tool_name, arguments={"what": argument})


def _last_text(message: object) -> str:
    contents = message.content if isinstance(message, UserMessage) else ()
    texts = [content.text for content in contents if isinstance(content, TextContent)]
    return texts[-1] if texts else ""


def _lines(request: ModelRequest) -> int:
    return sum(len(m.content) for m in request.messages if isinstance(m, UserMessage))


class LogConnector:
    """Sends replies into a file."""

    def __init__(self, directory: Path) -> None:
        self._log = EffectLog(directory / SENT)

    async def deliver(self, delivery: Delivery) -> None:
        self._log.add(Effect(name=delivery.channel, key=delivery.key, text=delivery.text))


class TrialTools:
    """A tool of each effect contract, and some that wait or post."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._log = EffectLog(directory / EFFECTS)
        made: list[FunctionTool[..., object]] = [
            tool(name="pure", effect="pure")(self._act("pure")),
            tool(name="keyed", effect="keyed")(self._act("keyed")),
            tool(name="once", effect="once")(self._act("once")),
            tool(name="asked", effect="once")(self._act("asked")),
            tool(name="checked", effect="verifiable", check=self._happened)(self._act("checked")),
            tool(name="hold", effect="pure")(self._hold),
            tool(name="stuck", effect="once")(self._stuck),
            tool(name="tell", effect="pure")(self._tell),
            tool(name="permit", effect="keyed")(self._permit),
        ]
        self._tools = {one.name: one.as_tool() for one in (*made, *LED_TOOLS)}

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()

    def _act(self, name: str) -> Act:
        async def act(ctx: ToolContext, what: str) -> str:
            """Do it."""
            self._log.add(Effect(name=name, key=ctx.idempotency_key, text=what))
            return f"{name} {what}"

        return act

    async def _happened(self, ctx: ToolContext) -> bool:
        return any(effect.key == ctx.idempotency_key for effect in self._log.read())

    async def _hold(self, ctx: ToolContext, what: str) -> str:
        """Wait until the client lets it go."""
        self._log.add(Effect(name="hold", key=ctx.idempotency_key, text=what))
        while not (self._directory / f"{RELEASED}-{what}").exists():  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        return "released"

    async def _stuck(self, ctx: ToolContext, what: str) -> str:
        """Wait for ever."""
        self._log.add(Effect(name="stuck", key=ctx.idempotency_key, text=what))
        await asyncio.Event().wait()
        return ""

    async def _permit(self, ctx: ToolContext, what: str) -> Pending:
        """Wait for a decision that nobody makes."""
        self._log.add(Effect(name="permit", key=ctx.idempotency_key, text=what))
        return Pending(reason="permission", request=RequestId(what))

    async def _tell(self, ctx: ToolContext, what: str) -> str:
        """Tell another agent."""
        self._log.add(Effect(name="tell", key=ctx.idempotency_key, text=what))
        ctx.post(AgentId(what), "news")
        return "told"
