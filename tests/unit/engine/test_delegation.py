"""`agents_message` through the real engine."""

import pytest

from retinue.agents.command import AgentPatch
from retinue.errors import ModelError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import (
    TEAM,
    Play,
    asks,
    definition,
    fate,
    notices,
    quiet,
    result,
    sessions,
    the_session,
)
from tests.unit.engine.support import Gate, last_said, until


async def test_the_result_has_every_field_of_a_completed_delegation(start: Start) -> None:
    done = Reply(thinking="hm", text="all done")
    tools = Reply(calls=[Call(name="agents_list")])

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "work":
            return tools
        if text == "go":
            return asks("todo")
        return done if '"agents"' in text else "thanks"

    kit = await start(script, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    assert (await kit.ask(caller, "go")).reply == "thanks"
    told = await result(kit, caller)
    session = await the_session(kit, "todo")
    took = told.pop("durationMs")
    (listing,) = told.pop("toolCalls")
    assert took >= 0 and listing["name"] == "agents_list" and listing["durationMs"] >= 0
    item = told.pop("responseId")
    assert told == {
        "mode": "sync",
        "status": "complete",
        "agentId": "todo",
        "sessionId": session.id,
        "sessionName": "todo",
        "created": True,
        "response": "all done",
        "truncated": False,
        "toolCallCount": 1,
        "thinkingText": "hm",
    }
    stored, _ = await kit.store.item(LOCAL_OWNER, item)
    assert (stored.agent_id, stored.fate) == (session.id, "answered")
    assert session.kind == "user"


async def test_an_asynchronous_delegation_is_started_and_its_outcome_comes_once(
    start: Start,
) -> None:
    gate = Gate()
    play = Play(go=asks("todo", mode="async"), work=Reply(text="all done", before=gate))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    told = await result(kit, caller)
    session = await the_session(kit, "todo")
    item = told.pop("responseId")
    assert told == {
        "mode": "async",
        "status": "started",
        "agentId": "todo",
        "sessionId": session.id,
        "sessionName": "todo",
        "created": True,
    }
    await kit.crash()
    gate.opened.set()
    await until(lambda: notices(kit, caller))
    await quiet(kit)
    (notice,) = await notices(kit, caller)
    assert item in notice and "all done" in notice and session.id in notice


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_failure_reaches_the_caller_once_with_its_reason(start: Start, mode: str) -> None:
    play = Play(go=asks("todo", mode=mode), work=ModelError("boom"))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    if mode == "async":
        await until(lambda: notices(kit, caller))
    await quiet(kit)
    if mode == "sync":
        told = await result(kit, caller)
        assert (told["status"], told["message"]) == ("failed", "boom")
        assert await notices(kit, caller) == []
    else:
        (notice,) = await notices(kit, caller)
        assert "failed: boom" in notice


async def test_an_empty_answer_is_an_outcome_too(start: Start) -> None:
    play = Play(go=asks("todo", mode="async"), work=Reply(text=""))
    once = {"retry_attempts": 1}
    kit = await start(play, definitions=TEAM, collaborates=True, limits=once)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    await until(lambda: notices(kit, caller))


async def test_a_busy_target_is_waited_for_in_its_queue(start: Start) -> None:
    gate = Gate()
    play = Play(go=asks("todo"), busy=Reply(text="at last", before=gate), work="mine")
    kit = await start(play, definitions=TEAM, collaborates=True)
    target, caller = await kit.agent("todo"), await kit.agent("general")
    await kit.post(target, "busy")
    await gate.reached.wait()
    receipt = await kit.post(caller, "go")

    async def is_waiting() -> bool:
        return await fate(kit, receipt) == ("waiting", "child")

    await until(is_waiting)
    gate.opened.set()
    await kit.outcome(receipt)
    told = await result(kit, caller)
    assert (told["sessionId"], told["created"]) == (target.id, False)
    assert told["response"] == "mine" or "work" in str(await kit.kinds(target))


async def test_a_timeout_returns_the_id_and_the_late_answer_comes_once(start: Start) -> None:
    gate = Gate()
    play = Play(go=asks("todo", timeout=1), work=Reply(text="late", before=gate))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    told = await result(kit, caller)
    session = await the_session(kit, "todo")
    assert told["status"] == "timeout"
    assert told["timeoutSeconds"] == 1
    assert told["sessionId"] == session.id and told["created"] is True
    assert "Nothing was cancelled" in told["message"]
    assert session.state.turn is not None
    gate.opened.set()
    await until(lambda: notices(kit, caller))
    await quiet(kit)
    (notice,) = await notices(kit, caller)
    assert told["responseId"] in notice and "late" in notice


@pytest.mark.parametrize("seconds", [0, 0.5, -3, "soon", float("inf")])
async def test_a_timeout_below_a_second_is_refused_by_name(start: Start, seconds: object) -> None:
    play = Play(go=asks("todo", timeout=seconds))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert "timeout" in (await result(kit, caller))["error"]
    assert await sessions(kit, "todo") == []


async def test_an_empty_content_is_refused(start: Start) -> None:
    kit = await start(Play(go=asks("todo", "  \n")), definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert "empty" in (await result(kit, caller))["error"]


async def test_unknown_hidden_and_denied_targets_get_the_same_words(start: Start) -> None:
    team = {
        "general.toml": definition("general", agentDenylist='["den*"]'),
        "hidden.toml": definition("hidden", uiVisible="false"),
        "denied.toml": definition("denied"),
    }
    names: list[str] = []

    def script(request: ModelRequest) -> Answer:
        return asks(names[0]) if last_said(request) == "go" else "ok"

    kit = await start(script, definitions=team, collaborates=True)
    heard: set[str] = set()
    for name in ("unknown", "hidden", "denied"):
        names[:] = [name]
        caller = await kit.agent("general")
        await kit.ask(caller, "go")
        heard.add((await result(kit, caller))["error"].replace(name, "X"))
    assert len(heard) == 1
    assert await sessions(kit, "hidden") == await sessions(kit, "denied") == []


async def test_the_list_shows_only_whom_one_may_reach(start: Start) -> None:
    team = {
        "general.toml": definition("general", agentAllowlist='["todo", "hidden"]'),
        "hidden.toml": definition("hidden", uiVisible="false"),
        "todo.toml": definition("todo"),
        "notes.toml": definition("notes"),
    }
    play = Play(go=Reply(calls=[Call(name="agents_list")]))
    kit = await start(play, definitions=team, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert await result(kit, caller) == {
        "agents": [{"agentId": "todo", "displayName": "The todo", "description": "Does todo."}]
    }


async def test_an_agent_cannot_ask_its_own_kind(start: Start) -> None:
    kit = await start(Play(go=asks("general")), definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert "general → general" in (await result(kit, caller))["error"]


async def test_a_circle_is_refused_by_its_chain(start: Start) -> None:
    play = Play(go=asks("todo", "back"), back=asks("general"))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    asked = await the_session(kit, "todo")
    assert "general → todo → general" in (await result(kit, asked))["error"]
    assert (await result(kit, caller))["status"] == "complete"


async def test_a_chain_longer_than_the_limit_is_refused_by_its_names(start: Start) -> None:
    play = Play(
        go=asks("todo", "one"), one=asks("journal", "two"), two=asks("notes", "three"),
        three=asks("lists"),
    )  # fmt: skip
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    last = await the_session(kit, "notes")
    error = (await result(kit, last))["error"]
    assert "general → todo → journal → notes → lists" in error and "at most 3" in error
    assert await sessions(kit, "lists") == []


async def test_a_circle_of_asynchronous_delegations_is_refused_too(start: Start) -> None:
    play = Play(go=asks("todo", "back", mode="async"), back=asks("general", mode="async"))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    await until(lambda: notices(kit, caller))
    asked = await the_session(kit, "todo")
    assert "general → todo → general" in (await result(kit, asked))["error"]


# -- sessions


async def test_the_latest_session_is_the_one_that_was_spoken_to_last(start: Start) -> None:
    kit = await start(Play(go=asks("todo")), definitions=TEAM, collaborates=True)
    older, newer = await kit.agent("todo"), await kit.agent("todo")
    await kit.ask(older, "hi")
    await kit.ask(newer, "hi")
    await kit.engine.update(LOCAL_OWNER, older.id, AgentPatch(name="Renamed", pinned=True))
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    told = await result(kit, caller)
    assert (told["sessionId"], told["created"]) == (newer.id, False)
    await kit.engine.terminate(LOCAL_OWNER, newer.id)
    other = await kit.agent("general")
    await kit.ask(other, "go")
    told = await result(kit, other)
    assert (told["sessionId"], told["sessionName"]) == (older.id, "Renamed")


async def test_create_always_makes_a_session_that_people_can_open(start: Start) -> None:
    kit = await start(Play(go=asks("todo", session="create")), definitions=TEAM, collaborates=True)
    old, caller = await kit.agent("todo"), await kit.agent("general")
    await kit.ask(caller, "go")
    told = await result(kit, caller)
    assert told["created"] is True and told["sessionId"] != old.id
    made = await kit.store.agent(LOCAL_OWNER, AgentId(told["sessionId"]))
    assert (await kit.ask(made, "and now me")).reply == "heard and now me"


async def test_sessions_that_are_not_there_are_told_alike(start: Start) -> None:
    wanted: list[str] = []

    def script(request: ModelRequest) -> Answer:
        return asks("todo", session=wanted[0]) if last_said(request) == "go" else "ok"

    kit = await start(script, definitions=TEAM, collaborates=True)
    ended, gone = await kit.agent("todo"), await kit.agent("todo")
    foreign = await kit.agent("todo", owner=OwnerId("somebody"))
    await kit.engine.terminate(LOCAL_OWNER, ended.id)
    await kit.engine.delete(LOCAL_OWNER, gone.id)
    another = await kit.agent("journal")
    heard: set[str] = set()
    for one in (ended.id, gone.id, foreign.id, another.id, AgentId("nonsense")):
        wanted[:] = [one]
        caller = await kit.agent("general")
        await kit.ask(caller, "go")
        heard.add((await result(kit, caller))["error"].replace(one, "X"))
    assert heard == {"the agent 'todo' has no session 'X'"}
    wanted[:] = ["latest"]
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert "no session yet" in (await result(kit, caller))["error"]
