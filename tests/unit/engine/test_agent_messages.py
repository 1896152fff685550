import re
from collections.abc import Callable

from retinue.engine.collaboration.collaboration_tools import COLLABORATION_TOOLS
from retinue.engine.panels.panel_tools import PANEL_TOOLS
from retinue.engine.scheduling.schedule_tools import SCHEDULE_TOOLS
from retinue.ids import OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import last_said, until


def sends(text: str, **arguments: object) -> Reply:
    return Reply(calls=[Call(name="send_agent_message", arguments={"text": text, **arguments})])


def told(kinds: list[str]) -> list[str]:
    return [kind for kind in kinds if kind.startswith("system")]


def result(kinds: list[str]) -> str:
    return next(kind for kind in kinds if kind.startswith("tool send_agent_message"))


def on_go(reply: Answer) -> Callable[[ModelRequest], Answer]:
    def script(request: ModelRequest) -> Answer:
        return reply if re.search(r"\bgo\b", last_said(request)) else "ok"

    return script


async def heard(kit: Kit, agent: Agent) -> list[str]:
    await until(lambda: _has_system(kit, agent))
    return told(await kit.kinds(agent))


async def _has_system(kit: Kit, agent: Agent) -> bool:
    return bool(told(await kit.kinds(agent)))


async def test_a_message_without_a_target_reaches_the_most_recent_chat_also_after_a_restart(
    start: Start,
) -> None:
    kit = await start(on_go(sends("news")), collaborates=True)
    older, newer = await kit.agent(), await kit.agent()
    await kit.ask(older, "hi")
    await kit.ask(newer, "hi")
    writer = await kit.agent()
    await kit.restart()
    await kit.post_system(writer, "go")
    assert await heard(kit, newer) == ["system news"]
    assert told(await kit.kinds(older)) == []


async def test_unknown_foreign_own_and_ended_targets_are_refused(start: Start) -> None:
    targets: list[str] = []

    def script(request: ModelRequest) -> Answer:
        return sends("x", agentId=targets[0]) if last_said(request) == "go" else "ok"

    kit = await start(script, collaborates=True)
    ended, foreign = await kit.agent(), await kit.agent(owner=OwnerId("somebody"))
    await kit.engine.terminate(ended.owner, ended.id)
    for target, words in [
        ("nobody", "there is no agent"),
        (foreign.id, "there is no agent"),
        (ended.id, "has ended and accepts no messages"),
    ]:
        writer = await kit.agent()
        targets[:] = [target]
        await kit.ask(writer, "go")
        assert words in result(await kit.kinds(writer))
    targets[:] = [writer.id]
    await kit.ask(writer, "go")
    assert "cannot write to itself" in [k for k in await kit.kinds(writer) if "tool" in k][-1]
    assert told(await kit.kinds(foreign)) == []


async def test_a_silent_message_wakes_nobody_and_is_read_at_the_next_occasion(
    start: Start,
) -> None:
    targets: list[str] = []

    def script(request: ModelRequest) -> Answer:
        return sends("psst", agentId=targets[0], silent=True) if last_said(request) == "go" else "k"

    kit = await start(script, collaborates=True)
    writer, reader = await kit.agent(), await kit.agent()
    targets.append(reader.id)
    await kit.ask(writer, "go")
    assert await kit.kinds(reader) == ["start"]
    await kit.ask(reader, "hello")
    assert (await kit.kinds(reader))[1:3] == ["system psst", "user hello"]


async def test_a_long_text_arrives_as_a_file(start: Start) -> None:
    targets: list[str] = []
    text = "word " * 4_000

    def script(request: ModelRequest) -> Answer:
        return sends(text, agentId=targets[0]) if last_said(request) == "go" else "ok"

    kit = await start(script, collaborates=True)
    writer, reader = await kit.agent(), await kit.agent()
    targets.append(reader.id)
    await kit.ask(writer, "go")
    (line,) = await heard(kit, reader)
    path = line.partition("your file ")[2].partition(". It begins")[0]
    assert await kit.stage.trees.tree(reader.id).read(path) == text.encode()


async def test_agents_that_only_talk_to_each_other_are_stopped(start: Start) -> None:
    pair: list[Agent] = []

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go" or 'origin="' in text:
            me = 1 if f'origin="{pair[0].id}"' in text else 0
            return sends("ping", agentId=pair[1 - me].id)
        return "ok"

    kit = await start(script, collaborates=True, limits={"message_hops": 6})
    pair += [await kit.agent(), await kit.agent()]
    await kit.ask(pair[0], "go")

    async def is_over() -> bool:
        lines = [*await kit.kinds(pair[0]), *await kit.kinds(pair[1])]
        return any("since a person last wrote" in line for line in lines)

    await until(is_over)
    assert len(told(await kit.kinds(pair[1]))) == 3


async def test_definitions_know_the_names_of_the_tools_of_collaboration(start: Start) -> None:
    kit = await start(["unused"], collaborates=True)
    expected = {*COLLABORATION_TOOLS, *SCHEDULE_TOOLS, *PANEL_TOOLS}
    assert set(kit.engine.project.current.tools) == expected
