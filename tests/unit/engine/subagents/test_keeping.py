"""Subagents that stay after their result, and what their parent knows of them."""

import re

import pytest
from msgspec import structs

from retinue.ids import LOCAL_OWNER
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import (
    BOSS,
    PAIR,
    TASK_SCHEMA,
    Play,
    Side,
    begin,
    call,
    children,
    notices,
    on_go,
    only_child,
    registry,
    registry_until,
    says,
    tool_result,
)
from tests.unit.engine.support import Gate, last_said, said, until

KEPT = "{name: pair, resumable: {maxInstances: 2}}"
KEPT_ASIDE = "{name: pair, blocking: false, resumable: {maxInstances: 2}}"
EXPLICIT = "{name: pair, blocking: false, resumable: {parentCommunication: explicit}}"
CREATE = call("subagent_create", agent="pair", name="Tree artist", message="draw a tree")


def asks_again(create: Answer = CREATE) -> Side:
    """The boss creates on go, and on again writes to the one that it is told of."""

    def boss(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return "noted"
        texts = [text for text in said(request) if not text.startswith("<system_message")]
        if texts[-1] == "go":
            return create
        if texts[-1] == "again":
            found = re.search(r"- (\w{24}): pair", said(request)[-1])
            assert found, said(request)
            return call("subagent_message", referenceId=found[1], message="another one")
        return "noted"

    return boss


def reviewer_of(*summaries: str) -> Side:
    rest = iter(summaries)
    return lambda _: call("approve", summary=next(rest))


async def test_a_blocking_child_that_is_kept_gives_a_result_and_a_reference_each_time(
    start: Start,
) -> None:
    play = Play(asks_again(), reviewer=reviewer_of("first", "second"))
    kit = await begin(start, entry=KEPT, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    child = await only_child(kit, boss)
    reference = f"Reference of this subagent: {child.id}"
    assert (await tool_result(kit, boss)).text == f"first\n\n{reference}"
    assert await registry(kit, boss) == [("idle", "")]
    assert (await kit.fresh(child)).lifecycle == "active"
    await kit.ask(boss, "again")
    assert (await tool_result(kit, boss)).text == f"second\n\n{reference}"
    assert await notices(kit, boss) == []
    users = [kind for kind in await kit.kinds(child) if kind.startswith("user")]
    assert users == ["user draw a tree", "user another one"]
    assert "draw a tree" in str(play.last("worker").messages)  # the history is intact


async def test_a_child_that_works_beside_the_parent_reports_each_run_once(start: Start) -> None:
    kit = await begin(
        start, entry=KEPT_ASIDE, play=Play(asks_again(), reviewer=reviewer_of("first", "second"))
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    await kit.ask(boss, "again")
    await quiet(kit)
    await kit.restart()
    child = await only_child(kit, boss)
    said_by = f"Subagent (reference: {child.id}) has returned the following result:\n\n"
    assert [n.text for n in await notices(kit, boss)] == [f"{said_by}first", f"{said_by}second"]
    assert await registry(kit, boss) == [("idle", "")]


async def test_explicit_communication_queues_nothing_and_still_settles_the_registry(
    start: Start,
) -> None:
    kit = await begin(start, entry=EXPLICIT, play=Play(asks_again()))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    await registry_until(kit, boss, ("idle", ""))
    assert await notices(kit, boss) == []


async def test_an_explicit_child_that_fails_is_marked_so_and_says_nothing(start: Start) -> None:
    play = Play(asks_again(), worker=lambda _: call("give_up", reason="no paper"))
    kit = await begin(start, entry=EXPLICIT, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    await registry_until(kit, boss, ("failed", ""))
    assert await notices(kit, boss) == []


async def test_a_child_tells_its_parent_when_it_wants_to(start: Start) -> None:
    def reviewer(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return call("approve", summary="done")
        return call("notify_parent", content="half of it is there")

    play = Play(asks_again(), reviewer=reviewer)
    kit = await begin(start, entry=EXPLICIT, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    child = await only_child(kit, boss)
    (notice,) = await notices(kit, boss)
    assert notice.text == f"Subagent (reference: {child.id}) says:\n\nhalf of it is there"
    assert play.spoke.count("boss") == 3  # it heard of it in a turn of its own


@pytest.mark.parametrize("tool", ["report", "set_status"])
async def test_a_status_is_in_the_registry_and_wakes_nobody(start: Start, tool: str) -> None:
    gate = Gate()

    def reviewer(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return Reply(calls=[Call(name="approve", arguments={"summary": "ok"})], before=gate)
        return call(tool, status="terminated")

    play = Play(asks_again(), reviewer=reviewer)
    kit = await begin(start, entry=KEPT_ASIDE, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await gate.reached.wait()
    spoke = play.spoke.count("boss")
    await registry_until(kit, boss, ("running", "terminated"))
    (entry,) = (await kit.fresh(boss)).state.children
    assert (entry.status, entry.is_addressable) == ("terminated", True)
    assert play.spoke.count("boss") == spoke
    assert await notices(kit, boss) == []
    gate.opened.set()
    await quiet(kit)
    assert await registry(kit, boss) == [("idle", "terminated")]


async def test_the_model_is_told_of_its_children_after_the_history_in_a_stable_order(
    start: Start,
) -> None:
    play = Play(asks_again())
    kit = await begin(start, entry=KEPT_ASIDE, play=play)
    boss = await kit.agent("boss")
    for _ in range(2):
        await kit.ask(boss, "go")
        await quiet(kit)
    await kit.ask(boss, "hello")
    first, second = [e.reference for e in (await kit.fresh(boss)).state.children]
    told = last_said(play.last("boss"))
    assert told.startswith('<system_message origin="system">Your subagents')
    assert told.index(first) < told.index(second)
    assert '"Tree artist", idle' in told
    assert "Your subagents" not in str(await kit.kinds(boss))


async def test_the_cap_is_told_with_what_to_do_instead(start: Start) -> None:
    kit = await begin(start, entry=KEPT_ASIDE, play=Play(asks_again()))
    boss = await kit.agent("boss")
    for _ in range(3):
        await kit.ask(boss, "go")
        await quiet(kit)
    result = await tool_result(kit, boss)
    assert (result.status, len(await children(kit, boss))) == ("refused", 2)
    for child in await children(kit, boss):
        assert child.id in result.text
    assert "maxInstances 2" in result.text
    assert "subagent_message" in result.text
    (one, _) = await children(kit, boss)
    await kit.engine.terminate(LOCAL_OWNER, one.id)
    await quiet(kit)
    await kit.ask(boss, "go")
    assert len(await children(kit, boss)) == 3


async def test_a_terminated_child_is_marked_and_takes_no_more_messages(start: Start) -> None:
    reference: list[str] = []

    def boss_side(request: ModelRequest) -> Answer:
        told = [text for text in said(request) if not text.startswith("<system_message")][-1]
        if told == "again":
            return call("subagent_message", referenceId=reference[0], message="more")
        return CREATE if told == "go" else "noted"

    kit = await begin(start, entry=KEPT, play=Play(boss_side))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    child = await only_child(kit, boss)
    reference.append(child.id)
    await kit.engine.terminate(LOCAL_OWNER, child.id)
    await registry_until(kit, boss, ("terminated", ""))
    await kit.ask(boss, "again")
    assert "is not active" in (await tool_result(kit, boss)).text
    assert await notices(kit, boss) == []


async def test_a_message_to_a_running_child_joins_its_run(start: Start) -> None:
    gate = Gate()
    first = iter([Reply(text="here", before=gate)])

    def worker(_: ModelRequest) -> Answer:
        return next(first, "and here")

    play = Play(asks_again(), worker=worker)
    kit = await begin(start, entry=KEPT_ASIDE, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await gate.reached.wait()
    await kit.ask(boss, "again")
    child = await only_child(kit, boss)

    async def is_queued() -> bool:
        return bool((await kit.fresh(child)).queued)

    await until(is_queued)
    gate.opened.set()
    await quiet(kit)
    assert len(await notices(kit, boss)) == 1
    assert "another one" in str(await kit.kinds(child))


async def test_the_side_that_receives_messages_acts_first_and_sees_them_as_a_users(
    start: Start,
) -> None:
    entry = "{name: pair, resumable: {receives_messages: side_b}}"
    play = Play(asks_again())
    kit = await begin(start, entry=entry, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert play.spoke == ["boss", "reviewer", "boss"]
    assert last_said(play.last("reviewer")) == "draw a tree"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": " ", "message": "draw"}, "name: it is empty"),
        ({"message": "draw"}, "'name': missing"),
        ({"name": "x", "message": ""}, "message"),
        ({"agent": "boss", "name": "x", "message": "draw"}, "agent"),
    ],
)
async def test_a_creation_that_lacks_something_says_what(
    start: Start, arguments: dict[str, str], complaint: str
) -> None:
    create = call("subagent_create", **{"agent": "pair", **arguments})
    kit = await begin(start, entry=KEPT, play=Play(asks_again(create)))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert result.status == "error"
    assert complaint in result.text
    assert await children(kit, boss) == []


async def test_arguments_are_checked_and_kept_for_the_childs_life(start: Start) -> None:
    def boss_side(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, ToolMessage) and "subagent_arguments_required" in last.text:
            return call("subagent_create", **given, arguments={"task": "a tree"})
        return "noted" if isinstance(last, ToolMessage) else call("subagent_create", **wrong)

    given = {"agent": "pair", "name": "x", "message": "draw"}
    wrong = {**given, "arguments": {"job": "x"}}
    other = "{name: other, resumable: true}"
    kit = await begin(
        start,
        entry=f"{KEPT}, {other}",
        play=Play(boss_side),
        schema=TASK_SCHEMA,
        definitions={"other.toml": PAIR.replace('"pair"', '"other"')},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    child = await only_child(kit, boss)
    assert child.state.arguments == {"task": "a tree"}


async def test_a_denied_target_cannot_be_created(start: Start) -> None:
    play = Play(on_go(CREATE))
    denied = BOSS.replace("[sideA]", 'toolDenylist = ["pair"]\n[sideA]')
    kit = await begin(start, entry=KEPT, play=play, definitions={"boss.toml": denied})
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert "subagent_create" not in {spec.name for spec in play.last("boss").tools}
    assert await children(kit, boss) == []


async def test_children_that_are_kept_count_against_the_limit(start: Start) -> None:
    kit = await begin(
        start,
        entry="{name: pair, resumable: true}",
        play=Play(asks_again()),
        limits={"live_children": 1},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await kit.ask(boss, "go")
    assert "limits.liveChildren" in (await tool_result(kit, boss)).text


async def test_after_a_stop_what_was_queued_opens_the_next_run(start: Start) -> None:
    gate = Gate()
    first = iter([Reply(text="never", before=gate)])
    play = Play(asks_again(), worker=lambda _: next(first, "here"))
    kit = await begin(start, entry=KEPT_ASIDE, play=play)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await gate.reached.wait()
    await kit.ask(boss, "again")
    child = await only_child(kit, boss)
    await kit.engine.interrupt(LOCAL_OWNER, child.id)
    await quiet(kit)
    stopped, done = [notice.text for notice in await notices(kit, boss)]
    assert stopped.endswith("It ended without a result: stopped.")
    assert done.endswith("has returned the following result:\n\na good tree")
    assert await registry(kit, boss) == [("idle", "")]


async def test_after_a_handoff_the_children_can_still_be_written_to(start: Start) -> None:
    chief = BOSS.replace('"boss"', '"chief"').replace("[sideA]", "exposeAsTool = true\n[sideA]")
    wrote: list[str] = []

    def creates_or_hands_over(request: ModelRequest) -> Answer:
        if "over" in said(request):
            return call("chief")
        return "noted" if "worker" in play.spoke else CREATE

    play = Play(creates_or_hands_over)

    def script(request: ModelRequest) -> Answer:
        if "You are the chief." not in request.system:
            return play(request)
        offered = {spec.name for spec in request.tools}
        assert offered == {"subagent_message"}
        if wrote:
            return "taken over"
        wrote.append(request.closing)
        child = re.findall(r"- (\w+): pair", wrote[0])[0]
        return call("subagent_message", referenceId=child, message="another one")

    kit = await begin(
        start,
        script,
        "{name: pair, resumable: true}, chief",
        definitions={"chief.toml": chief},
        prompts={"chief.md": "---\ntools: []\n---\nYou are the chief."},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert (await kit.ask(boss, "over")).reply == "taken over"
    assert (await tool_result(kit, boss)).text.startswith("a good tree")
    assert play.spoke.count("worker") == 2


async def test_a_child_is_the_affair_of_the_side_that_began_it(start: Start) -> None:
    """The other side neither reads its results nor can write to it."""
    duo = PAIR.replace('"pair"', '"duo"').replace('"worker"', '"planner"')
    duo = duo.replace('"reviewer"', '"judge"').replace("give_up", "draw")
    asked: list[tuple[str, ModelRequest]] = []
    play = Play(says("noted"))

    def script(request: ModelRequest) -> Answer:
        who = next((w for w in ("planner", "judge") if f"You are the {w}." in request.system), "")
        if not who:
            return play(request)
        asked.append((who, structs.replace(request, messages=list(request.messages))))
        said = [name for name, _ in asked]
        if who == "judge":
            return call("approve", summary="fine") if said.count("judge") > 1 else "go on"
        if said.count("planner") == 1:
            return CREATE
        return "planned"

    kit = await begin(
        start,
        script,
        "duo",
        definitions={"duo.toml": duo},
        prompts={
            "planner.md": "---\ntools: [draw, {name: pair, blocking: false, resumable: true}]\n"
            "---\nYou are the planner.",
            "judge.md": "---\ntools: [approve, report]\n---\nYou are the judge.",
        },
    )
    agent = await kit.agent("duo")
    await kit.ask(agent, "plan")
    await registry_until(kit, agent, ("idle", ""))
    for who, request in asked:
        texts = f"{request.messages} {request.closing}"
        if who == "judge":
            assert "Your subagents" not in texts
            assert "has returned the following result" not in texts
            assert {spec.name for spec in request.tools} == {"approve", "report"}
    assert any("Your subagents" in r.closing for who, r in asked if who == "planner")


async def test_hooks_of_a_child_write_to_its_parent_and_say_how_it_goes(start: Start) -> None:
    code = """
from retinue import define_hook

@define_hook(hook="after_create_message")
def told(ctx, message):
    if getattr(message, "text", "") == "here it is":
        ctx.notify_parent("the worker has something")

@define_hook(hook="prefilter_llm_history")
def going(ctx, messages):
    ctx.set_status("thinking")
"""
    hooked = PAIR.replace("[sideA]", 'hooks = ["told", "going"]\n[sideA]', 1)
    play = Play(on_go(CREATE))
    kit = await begin(start, play, EXPLICIT, definitions={"pair.toml": hooked, "hooks.py": code})
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await registry_until(kit, boss, ("idle", "thinking"))
    await quiet(kit)
    child = await only_child(kit, boss)
    texts = [notice.text for notice in await notices(kit, boss)]
    assert texts == [f"Subagent (reference: {child.id}) says:\n\nthe worker has something"]


async def test_a_hook_of_an_agent_without_a_parent_has_nobody_to_tell(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
from retinue import define_hook

@define_hook(hook="after_thread_created")
def told(ctx):
    ctx.notify_parent("anybody?")
"""
    hooked = BOSS.replace("[sideA]", 'hooks = ["told"]\n[sideA]', 1)
    kit = await begin(
        start, Play(says("noted")), definitions={"boss.toml": hooked, "hooks.py": code}
    )
    assert (await kit.ask(await kit.agent("boss"), "hello")).reply == "noted"
    assert "a hook failed and was skipped" in caplog.text


async def test_hooks_see_children_that_begin_by_themselves_or_late(start: Start) -> None:
    code = """
from retinue import define_hook
log = []

@define_hook(hook="after_subagent_created")
def born(ctx, child):
    log.append(child.definition)
    ctx.post(ctx.agent_id, "it is here", silent=True)
"""
    hooked = BOSS.replace("[sideA]", 'hooks = ["born"]\n[sideA]', 1)
    worker = (
        "---\nmodel: main\ntools: [draw, give_up]\nvariables: [{name: PAIR_KEY, scoped: true, "
        "required: true}]\n---\nYou are the worker."
    )
    kit = await begin(
        start,
        Play(says("noted")),
        "{name: pair, blocking: false, resumable: true, immediate: true}",
        definitions={"boss.toml": hooked, "hooks.py": code},
        prompts={"worker.md": worker},
    )
    boss = await kit.engine.create(LOCAL_OWNER, "boss", env={"PAIR_KEY": "its own"})
    await registry_until(kit, boss, ("idle", ""))
    (hook,) = kit.engine.catalog.hooks().values()
    log = hook.execute.__globals__["log"]
    assert log == ["pair"]
    other = await kit.agent("boss")  # has nothing to give, so its child waits

    async def waits() -> bool:
        return bool((await kit.fresh(other)).state.deferred)

    await until(waits)
    (deferral,) = (await kit.fresh(other)).state.deferred
    given = {"PAIR_KEY": "given late"}
    await kit.engine.variables.provide(LOCAL_OWNER, other.id, deferral.id, given)
    assert log == ["pair", "pair"]
