"""Delegations side by side, and what becomes of them when somebody ends early."""

import pytest

from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import (
    TEAM,
    Play,
    ask,
    asks,
    notices,
    quiet,
    result,
    results,
    the_session,
)
from tests.unit.engine.support import Gate, last_said, until


async def test_delegations_of_one_response_are_all_under_way_at_once(start: Start) -> None:
    gate = Gate()

    async def all_three() -> None:
        gate.count += 1
        if gate.count == 3:
            gate.opened.set()
        await gate.opened.wait()

    both = [ask("todo", session="create"), ask("todo", session="create"), ask("journal")]
    play = Play(go=Reply(calls=both), work=Reply(text="done", before=all_three))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    assert [told["status"] for told in await results(kit, caller)] == ["complete"] * 3


async def test_outcomes_are_told_apart_where_call_ids_are_used_again(start: Start) -> None:
    first, second = Gate(), Gate()
    call = {"name": "agents_message", "id": "call_0"}
    slow = Call(arguments={"agentId": "todo", "content": "slow", "mode": "async"}, **call)
    fast = Call(arguments={"agentId": "journal", "content": "fast"}, **call)

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return Reply(calls=[slow])
        if '"started"' in text:
            return Reply(calls=[fast])
        if text == "slow":
            return Reply(text="slow done", before=first)
        return Reply(text="fast done", before=second) if text == "fast" else f"heard {text}"

    kit = await start(script, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    receipt = await kit.post(caller, "go")
    await second.reached.wait()
    first.opened.set()
    asked = await the_session(kit, "todo")

    async def is_done() -> bool:
        return (await kit.fresh(asked)).state.turn is None

    await until(is_done)
    second.opened.set()
    await kit.outcome(receipt)
    _, told = await results(kit, caller)
    assert told["response"] == "fast done"


@pytest.mark.parametrize("how", ["stop", "reset", "terminate", "delete"])
async def test_ending_the_caller_ends_whom_it_waits_for_and_nobody_else(
    start: Start, how: str
) -> None:
    deep, apart = Gate(), Gate()
    play = Play(
        go=Reply(calls=[ask("todo", "pass on"), ask("notes", "alone", mode="async")]),
        alone=Reply(text="went on", before=apart),
        deep=Reply(text="never", before=deep),
    )
    play.replies["pass on"] = asks("journal", "deep")
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.post(caller, "go")
    await deep.reached.wait()
    await apart.reached.wait()
    command = {"stop": kit.engine.interrupt, "reset": kit.engine.reset}.get(how)
    command = command or {"terminate": kit.engine.terminate, "delete": kit.engine.delete}[how]
    await command(LOCAL_OWNER, caller.id)
    middle, last = await the_session(kit, "todo"), await the_session(kit, "journal")

    async def both_withdrawn() -> bool:
        ends = [(await kit.kinds(agent))[-1] for agent in (middle, last)]
        return ends == ["note withdrawn"] * 2

    await until(both_withdrawn)
    apart.opened.set()
    await quiet(kit)
    assert (await kit.kinds(await the_session(kit, "notes")))[-1] == "assistant went on"
    if how in ("stop", "reset"):
        (notice,) = await notices(kit, caller)
        assert "went on" in notice
    elif how == "terminate":
        assert await notices(kit, caller) == []


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("how", ["stop", "reset", "terminate", "delete"])
@pytest.mark.parametrize("is_queued", [False, True])
async def test_ending_the_target_gives_the_caller_one_outcome(
    start: Start, how: str, mode: str, is_queued: bool
) -> None:
    gate = Gate()
    play = Play(
        go=asks("todo", mode=mode),
        work=Reply(text="never", before=gate),
        busy=Reply(text="never", before=gate),
    )
    kit = await start(play, definitions=TEAM, collaborates=True)
    target, caller = await kit.agent("todo"), await kit.agent("general")
    if is_queued:
        await kit.post(target, "busy")
        await gate.reached.wait()
    receipt = await kit.post(caller, "go")
    await gate.reached.wait()

    async def is_asked() -> bool:
        return len(await kit.store.open_items(LOCAL_OWNER, target.id)) == 1 + is_queued

    await until(is_asked)
    if how == "stop" and is_queued:
        gate.opened.set()  # a stop keeps the queue
    command = {"stop": kit.engine.interrupt, "reset": kit.engine.reset}.get(how)
    command = command or {"terminate": kit.engine.terminate, "delete": kit.engine.delete}[how]
    await command(LOCAL_OWNER, target.id)
    await kit.outcome(receipt)
    if mode == "async":
        await until(lambda: notices(kit, caller))
    await quiet(kit)
    told = await result(kit, caller)
    heard = await notices(kit, caller)
    if mode == "async":
        assert len(heard) == 1
    else:
        assert heard == []
    is_kept = how == "stop" and is_queued
    assert is_kept or "cancelled" in (heard[0] if mode == "async" else told["status"])


async def test_an_ended_caller_is_not_woken_by_an_outcome(start: Start) -> None:
    gate = Gate()
    play = Play(go=asks("todo", mode="async"), work=Reply(text="done", before=gate))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    await kit.ask(caller, "go")
    await gate.reached.wait()
    await kit.engine.terminate(LOCAL_OWNER, caller.id)
    gate.opened.set()
    await quiet(kit)
    assert await notices(kit, caller) == []
    assert (await kit.kinds(caller))[-1] == "note terminated"
