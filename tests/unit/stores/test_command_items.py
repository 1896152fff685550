"""Commands in the database and in the folders, also as earlier versions stored them."""

import json
import sqlite3
from pathlib import Path

import pytest

from retinue.agents.command import (
    AgentPatch,
    PatchCommand,
    ResetCommand,
    SwitchCommand,
    TerminateCommand,
)
from retinue.agents.inbox import Sender
from retinue.errors import TerminatedError
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.stores.folders.comparison import compare
from retinue.stores.port import Commit, Post, command_item
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import SampleRunner, at, chat, new_agent, post
from tests.unit.stores.home import Home

SENDER = Sender(type="user", id=LOCAL_OWNER)
ROUTE = {"agentId": "home", "connector": "chat", "channel": "1"}
OLD = {
    "ending": {"text": "", "sender": {"type": "agent", "id": "parent"}},
    "switch": {
        "text": "an account",
        "sender": {"type": "agent", "id": "other"},
        "move": {"route": ROUTE},
    },
}


async def test_a_command_that_waits_survives_the_loss_of_the_database(home: Home) -> None:
    store = home.store
    agent = (await store.admit(post(new_agent(chat("a")), "hello"))).agent_id
    item = command_item(PatchCommand(patch=AgentPatch(name=None)), SENDER, at(1), key="k")
    receipt = await store.admit(Post(to=agent, item=item, owner=LOCAL_OWNER))
    again = await home.again()
    waiting = await again.store.open_items(LOCAL_OWNER, agent)
    assert waiting[1] == receipt.item
    repeat = await again.store.admit(Post(to=agent, item=item, owner=LOCAL_OWNER))
    assert repeat.is_repeat
    assert await compare(again.store, home.data) == []
    await again.close()


async def test_only_a_command_wakes_a_resting_agent_silently(home: Home) -> None:
    store = home.store
    agent, _ = await store.create(new_agent(chat("a")))
    await store.admit(post(agent.id, "psst", silent=True))
    assert list(await store.waking()) == []
    item = command_item(ResetCommand(), SENDER, at(1))
    receipt = await store.admit(Post(to=agent.id, item=item, owner=LOCAL_OWNER))
    assert receipt.position == 0
    assert dict(await store.waking()) == {agent.id: "foreground"}
    assert (await store.agent(LOCAL_OWNER, agent.id)).queued == 0


async def test_an_agent_that_ended_takes_only_some_commands(home: Home) -> None:
    store = home.store
    agent, _ = await store.create(new_agent(chat("a")))
    runner = await SampleRunner.claim(store, agent.id)
    await store.commit(
        Commit(agent_id=agent.id, epoch=runner.epoch, at=at(1), lifecycle="terminated")
    )
    for command in (ResetCommand(), TerminateCommand(reason="again")):
        item = command_item(command, SENDER, at(2))
        with pytest.raises(TerminatedError):
            await store.admit(Post(to=agent.id, item=item, owner=LOCAL_OWNER))
    item = command_item(PatchCommand(patch=AgentPatch(pinned=True)), SENDER, at(2))
    await store.admit(Post(to=agent.id, item=item, owner=LOCAL_OWNER))
    assert dict(await store.waking()) == {agent.id: "foreground"}


async def commands_of(store: SqliteStore, agent: AgentId) -> list[object]:
    items = await store.open_items(LOCAL_OWNER, agent)
    assert all((item.kind, item.silent) == ("command", True) for item in items)
    assert items[1].body.text == "an account"
    return [item.body.command for item in items]


def is_converted(commands: list[object]) -> None:
    ending, switch = commands
    assert ending == TerminateCommand(reason="its parent was terminated")
    assert isinstance(switch, SwitchCommand)
    assert switch.route is not None
    assert (switch.route.agent_id, switch.route.channel) == ("home", "1")


async def test_open_endings_and_switches_of_earlier_versions_become_commands(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    agent, _ = await store.create(new_agent(chat("a")))
    await store.admit(post(agent.id, "one"))
    await store.admit(post(agent.id, "two"))
    await store.close()
    database = sqlite3.connect(tmp_path / "retinue.db")
    for seq, (kind, body) in enumerate(OLD.items(), start=1):
        row = (kind, json.dumps(body).encode(), seq)
        database.execute("UPDATE items SET kind = ?, body = ? WHERE seq = ?", row)
    database.commit()
    database.executescript("ALTER TABLE items DROP COLUMN code; PRAGMA user_version = 11;")
    database.close()
    store = SqliteStore(tmp_path)
    await store.open()
    is_converted(await commands_of(store, agent.id))
    await store.close()


async def test_folders_of_earlier_versions_are_read_with_their_endings_and_switches(
    home: Home,
) -> None:
    agent = (await home.store.admit(post(new_agent(chat("a")), "one"))).agent_id
    await home.store.admit(post(agent, "two"))
    await home.close()
    state = home.state(agent)
    for held, (kind, body) in zip(state["inbox"], OLD.items(), strict=True):
        held["item"] |= {"kind": kind, "body": body}
    (home.folder(agent) / "state.json").write_text(json.dumps(state))
    home.lose_database()
    await home.open()
    assert home.report is not None
    assert home.report.problems == []
    is_converted(await commands_of(home.store, agent))
