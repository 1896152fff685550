"""What providers get of a conversation, so that what they kept of it can be used again."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from retinue.ids import CallId
from retinue.model_messages import AssistantMessage, ToolMessage
from retinue.records import CallPart
from retinue.testing.model_server import ScriptedAnswer
from tests.contracts.model_bench import NAMES, Bench, asked, completed, only, sent

CLOSING = "what changes by itself"


@pytest.fixture(params=[*NAMES])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(request.param, tmp_path) as bench:
        yield bench


def called() -> list[Any]:
    call = CallPart(id=CallId("c1"), name="order", arguments={"item": "milk"})
    result = ToolMessage(call=CallId("c1"), name="order", text="ordered", is_error=False)
    return [AssistantMessage(parts=[call], model="m"), result]


async def test_the_closing_words_come_after_the_conversation(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="a"), ScriptedAnswer(text="b"))
    await completed(provider.model, asked("order milk", closing=CLOSING))
    await completed(provider.model, asked("order milk", *called(), closing=CLOSING))
    for index, last in enumerate(("order milk", "ordered")):
        body = sent(provider, index)
        assert body.count(CLOSING) == 1
        assert body.index(CLOSING) > body.rindex(last)


@only("anthropic")
async def test_what_is_kept_ends_before_the_closing_words(bench: Bench) -> None:
    provider = await bench.provider(ScriptedAnswer(text="a"), ScriptedAnswer(text="b"))
    await completed(provider.model, asked("order milk", closing=CLOSING))
    await completed(provider.model, asked("order milk", *called(), closing=CLOSING))
    first, second = (request.body for request in provider.server.asked)
    assert first["tools"] == second["tools"]
    assert first["system"] == second["system"]
    kept, closing = first["messages"][0]["content"]
    assert (kept["text"], "cache_control" in kept) == ("order milk", True)
    assert closing == {"type": "text", "text": CLOSING}
    assert second["messages"][0]["content"][0]["text"] == "order milk"
    result, closing = second["messages"][-1]["content"]
    assert "cache_control" in result
    assert closing == {"type": "text", "text": CLOSING}
    assert "cache_control" not in first and "cache_control" not in second
