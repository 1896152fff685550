"""Delegation beside plain turns: pairs of agents, of which one asks the other and waits."""

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.workload import ARGUMENTS, QUESTION, REPLY, TOOL, TOOL_ANSWER, Timing, drive
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.stores.port import Agent
from retinue.testing.kit import Kit, Stage
from retinue.tools.function_tool import tool

PAIRS = 200
TURNS = 3
_DEFINITION = 'name = "{0}"\ndisplayName = "{0}"\ndescription = "Is the {0}."\n'
_NAMES = ("parent", "child", "alone")


@tool(name=TOOL, effect="pure")
async def stock(item: str) -> str:
    """Tell how many are left."""
    del item
    return TOOL_ANSWER


def answer(request: ModelRequest) -> Answer:
    """Ask the child as the parent, use the tool when alone, answer as the child."""
    last = request.messages[-1]
    is_parent = request.system.startswith("You are parent")
    if is_parent and isinstance(last, UserMessage):
        _, _, child = _text(last).rpartition(" ")
        arguments = {"agentId": "child", "content": QUESTION, "session": child}
        return Reply(calls=[Call(name="agents_message", arguments=arguments)])
    if request.system.startswith("You are alone") and isinstance(last, UserMessage):
        return Reply(calls=[Call(name=TOOL, arguments=ARGUMENTS)])
    return REPLY


def _text(message: UserMessage) -> str:
    return "".join(part.text for part in message.content if isinstance(part, TextContent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """Medians over the rounds of one run."""

    pairs: int
    plain_turns_per_second: float
    turns_per_second: float  # that delegate
    share: float  # of plain turns


async def measure(directory: Path, *, pairs: int = PAIRS, rounds: int) -> Delegation:
    """Take plain turns and turns that delegate by turns, so that noise hits both."""
    with tempfile.TemporaryDirectory(dir=directory) as name:
        kit = Kit(_stage(Path(name)))
        await kit.open()
        try:
            taken = [
                [await _turns(kit, definition, pairs) for definition in ("alone", "parent")]
                for _ in range(rounds)
            ]
        finally:
            await kit.close()
    speeds = [(plain.turns_per_second, asking.turns_per_second) for plain, asking in taken]
    return Delegation(
        pairs=pairs,
        plain_turns_per_second=statistics.median(plain for plain, _ in speeds),
        turns_per_second=statistics.median(asking for _, asking in speeds),
        share=statistics.median(asking / plain for plain, asking in speeds),
    )


def _stage(directory: Path) -> Stage:
    return Stage(
        directory=directory,
        models={"main": ScriptedModel(answer, name="main")},
        definitions={f"{name}.toml": _DEFINITION.format(name) for name in _NAMES},
        tools=[stock],
        collaborates=True,
    )


async def _turns(kit: Kit, definition: str, conversations: int) -> Timing:
    agents: list[Agent] = [
        await kit.engine.create(LOCAL_OWNER, definition) for _ in range(conversations)
    ]
    children: list[Agent] = [
        await kit.engine.create(LOCAL_OWNER, "child") for _ in range(conversations)
    ]

    async def turn(conversation: int, number: int) -> None:
        question = f"{QUESTION.format(turn=number)} {children[conversation].id}"
        outcome = await kit.ask(agents[conversation], question)
        assert outcome.reply == REPLY, outcome

    await drive(turn, conversations=conversations, turns=1)
    return await drive(turn, conversations=conversations, turns=TURNS, first=1)
