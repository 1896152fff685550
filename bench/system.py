"""Retinue under test: the whole engine with an instant model and one tool."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.workload import ARGUMENTS, ASKING, QUESTION, REPLY, SAYING, TOOL, TOOL_ANSWER
from retinue.agents.descriptor import UserDescriptor
from retinue.assembly import App, Extras, open_app, tune_process
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.model_messages import ToolMessage
from retinue.models.port import Model, ModelRequest
from retinue.models.scripted import Call, Reply, ScriptedModel
from retinue.problems import LoadProblem
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool

_ASKS = Reply(
    calls=[Call(name=TOOL, arguments=ARGUMENTS)],
    finish="tool_calls",
    usage=ASKING,
)
_SAYS = Reply(text=REPLY, usage=SAYING)

ENVIRONMENT = {
    "RETINUE_MODEL": "bench",
    "RETINUE_LIMITS__COALESCE_WINDOW_MS": "0",  # waiting for a burst is not the engine's cost
    "RETINUE_LIMITS__FOREGROUND_CONCURRENCY": "1000",
    "RETINUE_AGENTS__EMERGENCY_CONTEXT_LIMIT": "2000000",
}


@tool(name=TOOL)
async def stock(item: str) -> str:
    """Tell how many of an item are left."""
    del item
    return TOOL_ANSWER


class BenchTools:
    """The one tool."""

    def __init__(self) -> None:
        made = stock.as_tool(source="bench")
        self._tools: Mapping[str, Tool] = {made.name: made}

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()


def reply(request: ModelRequest) -> Reply:
    return _SAYS if isinstance(request.messages[-1], ToolMessage) else _ASKS


def extras(models: Mapping[str, Model] | None = None) -> Extras:
    known: dict[str, Model] = {"bench": ScriptedModel(reply, name="bench"), **(models or {})}
    return Extras(models=known, tools=BenchTools())


class Retinue:
    """Conversations with one engine."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._agents: dict[int, AgentId] = {}

    async def agent(self, conversation: int) -> AgentId:
        if conversation not in self._agents:
            descriptor = UserDescriptor(
                connector="bench", user_id="bench", channel_id=str(conversation)
            )
            agent = await self.app.engine.create(LOCAL_OWNER, "assistant", descriptor=descriptor)
            self._agents[conversation] = agent.id
        return self._agents[conversation]

    async def turn(self, conversation: int, number: int) -> None:
        engine = self.app.engine
        agent_id = await self.agent(conversation)
        receipt = await engine.post(LOCAL_OWNER, agent_id, QUESTION.format(turn=number))
        outcome = await engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=120)
        if outcome.item.fate != "answered" or outcome.reply != REPLY:
            raise RuntimeError(f"turn {number} of {conversation}: {outcome}")


@asynccontextmanager
async def retinue(
    directory: Path, *, models: Mapping[str, Model] | None = None
) -> AsyncGenerator[Retinue]:
    app = await open_app(directory, ENVIRONMENT, extras=extras(models))
    tune_process()  # as `retinue serve` does
    try:
        yield Retinue(app)
    finally:
        await app.close()
