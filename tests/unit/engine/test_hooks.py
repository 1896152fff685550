"""Hooks of definitions and prompts, at each point of a run."""

import asyncio
from typing import Any

import pytest

from retinue.errors import BusyError
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import AssistantRecord, RunRecord, ToolRecord
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import calls, counted_tool, eventually, until
from tests.unit.engine.test_sides import PAIR, REVIEWER, WORKER, made, shown

HELPER = 'name = "helper"\ndescription = "Helps."\nhooks = [{hooks}]\n[sideA]\nprompt = "p"\n{more}'
HEAD = "from retinue import HookBlocked, define_hook\nlog = []\n"


async def begin(
    start: Start,
    script: Any,
    code: str,
    *,
    hooks: str = '"one"',
    prompt: str = "Go.",
    more: str = "",
    tools: Any = (),
    **options: Any,
) -> Kit:
    kit_options: dict[str, Any] = {
        "definitions": {
            "helper.toml": HELPER.format(hooks=hooks, more=more),
            "hooks.py": HEAD + code,
        },
        "prompts": {"p.md": prompt},
        **options,
    }
    return await start(script, tools=tools, **kit_options)


def logged(kit: Kit) -> list[Any]:
    """What the hooks of a test wrote into their list."""
    hook = next(iter(kit.engine.catalog.hooks().values()))
    return hook.execute.__globals__["log"]


async def test_hooks_of_one_kind_run_in_the_listed_order_each_with_what_the_last_gave(
    start: Start,
) -> None:
    code = """
@define_hook(hook="after_system_message")
def one(ctx, text):
    return text + " [one]"

@define_hook(hook="after_system_message")
async def two(ctx, text):
    return text + " [two]"

@define_hook(hook="after_system_message")
def keeps(ctx, text):
    return None
"""
    model = ScriptedModel(["Hello."], name="main")
    kit = await begin(start, model, code, hooks='"two", "keeps", "one"')
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert model.requests[0].system.endswith("Go. [two] [one]")


async def test_a_prompts_hooks_replace_the_definitions(start: Start) -> None:
    code = """
@define_hook(hook="after_system_message")
def one(ctx, text):
    return text + " [one]"

@define_hook(hook="after_system_message")
def two(ctx, text):
    return text + " [two]"
"""
    model = ScriptedModel(["Hello."], name="main")
    kit = await begin(start, model, code, prompt="---\nhooks: [two]\n---\nGo.")
    await kit.ask(await kit.agent(), "hi")
    assert model.requests[0].system.endswith("Go. [two]")


async def test_a_hook_that_fails_or_takes_too_long_is_skipped(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    code = """
import asyncio

@define_hook(hook="after_system_message")
def good(ctx, text):
    return text + " [good]"

@define_hook(hook="after_system_message")
def raises(ctx, text):
    raise SystemExit("no")

@define_hook(hook="after_system_message")
async def hangs(ctx, text):
    await asyncio.Event().wait()

@define_hook(hook="after_system_message")
def strange(ctx, text):
    return 3
"""
    model = ScriptedModel(["Hello."], name="main")
    kit = await begin(
        start,
        model,
        code,
        hooks='"good", "raises", "hangs", "strange"',
        limits={"hook_time_limit_seconds": 0.05},
    )
    assert (await kit.ask(await kit.agent(), "hi")).reply == "Hello."
    assert model.requests[0].system.endswith("Go. [good]")
    skipped = [getattr(r, "hook", "") for r in caplog.records if "skipped" in r.message]
    assert skipped == ["raises", "hangs", "strange"]


async def test_messages_are_changed_before_they_are_written_and_told_after(start: Start) -> None:
    code = """
from msgspec import structs
from retinue.records import TextPart

@define_hook(hook="before_create_message")
def one(ctx, message):
    if hasattr(message, "parts"):
        parts = [TextPart(text=part.text.replace("secret", "***")) for part in message.parts]
        return structs.replace(message, parts=parts)
    return message.text.replace("secret", "***")

@define_hook(hook="after_create_message")
def two(ctx, message):
    log.append((message.seq, message.text))

@define_hook(hook="before_update_message")
def three(ctx, message):
    log.append(("update", message.text))

@define_hook(hook="after_update_message")
def four(ctx, message):
    log.append(("updated", message.text))
"""
    model = ScriptedModel(["the secret is out"], name="main")
    kit = await begin(start, model, code, hooks='"one", "two", "three", "four"')
    agent = await kit.agent()
    outcome = await kit.ask(agent, "my secret")
    assert outcome.reply == "the *** is out"
    assert await kit.kinds(agent) == ["start", "user my ***", "assistant the *** is out"]
    assert shown(model.requests[0])[0] == "user: my ***"
    assert (await kit.fresh(agent)).state.title == "my ***"
    await eventually(lambda: len(logged(kit)) == 4)
    assert logged(kit) == [
        (2, "my ***"),
        ("update", "the *** is out"),
        (3, "the *** is out"),
        ("updated", "the *** is out"),
    ]


async def test_what_a_model_is_shown_is_filtered_for_that_request_alone(start: Start) -> None:
    code = """
from retinue.model_messages import TextContent, UserMessage

@define_hook(hook="filter_messages")
def one(ctx, records):
    log.append([record.text for record in records])
    return records[-1:]

@define_hook(hook="prefilter_llm_history")
def two(ctx, messages):
    return [UserMessage(content=[TextContent(text="Listen.")]), *messages]
"""
    model = ScriptedModel(["one", "two"], name="main")
    kit = await begin(start, model, code, hooks='"one", "two"')
    agent = await kit.agent()
    await kit.ask(agent, "first")
    await kit.ask(agent, "second")
    assert shown(model.requests[1]) == ["user: Listen.", "user: second"]
    assert logged(kit) == [["first"], ["first", "one", "second"]]
    assert len(await kit.records(agent)) == 5


async def test_a_block_answers_in_the_place_of_the_model(start: Start) -> None:
    code = """
@define_hook(hook="prefilter_llm_history")
def one(ctx, messages):
    raise HookBlocked("Not about that.")
"""
    model = ScriptedModel([], name="main")
    kit = await begin(start, model, code)
    agent = await kit.agent()
    outcome = await kit.ask(agent, "hi")
    assert (outcome.item.fate, outcome.reply) == ("answered", "Not about that.")
    assert model.count == 0
    last = (await kit.records(agent))[-1]
    assert isinstance(last, AssistantRecord)
    assert last.finish == "blocked"


async def test_what_a_block_says_is_told_like_any_other_message(start: Start) -> None:
    code = """
@define_hook(hook="prefilter_llm_history")
def one(ctx, messages):
    raise HookBlocked("Not about that.")

@define_hook(hook="after_create_message")
def two(ctx, message):
    log.append(message.text)
"""
    kit = await begin(start, [], code, hooks='"one", "two"')
    await kit.ask(await kit.agent(), "hi")
    await eventually(lambda: len(logged(kit)) == 2)
    assert logged(kit) == ["hi", "Not about that."]


async def test_a_block_ends_a_run_of_two_models_as_failed(start: Start) -> None:
    code = HEAD + (
        '@define_hook(hook="prefilter_llm_history")\n'
        "def one(ctx, messages):\n    raise HookBlocked('Stop here.')\n"
    )
    model = ScriptedModel(lambda _: "work", name="main")
    kit = await start(
        model,
        tools=made([]),
        definitions={"pair.toml": PAIR.format(turns=9, a="", b=""), "hooks.py": code},
        prompts={
            "worker.md": WORKER,
            "reviewer.md": REVIEWER.replace("---\n", "---\nhooks: [one]\n", 1),
        },
    )
    agent = await kit.agent("pair")
    outcome = await kit.ask(agent, "go")
    assert (outcome.item.fate, outcome.reply, model.count) == ("failed", "Stop here.", 1)
    end = (await kit.records(agent))[-1]
    assert isinstance(end, RunRecord)
    assert end.code == "hook_blocked"


RESULTS = """
@define_hook(hook="after_tool_call_success")
def one(ctx, call, result):
    log.append(("success", call.name, result.text))
    return None if call.name == "erased" else result.text + "!"

@define_hook(hook="after_tool_call_failure")
def two(ctx, call, result):
    log.append(("failure", call.name))
    return result

@define_hook(hook="before_store_tool_result")
def three(ctx, result):
    return result.text + "?"
"""


async def test_results_pass_their_hooks_before_they_are_stored(start: Start) -> None:
    @tool
    async def fails() -> str:
        """Fail."""
        raise ValueError("broken")

    script = [Reply(calls=[Call(name="works"), Call(name="fails")]), "done"]
    kit = await begin(
        start,
        script,
        RESULTS,
        hooks='"one", "two", "three"',
        tools=[counted_tool([], "works"), fails],
    )
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert (await kit.kinds(agent))[3] == "tool works ok works done!?"
    assert logged(kit) == [("success", "works", "works done"), ("failure", "fails")]


async def test_an_erased_call_is_never_shown_again(start: Start) -> None:
    seen: list[list[str]] = []

    def script(request: ModelRequest) -> Answer:
        seen.append(shown(request))
        if len(seen) == 1:
            return Reply(text="working", calls=[Call(name="erased"), Call(name="works")])
        return "done"

    kit = await begin(
        start,
        script,
        RESULTS,
        hooks='"one"',
        tools=[counted_tool([], "works"), counted_tool([], "erased")],
    )
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "done"
    assert seen[1] == ["user: hi", "assistant: working works()", "tool: works done!"]
    record = (await kit.records(agent))[3]
    assert isinstance(record, ToolRecord)
    assert (record.status, record.text) == ("erased", "")
    await kit.restart()
    await kit.ask(agent, "again")
    assert "erased" not in " ".join(seen[2])


async def test_words_beside_erased_calls_are_the_answer(start: Start) -> None:
    script = [Reply(text="All done.", calls=[Call(name="erased")])]
    kit = await begin(start, script, RESULTS, hooks='"one"', tools=[counted_tool([], "erased")])
    assert (await kit.ask(await kit.agent(), "hi")).reply == "All done."


async def test_an_erased_session_stop_does_not_end_the_run(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        return "still here" if len(request.messages) > 1 else calls("works", "erased")

    kit = await begin(
        start,
        script,
        RESULTS,
        hooks='"one"',
        more='sessionStop = "erased"',
        tools=[counted_tool([], "works"), counted_tool([], "erased")],
    )
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "still here"
    assert not any(isinstance(record, RunRecord) for record in await kit.records(agent))


async def test_a_new_agent_is_seen_once_before_it_does_anything(start: Start) -> None:
    code = """
@define_hook(hook="after_thread_created")
async def one(ctx):
    log.append(ctx.agent_id)
    await ctx.files.write("/hello.txt", b"hello")
"""
    kit = await begin(start, ["Hello."], code)
    agent = await kit.agent()

    async def introduced() -> bool:
        return (await kit.fresh(agent)).state.is_introduced

    await until(introduced)
    assert await kit.engine.tree(agent.id).read("/hello.txt") == b"hello"
    await kit.restart()
    await kit.ask(agent, "hi")
    assert logged(kit) == []  # the module was loaded anew, and the hook did not run again


async def test_a_child_is_seen_before_its_first_message(start: Start) -> None:
    code = """
@define_hook(hook="after_subagent_created")
async def one(ctx, child):
    log.append((ctx.agent_id, child.definition))
    await child.files.write("/brief.txt", b"brief")
"""

    def script(request: ModelRequest) -> Answer:
        if "child work" in shown(request)[0]:
            return "done"
        is_new = len(request.messages) == 1
        return calls("start_background_agent", prompt="child work") if is_new else "started"

    kit = await begin(start, script, code, collaborates=True)
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert logged(kit) == [(agent.id, "helper")]
    (child,) = await kit.store.children(agent.owner, agent.id)
    assert await kit.engine.tree(child.id).read("/brief.txt") == b"brief"


async def test_late_results_pass_the_hooks_too(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        if "question" in shown(request)[0]:
            return "the answer"
        is_new = len(request.messages) == 1
        asked = {"agentId": "peer", "content": "question"}
        return calls("agents_message", **asked) if is_new else "told"

    code = (
        RESULTS
        + """
@define_hook(hook="before_update_message")
def four(ctx, message):
    log.append(("update", type(message).__name__))
"""
    )
    definitions = {
        "helper.toml": HELPER.format(hooks='"one", "four"', more=""),
        "peer.toml": 'name = "peer"\ndescription = "Answers."',
        "hooks.py": HEAD + code,
    }
    kit = await begin(start, script, code, collaborates=True, definitions=definitions)
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "told"
    kinds = [kind for kind in await kit.kinds(agent) if kind.startswith("tool")]
    assert kinds[0].endswith("!")
    assert ("update", "ToolRecord") in logged(kit)


async def test_what_a_hook_asked_for_while_the_engine_stopped_is_committed(start: Start) -> None:
    code = """
import asyncio
from retinue.records import UserRecord

go = asyncio.Event()

@define_hook(hook="after_create_message")
async def one(ctx, message):
    if isinstance(message, UserRecord):
        log.append(message.text)
        await go.wait()
        ctx.post(message.text, "news")
"""
    kit = await begin(start, ["Hello."] * 2, code)
    reader, writer = await kit.agent(), await kit.agent()
    await kit.post(writer, reader.id)
    await eventually(lambda: bool(logged(kit)))
    go = next(iter(kit.engine.catalog.hooks().values())).execute.__globals__["go"]
    stopping = asyncio.create_task(kit.restart())

    async def is_stopping() -> bool:
        try:
            await kit.engine.compact(reader.owner, reader.id)
        except BusyError:
            return True
        return False

    async def told() -> bool:
        return any("news" in kind for kind in await kit.kinds(reader))

    await until(is_stopping)
    go.set()
    await stopping
    await until(told)


async def test_an_agent_without_hooks_is_left_alone(start: Start) -> None:
    code = """
@define_hook(hook="after_system_message")
def one(ctx, text):
    log.append(text)
"""
    kit = await begin(start, ["Hello."], code, hooks="")
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert logged(kit) == []
    assert (await kit.kinds(agent)) == ["start", "user hi", "assistant Hello."]
