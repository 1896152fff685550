"""The context as people look at it is the one that the model is sent."""

from typing import Any

import pytest

from retinue.definitions.declarations import HookBlocked
from retinue.engine.prompting.context_view import ContextView
from retinue.errors import NotFoundError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import Usage
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.prompting.house import READERS, keep, shown

SECRET = "correct horse battery"


async def view(kit: Kit, agent: Agent) -> ContextView:
    return await kit.engine.contexts.view(LOCAL_OWNER, agent.id)


def shown_texts(seen: ContextView) -> list[str]:
    return [part.text for message in seen.messages for part in message.parts]


async def test_what_is_shown_is_what_the_model_gets_next(start: Start) -> None:
    sent: list[tuple[ModelRequest, int]] = []

    def reply(request: ModelRequest) -> Answer:
        sent.append((request, len(request.messages)))
        if len(sent) == 1:
            return Reply(thinking="Hm.", calls=[Call(name="lists_get")])
        return Reply(text="Here.", usage=Usage(input=900, output=3))

    kit = await start(
        ScriptedModel(reply, name="main"),
        tools=READERS,
        collaborates=True,
    )
    await keep(kit, lists=["Groceries"])
    kit.engine.windows.show(LOCAL_OWNER, "w1", shown())
    agent = await kit.agent()
    await kit.ask(agent, "show me")
    seen = await view(kit, agent)
    await kit.ask(agent, "and again")
    request, count = sent[-1]
    assert "\n\n".join(section.text for section in seen.system) == request.system
    assert [section.name for section in seen.system] == [
        "base",
        "tools",
        "items",
        "messageContext",
        "panels",
    ]
    assert [tool.name for tool in seen.tools] == [spec.name for spec in request.tools]
    assert [tool.parameters for tool in seen.tools] == [spec.parameters for spec in request.tools]
    assert len(seen.messages) == count - 1  # all but the new question
    assert shown_texts(seen) == ["show me", "Hm.", "{}", "lists_get read", "Here."]
    assert all(section.text in request.closing for section in seen.closing)
    assert [section.name for section in seen.closing] == ["items", "panels"]
    assert seen.reported is not None and seen.reported.reported == 900
    parts = seen.tokens.system + seen.tokens.tools + seen.tokens.messages + seen.tokens.closing
    assert abs(parts - seen.tokens.estimated) <= 4
    assert seen.model == "main"


async def test_looking_disturbs_nothing_and_survives_a_restart(start: Start) -> None:
    kit = await start(["one", "two"])
    agent = await kit.agent()
    await kit.ask(agent, "first")
    before = await view(kit, agent)
    await kit.restart()
    assert await view(kit, agent) == before
    assert not kit.engine.view(await kit.fresh(agent)).lifecycle == "resting"
    assert (await kit.ask(agent, "second")).item.fate == "answered"
    with pytest.raises(NotFoundError):
        await kit.engine.contexts.view(OwnerId("somebody"), agent.id)


async def test_a_summary_tells_what_it_hides_and_the_marks_tell_when_it_comes(
    start: Start,
) -> None:
    kit = await start(lambda _: "word " * 50, context_limit=4_000)
    agent = await kit.agent()
    for number in range(4):
        await kit.ask(agent, f"question {number}")
    assert (await view(kit, agent)).summary is None
    assert await kit.engine.compact(LOCAL_OWNER, agent.id)
    seen = await view(kit, agent)
    assert seen.summary is not None and seen.summary.reason == "command"
    assert "question 0" not in str(shown_texts(seen)[1:])
    assert (seen.limit, seen.marks.warning, seen.marks.critical) == (4_000, 3_000, 3_600)
    assert seen.pressure == "low"


async def test_secrets_are_blotted_out_of_what_is_shown(start: Start) -> None:
    helper = 'name = "helper"\nsystemPrompt = "You help."\n'
    helper += '[[variables]]\nname = "PASS"\ntype = "secret"\nrequired = false\n'
    kit = await start(["ok"], definitions={"helper.toml": helper})
    agent = await kit.agent()
    await kit.ask(agent, f"it is {SECRET}")
    await kit.engine.variables.set_account(LOCAL_OWNER, "PASS", SECRET)
    seen = await view(kit, agent)
    assert SECRET not in str(seen)
    assert "[secret PASS]" in shown_texts(seen)[0]


async def test_what_hooks_change_is_shown_and_so_is_a_refusal(start: Start, tmp_path: Any) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "house.py").write_text(
        "from retinue import HookBlocked, define_hook\n"
        "@define_hook(hook='after_system_message', id='polite')\n"
        "def polite(ctx, text):\n    return text + ' Please.'\n"
        "@define_hook(hook='prefilter_llm_history', id='closed')\n"
        "def closed(ctx, messages):\n"
        "    if 'late' in str(messages):\n        raise HookBlocked('closed')\n",
        encoding="utf-8",
    )
    helper = 'name = "helper"\nsystemPrompt = "You help."\nhooks = ["polite", "closed"]\n'
    kit = await start(lambda _: "ok", definitions={"helper.toml": helper})
    agent = await kit.agent()
    await kit.ask(agent, "hello")
    seen = await view(kit, agent)
    assert [(one.name, one.text) for one in seen.system] == [("hooked", "You help. Please.")]
    assert (seen.hooks, seen.blocked) == (["polite", "closed"], None)
    await kit.ask(agent, "it is late")
    assert (await view(kit, agent)).blocked == str(HookBlocked("closed"))
