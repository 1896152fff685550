"""Operations over HTTP: for the owner, or within the scope of an agent."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from retinue.cli import channel
from retinue.cli.client import Client
from retinue.plugins.operation_function import operation
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.port import OperationContext
from tests.acceptance.http.support import TOKEN, Door, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def operate(door: Door, operation: str, **body: Any) -> httpx2.Response:
    return await door.client.post(f"/api/plugins/shelf/operations/{operation}", json=body)


def error_of(answer: httpx2.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


async def test_plugins_are_listed_with_what_a_caller_must_know(door: Door) -> None:
    answer = (await door.client.get("/api/plugins")).json()
    listed = answer["plugins"]
    assert answer["problems"] == []
    [shelf] = [plugin for plugin in listed if plugin["id"] == "shelf"]
    assert (shelf["id"], shelf["title"], shelf["description"]) == ("shelf", "Shelf", "Books.")
    find = shelf["operations"][0]
    assert (find["id"], find["tool"], find["effect"]) == ("find", "shelf_find", "pure")
    assert find["capabilities"] == ["shelf.read"]
    assert find["parameters"]["required"] == ["title"]


async def test_the_owner_calls_an_operation_and_gets_its_json_or_text(door: Door) -> None:
    answer = await operate(door, "find", arguments={"title": "Emma", "most": 2})
    assert answer.status_code == 200
    assert answer.json() == {
        "result": {"title": "Emma", "most": 2, "owner": "local", "agent": None}
    }
    assert (await operate(door, "burn", arguments={"title": "Emma"})).json() == {
        "result": "Emma is ashes"
    }


async def test_what_is_wrong_has_its_code_and_status(door: Door) -> None:
    wrong = await operate(door, "find", arguments={"titel": "Emma"})
    assert error_of(wrong)[:2] == (400, "invalid_arguments")
    assert set(wrong.json()["error"]["details"]["fields"]) == {"title", "titel"}
    missing = await operate(door, "find", arguments={"title": "none"})
    assert error_of(missing) == (404, "not_found", "there is no such book")
    defect = await operate(door, "find", arguments={"title": "defect"})
    assert error_of(defect)[:2] == (500, "operation_failed")
    assert error_of(await operate(door, "sell"))[:2] == (404, "not_found")
    unknown = await door.client.post("/api/plugins/shelves/operations/find", json={})
    assert error_of(unknown)[:2] == (404, "not_found")


@operation
def leave() -> None:
    raise SystemExit(3)


@operation
async def give_up() -> None:
    raise asyncio.CancelledError


@operation
def wait_elsewhere() -> None:
    raise TimeoutError("the shop did not answer")


@operation(timeout_seconds=0.05)
async def stay() -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(60)
    return "late"


UNRULY = define_plugin(id="unruly", operations=[leave, give_up, wait_elsewhere, stay])


async def test_whatever_an_operation_does_the_caller_is_told_what(tmp_path: Path) -> None:
    async with opened(tmp_path, plugins=[UNRULY]) as door:
        for name, said in (
            ("leave", "unruly_leave failed with SystemExit: 3"),
            ("give-up", "unruly_give_up cancelled itself and returned no result."),
            ("wait-elsewhere", "failed with TimeoutError: the shop did not answer"),
            ("stay", "It did not stop and may still be running."),
        ):
            answer = await door.client.post(f"/api/plugins/unruly/operations/{name}", json={})
            assert error_of(answer)[:2] == (500, "operation_failed")
            assert said in error_of(answer)[2]


@operation
async def take_time() -> str:
    await asyncio.sleep(1)
    return "done"


async def test_a_command_waits_for_as_long_as_the_operation_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = define_plugin(id="slow", operations=[take_time])
    async with opened(tmp_path, plugins=[slow]) as door:
        monkeypatch.setattr(channel, "_TIMEOUT_SECONDS", 0.3)
        client = Client(channel.Channel.to_server(door.url, TOKEN))
        assert await client.operate("slow", "take-time", {}) == "done"
        await client.close()


async def test_arguments_that_are_nested_too_deeply_are_refused(door: Door) -> None:
    for depth in (600, 900):
        title: Any = "x"
        for _ in range(depth):
            title = [title]
        answer = await operate(door, "find", arguments={"title": title})
        assert answer.status_code == 400
        assert "nested too deeply" in answer.text


async def test_one_key_is_one_key_of_the_operation_and_of_nobody_else(door: Door) -> None:
    first, again, other = [
        (await operate(door, "put", arguments={"title": "Emma"}, key=key)).json()["result"]
        for key in ("one", "one", "two")
    ]
    assert first == again != other
    agent = await door.new_agent(definition="librarian")
    of_agent = await operate(door, "put", arguments={"title": "Emma"}, key="one", agentId=agent)
    assert of_agent.json()["result"] != first
    without = [(await operate(door, "put", arguments={"title": "Emma"})).text for _ in range(2)]
    assert without[0] != without[1]


async def test_an_operation_that_cannot_promise_it_takes_no_key(door: Door) -> None:
    refused = await operate(door, "burn", arguments={"title": "Emma"}, key="one")
    assert error_of(refused)[0] == 400
    assert "takes no key" in error_of(refused)[2]


@operation(variables=[{"name": "SHOP_KEY", "required": True}])
def order(ctx: OperationContext) -> dict[str, object]:
    key = ctx.env("SHOP_KEY")
    if ctx.env("SHOP_IS_CLOSED", ""):
        raise ValueError(f"closed for {key}")
    return {"key": key, "length": len(key), "other": "a-harmless-value"}


async def test_an_operation_reads_the_variables_of_its_caller_and_shows_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "agents").mkdir()
    fields = 'description = "Buys."\ntoolAllowlist = ["shop_*"]\nmodel = "scripted"\n'
    (tmp_path / "agents" / "buyer.toml").write_text(fields)
    shop = define_plugin(id="shop", operations=[order])
    url = "/api/plugins/shop/operations/order"
    async with opened(tmp_path, plugins=[shop]) as door:
        client, agent = door.client, await door.new_agent(definition="buyer")
        for caller in ({}, {"agentId": agent}):
            missing = await client.post(url, json=caller)
            assert error_of(missing)[:2] == (400, "invalid")
            assert "needs a value for SHOP_KEY" in error_of(missing)[2]
        values = {"SHOP_KEY": "of-the-owner", "OTHER": "a-harmless-value"}
        for name, value in values.items():
            await client.put(f"/api/variables/{name}", json={"value": value})
        own = f"/api/agents/{agent}/variables"
        await client.put(f"{own}/SHOP_KEY", json={"value": "of-the-agent-itself"})

        by_owner = (await client.post(url, json={})).json()["result"]
        assert by_owner == {"key": "[secret SHOP_KEY]", "length": 12, "other": "a-harmless-value"}
        by_agent = (await client.post(url, json={"agentId": agent})).json()["result"]
        assert by_agent == {"key": "[secret SHOP_KEY]", "length": 19, "other": "[secret OTHER]"}
        door.script.released.set()
        await door.talk(agent, "use shop_order")
        [result] = [one for one in (await door.history(agent))["records"] if one["kind"] == "tool"]
        assert result["text"] == (
            '{"key":"[secret SHOP_KEY]","length":19,"other":"[secret OTHER]"}'
        )
        await client.put("/api/variables/SHOP_IS_CLOSED", json={"value": "yes"})
        failed = await client.post(url, json={})
        assert error_of(failed)[2].endswith("ValueError: closed for [secret SHOP_KEY]")
    assert "of-the-owner" not in caplog.text


async def test_for_an_agent_exactly_its_scope_decides(door: Door) -> None:
    librarian = await door.new_agent(definition="librarian")
    found = await operate(door, "find", arguments={"title": "Emma"}, agentId=librarian)
    assert found.json()["result"]["agent"] == librarian
    helper = await door.new_agent()
    for agent, name in ((librarian, "burn"), (helper, "find")):
        refused = await operate(door, name, arguments={"title": "Emma"}, agentId=agent)
        text = f"The tool 'shelf_{name}' is not allowed for this agent."
        assert error_of(refused) == (403, "refused", text)
        offered = (await door.client.get("/api/tools", params={"agent": agent})).json()["tools"]
        assert f"shelf_{name}" not in [tool["name"] for tool in offered]


@operation(id="read", capabilities=["bombs.drop"])
def drop() -> str:
    return "boom"


async def test_another_tool_of_its_name_lends_an_operation_no_rights(tmp_path: Path) -> None:
    shadow = define_plugin(id="files", operations=[drop])
    lists = 'toolAllowlist = ["files_*"]\ncapabilityDenylist = ["bombs.*"]\n'
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "reader.toml").write_text(f'description = "Reads."\n{lists}')
    async with opened(tmp_path, plugins=[shadow]) as door:
        agent = await door.new_agent(definition="reader")
        url = "/api/plugins/files/operations/read"
        assert (await door.client.post(url, json={})).json() == {"result": "boom"}
        refused = await door.client.post(url, json={"agentId": agent})
        assert error_of(refused)[:2] == (403, "refused")


async def test_a_refusal_is_in_the_audit_log_as_that_of_a_tool_call(door: Door) -> None:
    librarian = await door.new_agent(definition="librarian")
    door.script.released.set()
    await operate(door, "burn", arguments={"title": "Emma"}, agentId=librarian)
    await door.talk(librarian, "use shelf_burn")
    with closing(sqlite3.connect(door.project / ".retinue" / "retinue.db")) as database:
        lines = database.execute(
            "SELECT action, detail ->> 'tool', detail ->> 'rule' FROM audit WHERE agent = ?",
            [librarian],
        ).fetchall()
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert lines[0][:2] == ("tool_refused", "shelf_burn")


async def test_what_its_owner_is_asked_about_is_not_done_by_this_way(door: Door) -> None:
    librarian = await door.new_agent(definition="librarian")
    refused = await operate(door, "lend", arguments={"title": "Emma"}, agentId=librarian)
    assert error_of(refused)[:2] == (403, "refused")
    assert "asked before each call" in error_of(refused)[2]


async def test_an_operation_for_agents_needs_one(door: Door) -> None:
    assert error_of(await operate(door, "who"))[0] == 400
    librarian = await door.new_agent(definition="librarian")
    assert (await operate(door, "who", agentId=librarian)).json() == {"result": librarian}


async def test_an_agent_that_ended_can_do_nothing(door: Door) -> None:
    librarian = await door.new_agent(definition="librarian")
    await door.client.post(f"/api/agents/{librarian}/terminate", json={})
    gone = await operate(door, "find", arguments={"title": "Emma"}, agentId=librarian)
    assert error_of(gone)[:2] == (410, "terminated")
