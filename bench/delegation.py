"""Delegation beside plain turns: pairs of agents, of which one asks the other and waits."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.workload import ARGUMENTS, QUESTION, REPLY, TOOL, TOOL_ANSWER, Timing, drive
from retinue.ids import LOCAL_OWNER
from retinue.messages import TextContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.stores.port import Agent
from retinue.testing.kit import Kit, Stage
from retinue.tools.function import tool

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


async def measured(directory: Path, pairs: int = PAIRS, turns: int = TURNS) -> Sequence[Timing]:
    """Give the timing of plain turns and of turns that delegate, from one run."""
    stage = Stage(
        directory=directory,
        models={"main": ScriptedModel(answer, name="main")},
        definitions={f"{name}.toml": _DEFINITION.format(name) for name in _NAMES},
        tools=[stock],
        collaborates=True,
    )
    kit = Kit(stage)
    await kit.open()
    try:
        return [await _turns(kit, name, pairs, turns) for name in ("alone", "parent")]
    finally:
        await kit.close()


async def _turns(kit: Kit, definition: str, conversations: int, turns: int) -> Timing:
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
    return await drive(turn, conversations=conversations, turns=turns, first=1)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        plain, delegating = asyncio.run(measured(Path(directory)))
    share = delegating.turns_per_second / plain.turns_per_second
    print(f"plain turns            {plain.turns_per_second:8.0f} /s")
    print(f"turns that delegate    {delegating.turns_per_second:8.0f} /s   {share:.2f} of plain")


if __name__ == "__main__":
    main()
