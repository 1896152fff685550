"""Messages through HTTP: admitted once, answered once, refused with a reason."""

import asyncio

import pytest

from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_posted_message_is_queued_and_then_answered(door: Door) -> None:
    agent = await door.new_agent()
    receipt = await door.say(agent, "good morning")
    assert receipt["agentId"] == agent
    assert receipt["fate"] == "queued"
    assert receipt["position"] == 0
    outcome = await door.outcome(agent, receipt["id"])
    assert outcome["fate"] == "answered"
    assert outcome["reply"] == "You said: good morning"
    assert outcome["text"] == "good morning"
    assert outcome["position"] == 0
    assert outcome["endedAt"]


async def test_a_message_can_be_read_without_naming_its_agent(door: Door) -> None:
    agent = await door.new_agent()
    receipt = await door.say(agent, "hello")
    answer = await door.client.get(f"/api/messages/{receipt['id']}", params={"wait": 30})
    assert answer.json()["reply"] == "You said: hello"


async def test_the_same_key_gives_the_first_message_again(door: Door) -> None:
    agent = await door.new_agent()
    first = await door.say(agent, "once", key="k1")
    await door.outcome(agent, first["id"])
    second = await door.say(agent, "once", key="k1")
    assert second["id"] == first["id"]
    assert second["repeated"] is True
    assert second["fate"] == "answered"


async def test_the_same_key_with_another_content_is_a_conflict(door: Door) -> None:
    agent = await door.new_agent()
    await door.say(agent, "once", key="k2")
    answer = await door.client.post(
        f"/api/agents/{agent}/messages", json={"content": "twice", "key": "k2"}
    )
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "conflict"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n\t "}, "content"),
        ({"content": "\x00"}, "content"),
        ({"content": 7}, "content"),
        ({"content": None}, "content"),
        ({}, "content"),
        ({"content": "x", "key": ""}, "key"),
        ({"content": "x", "key": "k" * 257}, "key"),
        ({"content": "x", "silent": "yes"}, "silent"),
        ({"content": "x", "attachments": "/a"}, "attachments"),
        ({"content": "x", "attachments": ["/nothing.txt"]}, "attachments[0]"),
        ({"content": "x", "attachments": ["/../../etc/passwd"]}, "attachments[0]"),
        ({"content": "x", "contents": "y"}, "contents"),
    ],
)
async def test_a_message_that_is_not_understood_is_refused_by_field(
    door: Door, body: dict[str, object], field: str
) -> None:
    agent = await door.new_agent()
    answer = await door.client.post(f"/api/agents/{agent}/messages", json=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    assert error["details"]["field"] == field
    assert field in error["message"]
    assert (await door.client.get(f"/api/agents/{agent}/messages")).json() == {"items": []}


async def test_an_unknown_field_is_refused_with_the_nearest_known_one(door: Door) -> None:
    agent = await door.new_agent()
    answer = await door.client.post(
        f"/api/agents/{agent}/messages", json={"content": "x", "atachments": []}
    )
    assert answer.json()["error"]["message"] == (
        "unknown field 'atachments'; did you mean 'attachments'?"
    )


async def test_an_over_long_message_is_too_large(door: Door) -> None:
    agent = await door.new_agent()
    path = f"/api/agents/{agent}/messages"
    assert (await door.client.post(path, json={"content": "x" * 20_000})).status_code == 202
    answer = await door.client.post(path, json={"content": "x" * 20_001})
    assert answer.status_code == 413
    assert "20000" in answer.json()["error"]["message"]


async def test_text_that_no_encoder_takes_is_cleaned(door: Door) -> None:
    agent = await door.new_agent()
    answer = await door.client.post(
        f"/api/agents/{agent}/messages",
        content=b'{"content": "a\\ud800b\\u0000c"}',
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 202
    outcome = await door.outcome(agent, answer.json()["id"])
    assert outcome["text"] == "a\ufffdbc"
    assert outcome["reply"] == "You said: a\ufffdbc"


async def test_a_message_waits_behind_the_one_that_runs_and_shows_its_place(door: Door) -> None:
    agent = await door.new_agent()
    door.script.released.clear()
    door.script.holding.clear()
    running = await door.say(agent, "hold")
    await door.script.holding.wait()
    await door.say(agent, "second")
    third = await door.say(agent, "third")
    assert third["position"] == 2
    listed = (await door.client.get(f"/api/agents/{agent}/messages")).json()["items"]
    assert [(m["text"], m["fate"], m["position"]) for m in listed] == [
        ("hold", "running", 0),
        ("second", "queued", 1),
        ("third", "queued", 2),
    ]
    waited = await door.outcome(agent, running["id"], wait=0.1)
    assert waited["fate"] == "running"
    assert (await door.outcome(agent, third["id"], wait=0))["position"] == 2
    door.script.released.set()
    assert (await door.outcome(agent, third["id"]))["fate"] == "answered"


async def test_a_stopped_turn_ends_the_message_and_says_so(door: Door) -> None:
    agent = await door.new_agent()
    door.script.released.clear()
    door.script.holding.clear()
    running = await door.say(agent, "hold")
    await door.script.holding.wait()
    answer = await door.client.post(f"/api/agents/{agent}/stop")
    assert answer.json() == {"applied": True}
    assert (await door.outcome(agent, running["id"]))["fate"] == "cancelled"
    assert (await door.client.post(f"/api/agents/{agent}/stop")).json() == {"applied": False}
    door.script.released.set()


async def test_a_failed_message_says_what_happened(door: Door) -> None:
    agent = await door.new_agent()
    outcome = await door.talk(agent, "fail")
    assert outcome["fate"] == "failed"
    assert "the provider says no" in outcome["reply"]


async def test_a_silent_message_wakes_nothing(door: Door) -> None:
    agent = await door.new_agent()
    note = await door.say(agent, "by the way", silent=True)
    assert (await door.outcome(agent, note["id"], wait=0.2))["fate"] in ("queued", "answered")
    outcome = await door.talk(agent, "and now?")
    assert outcome["fate"] == "answered"


async def test_an_uploaded_file_can_be_attached(door: Door) -> None:
    agent = await door.new_agent()
    await door.client.put(f"/api/agents/{agent}/files/attachments/a.txt", content=b"inside")
    receipt = await door.say(agent, "", attachments=["/attachments/a.txt"])
    outcome = await door.outcome(agent, receipt["id"])
    assert outcome["fate"] == "answered"
    assert [file["path"] for file in outcome["files"]] == ["/attachments/a.txt"]


async def test_a_message_is_found_only_under_its_own_agent(door: Door) -> None:
    mine, other = await door.new_agent(), await door.new_agent()
    receipt = await door.say(mine, "hello")
    answer = await door.client.get(f"/api/agents/{other}/messages/{receipt['id']}")
    assert answer.status_code == 404


@pytest.mark.parametrize("message", ["m0", "x", "m" + "0" * 26, "%2e%2e%2f", "m" * 5000])
async def test_an_id_that_is_no_messages_is_not_found(door: Door, message: str) -> None:
    agent = await door.new_agent()
    answer = await door.client.get(f"/api/agents/{agent}/messages/{message}")
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["code"] in ("not_found", "invalid")


@pytest.mark.parametrize("wait", ["-1", "nan", "inf", "1e999", "soon", "3601", ""])
async def test_a_senseless_wait_is_refused(door: Door, wait: str) -> None:
    agent = await door.new_agent()
    receipt = await door.say(agent, "hello")
    answer = await door.client.get(
        f"/api/agents/{agent}/messages/{receipt['id']}", params={"wait": wait}
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "wait"


async def test_messages_of_many_agents_are_answered_at_the_same_time(door: Door) -> None:
    agents = await asyncio.gather(*(door.new_agent() for _ in range(10)))
    outcomes = await asyncio.gather(*(door.talk(agent, f"from {agent}") for agent in agents))
    assert [o["reply"] for o in outcomes] == [f"You said: from {agent}" for agent in agents]


async def test_an_attachment_that_is_not_there_is_told_also_of_an_agent_without_files(
    door: Door,
) -> None:
    agent = await door.new_agent()
    answer = await door.client.post(
        f"/api/agents/{agent}/messages", json={"content": "x", "attachments": ["/nope.png"]}
    )
    assert answer.status_code == 400
    assert "the agent has no file '/nope.png'" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (r'{"content": "hi", "key": "k\ud800"}', "key"),
        (r'{"content": "hi", "key": "k\u0000"}', "key"),
    ],
)
async def test_a_key_that_would_have_to_be_changed_is_refused(
    door: Door, body: str, field: str
) -> None:
    answer = await door.client.post(
        f"/api/agents/{await door.new_agent()}/messages",
        content=body,
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["details"] == {"field": field}


async def test_an_attribute_s_name_that_would_have_to_be_changed_is_refused(door: Door) -> None:
    answer = await door.client.post(
        "/api/agents",
        content=r'{"definition": "helper", "attributes": {"a\ud800": 1}}',
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["details"] == {"field": "attributes.a\ufffd"}


async def test_a_message_that_waits_is_taken_back_and_one_that_runs_is_not(door: Door) -> None:
    agent = await door.new_agent()
    door.script.released.clear()
    door.script.holding.clear()
    running = await door.say(agent, "hold")
    await door.script.holding.wait()
    waiting = await door.say(agent, "never mind")
    path = f"/api/agents/{agent}/messages"
    assert (await door.client.delete(f"{path}/{waiting['id']}")).json() == {"applied": True}
    assert (await door.client.delete(f"{path}/{running['id']}")).json() == {"applied": False}
    door.script.released.set()
    assert (await door.outcome(agent, waiting["id"]))["fate"] == "cancelled"
    assert (await door.outcome(agent, running["id"]))["fate"] == "answered"
    records = (await door.client.get(f"/api/agents/{agent}/history")).json()["records"]
    assert "never mind" not in str(records)
    gone = await door.client.delete(
        f"/api/agents/{await door.new_agent()}/messages/{running['id']}"
    )
    assert gone.status_code == 404
