"""A turn keeps the files it began with; what they take away is gone at once."""

import asyncio
from collections.abc import Callable

import pytest

from retinue.models.scripted import Answer, Call, Reply
from tests.unit.project.house import HELPER, TOOL, House
from tests.waiting import eventually

WAIT = """\
import asyncio
from pathlib import Path
from retinue import tool

HERE = Path(__file__).parents[1]

@tool
async def wait() -> str:
    (HERE / "waits").touch()
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return "waited"
"""
CALLS = Reply(calls=[Call(name="version")])


@pytest.fixture
def files(house: House) -> House:
    house.write("agents/helper.toml", HELPER.format(1, ""))
    house.write("tools/version.py", TOOL.format(1))
    return house


def turn(house: House, change: Callable[[], None]) -> list[Answer]:
    """A turn of two calls: files change after the first."""
    return [
        CALLS,
        Reply(before=house.edits(change), calls=[Call(name="version")]),
        "done",
        CALLS,
        "done again",
    ]


async def test_an_edit_between_turns_applies(files: House) -> None:
    await files.open([CALLS, "one", CALLS, "two"])
    agent = await files.agent()
    await files.say(agent)
    assert (files.results(), "Version 1." in files.model.requests[-1].system) == (["code 1"], True)
    files.write("agents/helper.toml", HELPER.format(2, ""))
    files.write("tools/version.py", TOOL.format(2))
    await files.look()
    await files.say(agent)
    assert files.results() == ["code 1", "code 2"]
    assert "Version 2." in files.model.requests[-1].system


async def test_an_edit_during_a_turn_applies_from_the_next_turn_on(files: House) -> None:
    def change() -> None:
        files.write("agents/helper.toml", HELPER.format(2, ""))
        files.write("tools/version.py", TOOL.format(2))

    await files.open(turn(files, change))
    agent = await files.agent()
    assert (await files.say(agent))["fate"] == "answered"
    assert files.results() == ["code 1", "code 1"]
    assert "Version 1." in files.model.requests[-1].system
    await files.say(agent)
    assert files.results() == ["code 1", "code 1", "code 2"]
    assert "Version 2." in files.model.requests[-1].system


@pytest.mark.parametrize(
    "line",
    [
        'toolDenylist = ["version"]',
        "toolAllowlist = []",
        'capabilityDenylist = ["shop.*"]',
    ],
)
async def test_a_narrowing_during_a_turn_refuses_the_next_call(files: House, line: str) -> None:
    files.write(
        "tools/version.py", TOOL.format(1).replace("@tool", '@tool(capabilities=["shop.a"])')
    )

    def change() -> None:
        files.write("agents/helper.toml", HELPER.format(2, line))

    await files.open(turn(files, change))
    assert (await files.say(await files.agent()))["fate"] == "answered"
    first, second = files.results()
    assert (first, second) == ("code 1", "The tool 'version' is not allowed for this agent.")
    assert "Version 1." in files.model.requests[-1].system


async def test_a_narrowing_between_two_calls_of_one_response_counts(files: House) -> None:
    files.write("tools/wait.py", WAIT)
    await files.open([Reply(calls=[Call(name="wait"), Call(name="version")]), "done"])
    denied = HELPER.format(1, 'toolDenylist = ["version"]')

    async def narrow() -> None:
        await eventually((files.folder / "waits").exists)
        files.write("agents/helper.toml", denied)
        await files.look()
        files.write("go", "")

    narrowing = asyncio.create_task(narrow())
    await files.say(await files.agent())
    await narrowing
    assert files.results() == ["waited", "The tool 'version' is not allowed for this agent."]


async def test_approvals_that_are_added_during_a_turn_are_asked_for(files: House) -> None:
    def change() -> None:
        files.write("agents/helper.toml", HELPER.format(1, 'toolApprovals = ["version"]'))

    await files.open(turn(files, change))
    agent = await files.agent()
    posted = await files.client.post(f"/api/agents/{agent}/messages", json={"content": "hi"})
    path = f"/api/agents/{agent}/messages/{posted.json()['id']}?wait=1"
    assert (await files.client.get(path)).json()["fate"] != "answered"
    asked = (await files.client.get("/api/permissions")).json()
    assert "version" in str(asked)


@pytest.mark.parametrize("text", [None, "= broken"])
async def test_a_definition_that_is_deleted_or_broken_during_a_turn_fails_nothing(
    files: House, text: str | None
) -> None:
    def change() -> None:
        if text is None:
            files.delete("agents/helper.toml")
        else:
            files.write("agents/helper.toml", text)

    files.write("agents/other.toml", "")
    await files.open(turn(files, change))
    agent = await files.agent()
    told = await files.say(agent)
    assert (told["fate"], files.results()) == ("answered", ["code 1", "code 1"])
    after = await files.say(agent)
    assert after["fate"] == ("failed" if text is None else "answered")


async def test_a_tool_that_is_deleted_during_a_turn_is_gone_at_once(files: House) -> None:
    await files.open(turn(files, lambda: files.delete("tools/version.py")))
    assert (await files.say(await files.agent()))["fate"] == "answered"
    first, second = files.results()
    assert first == "code 1"
    assert second.startswith("There is no tool called 'version'.")


async def test_a_tool_that_breaks_during_a_turn_goes_on_as_it_was(files: House) -> None:
    await files.open(turn(files, lambda: files.write("tools/version.py", "def broken(:\n")))
    agent = await files.agent()
    await files.say(agent)
    await files.say(agent)
    assert files.results() == ["code 1", "code 1", "code 1"]


async def test_a_definition_that_was_saved_a_moment_ago_can_be_used(files: House) -> None:
    await files.open(["one"])
    files.write("agents/fresh.toml", HELPER.format("fresh", ""))
    assert (await files.say(await files.agent("fresh")))["fate"] == "answered"
    assert "Version fresh." in files.model.requests[-1].system


async def test_an_edit_is_seen_without_anybody_asking(files: House) -> None:
    await files.open(["one", "two"])
    agent = await files.agent()
    await files.say(agent)
    revision = files.app.engine.project.current.revision
    files.write("agents/helper.toml", HELPER.format(2, ""))
    await eventually(lambda: files.app.engine.project.current.revision > revision)
    await files.say(agent)
    assert "Version 2." in files.model.requests[-1].system
