"""The stateless model, tools and connector of all trials."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from retinue.errors import ModelError, UsageError
from retinue.ids import AgentId, RequestId
from retinue.model_messages import TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.problems import LoadProblem
from retinue.stores.port import Delivery
from retinue.testing.verify.effects import EFFECTS, SENT, Effect, EffectLog, note
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import Pending, Tool, ToolContext

Act = Callable[[ToolContext, str], Awaitable[str]]

RELEASED = "released"
CONNECTOR = "log"
DELIVERED = ("main", "reset", "stopped", "asking", "asking-later")
"""the channels whose replies are sent through the connector"""
SWITCHED = "switching"
"""another such channel, whose person switches between agents"""


def reply(request: ModelRequest) -> Answer:
    """Answer based on the request alone, so that a repeated call gets the same answer."""
    if request.system.startswith("Summarise"):
        return "summed up"
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
    """Parse `worker sync 30 create what to do`; 0 means no timeout."""
    agent, mode, seconds, session, content = words.split(" ", 4)
    arguments: dict[str, object] = {
        "agentId": agent,
        "content": content,
        "mode": mode,
        "session": session,
    }
    if seconds != "0":
        arguments["timeout"] = float(seconds)
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
    """Writes replies to a file."""

    async def deliver(self, delivery: Delivery) -> None:
        sent = Effect(name=delivery.channel, key=delivery.key, text=delivery.text)
        EffectLog(Path(SENT)).add(sent)


# -- one tool for each effect contract, and some that wait or post


def _acting(name: str) -> Act:
    async def act(ctx: ToolContext, what: str) -> str:
        """Do it."""
        note(name, ctx.idempotency_key, what)
        return f"{name} {what}"

    return act


async def _happened(ctx: ToolContext) -> bool:
    return any(e.key == ctx.idempotency_key for e in EffectLog(Path(EFFECTS)).read())


@tool(effect="pure")
async def hold(ctx: ToolContext, what: str) -> str:
    """Wait until the client lets it go."""
    note("hold", ctx.idempotency_key, what)
    while not Path(f"{RELEASED}-{what}").exists():  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.005)
    return "released"


@tool(effect="once")
async def stuck(ctx: ToolContext, what: str) -> str:
    """Wait for ever."""
    note("stuck", ctx.idempotency_key, what)
    await asyncio.Event().wait()
    return ""


@tool(effect="keyed")
async def permit(ctx: ToolContext, what: str) -> Pending:
    """Wait for a decision that nobody makes."""
    note("permit", ctx.idempotency_key, what)
    return Pending(reason="permission", request=RequestId(what))


@tool(effect="pure")
async def tell(ctx: ToolContext, what: str) -> str:
    """Tell another agent."""
    note("tell", ctx.idempotency_key, what)
    ctx.post(AgentId(what), "news")
    return "told"


@tool(effect="keyed")
async def draw(ctx: ToolContext, what: str) -> str:
    """Draw into a file."""
    return (await ctx.files.write(f"/attachments/{what}.txt", what.encode())).path


@tool(effect="pure")
async def finish(what: str) -> str:
    """Say that it is made."""
    return f"finish {what}"


@tool(effect="pure")
async def report(what: str) -> str:
    """Say how it goes."""
    return f"report {what}"


@tool(effect="pure")
async def approve(what: str, files: list[str]) -> str:
    """Approve it."""
    return f"approve {what}, {len(files)} files"


@tool(effect="keyed", variables=[{"name": "KEY", "required": True, "scoped": True}])
async def spend(ctx: ToolContext, what: str) -> str:
    """Spend what the key opens."""
    note("spend", ctx.idempotency_key, f"{ctx.env('KEY')} for {what}")
    return f"spent on {what}"


@tool(effect="pure")
async def fail(what: str) -> str:
    """Fail."""
    raise UsageError(f"fail {what}")


class TrialTools:
    """The tools of all trials."""

    def __init__(self) -> None:
        made: list[FunctionTool[..., object]] = [
            tool(name="pure", effect="pure")(_acting("pure")),
            tool(name="keyed", effect="keyed")(_acting("keyed")),
            tool(name="once", effect="once")(_acting("once")),
            tool(name="asked", effect="once")(_acting("asked")),
            tool(name="checked", effect="verifiable", check=_happened)(_acting("checked")),
        ]
        plain = (hold, stuck, permit, tell, draw, finish, report, approve, spend, fail)
        self._tools = {one.name: one.as_tool() for one in (*made, *plain)}

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()


@cache
def trial_tools() -> TrialTools:
    """Return the tools; created once, before the engine processes are forked."""
    return TrialTools()
