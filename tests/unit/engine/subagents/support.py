"""A boss whose prompt lists a pair of worker and reviewer, and a model that plays all three."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import AnyRecord, SystemRecord, ToolRecord
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import last_said, until

BOSS = """
name = "boss"
displayName = "Boss"
description = "Orders things."
[sideA]
prompt = "boss"
"""
PAIR = """
name = "pair"
displayName = "The Pair"
description = "Makes and checks."
type = "dual_ai"
maxSessionTurns = 6
exposeAsTool = true
toolDescription = "Draws what it is told to."
[sideA]
label = "Worker"
prompt = "worker"
[sideA.sessionFail]
name = "give_up"
messageProperty = "reason"
attachmentsProperty = "files"
[sideB]
label = "Reviewer"
prompt = "reviewer"
stopOnResponse = false
[sideB.sessionStop]
name = "approve"
messageProperty = "summary"
attachmentsProperty = "files"
[sideB.sessionStatus]
name = "report"
messageProperty = "status"
"""
WORKER = "---\nmodel: main\ntools: [draw, give_up]\n{schema}---\nYou are the worker."
REVIEWER = (
    "---\nmodel: main\ntools: [approve, report, notify_parent, set_status]\n---\n"
    "You are the reviewer."
)
TASK_SCHEMA = (
    "requiredSchema: {type: object, properties: {task: {type: string}, "
    "pictures: {type: array, items: {type: string}}, called: {type: string}}, required: [task]}\n"
)


def pair_tools() -> list[Any]:
    @tool(effect="keyed")
    async def draw(ctx: ToolContext, name: str = "picture.png") -> str:
        """Draw into a file."""
        await ctx.files.write(f"/attachments/{name}", name.encode())
        return f"drawn at /attachments/{name}"

    @tool(effect="once")
    async def give_up(reason: str = "", files: list[str] | None = None) -> str:
        """Give the work up."""
        return "given up"

    @tool(effect="once")
    async def approve(summary: str = "", files: list[str] | None = None) -> str:
        """Approve the work."""
        return "approved"

    @tool(effect="once")
    async def report(status: str = "") -> str:
        """Say how it goes."""
        return "noted"

    return [draw, give_up, approve, report]


Side = Callable[[ModelRequest], Answer]


def call(name: str, /, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=name, arguments=arguments)])


def approves(_: ModelRequest) -> Answer:
    return call("approve", summary="a good tree")


def works(_: ModelRequest) -> Answer:
    return "here it is"


def says(text: str) -> Side:
    return lambda _: text


class Play:
    """Plays boss, worker and reviewer; counts how often each of them spoke."""

    def __init__(self, boss: Side, worker: Side = works, reviewer: Side = approves) -> None:
        self._sides: Mapping[str, Side] = {"boss": boss, "worker": worker, "reviewer": reviewer}
        self.spoke: list[str] = []
        self.requests: list[tuple[str, ModelRequest]] = []

    def __call__(self, request: ModelRequest) -> Answer:
        who = next(name for name in self._sides if f"You are the {name}." in request.system)
        self.spoke.append(who)
        kept = structs.replace(request, messages=list(request.messages))
        self.requests.append((who, kept))
        return self._sides[who](request)

    def last(self, who: str) -> ModelRequest:
        return [request for name, request in self.requests if name == who][-1]


def on_go(reply: Answer, **more: Answer) -> Side:
    """The boss does `reply` when told to go, and notes everything else."""

    def boss(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return "noted"
        text = last_said(request)
        return reply if text == "go" else more.get(text, "noted")

    return boss


async def begin(
    start: Start,
    play: Callable[[ModelRequest], Answer] | ScriptedModel,
    entry: str = "pair",
    *,
    schema: str = "",
    definitions: Mapping[str, str] | None = None,
    prompts: Mapping[str, str] | None = None,
    **options: Any,
) -> Kit:
    """Start an engine in which the boss's prompt has this entry."""
    return await start(
        play,
        tools=[*pair_tools(), *options.pop("tools", [])],
        definitions={"boss.toml": BOSS, "pair.toml": PAIR, **(definitions or {})},
        prompts={
            "boss.md": f"---\nmodel: main\ntools: [{entry}]\n---\nYou are the boss.",
            "worker.md": WORKER.format(schema=schema),
            "reviewer.md": REVIEWER,
            **(prompts or {}),
        },
        collaborates=True,
        **options,
    )


async def children(kit: Kit, parent: Agent) -> list[Agent]:
    return list(await kit.store.children(parent.owner, parent.id))


async def only_child(kit: Kit, parent: Agent) -> Agent:
    (child,) = await children(kit, parent)
    return child


async def tool_result(kit: Kit, agent: Agent) -> ToolRecord:
    return [r for r in await kit.records(agent) if isinstance(r, ToolRecord)][-1]


async def notices(kit: Kit, agent: Agent) -> list[SystemRecord]:
    return [r for r in await kit.records(agent) if isinstance(r, SystemRecord)]


async def record_until(
    kit: Kit, agent: Agent, fits: Callable[[AnyRecord], bool]
) -> list[AnyRecord]:
    async def is_there() -> bool:
        return any(fits(record) for record in await kit.records(agent))

    await until(is_there)
    return await kit.records(agent)


async def registry(kit: Kit, agent: Agent) -> list[tuple[str, str]]:
    """The lifecycle and the status text of each child."""
    state = (await kit.fresh(agent)).state
    return [(entry.lifecycle, entry.status_text) for entry in state.children]


async def registry_until(kit: Kit, agent: Agent, *wanted: tuple[str, str]) -> None:
    async def is_so() -> bool:
        return await registry(kit, agent) == list(wanted)

    await until(is_so)
