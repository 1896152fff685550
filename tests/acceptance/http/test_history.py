"""History through HTTP: forwards, backwards, and the newest page first."""

from typing import Any

import pytest
import pytest_asyncio

from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(door: Door) -> str:
    """An agent with nine records: a start and four exchanges."""
    made = await door.new_agent()
    for number in range(4):
        await door.talk(made, f"message {number}")
    return made


def seqs(page: dict[str, Any]) -> list[int]:
    return [record["seq"] for record in page["records"]]


async def test_records_come_oldest_first_with_their_kinds(door: Door, agent: str) -> None:
    page = await door.history(agent)
    assert seqs(page) == list(range(1, 10))
    assert page["records"][0]["kind"] == "start"
    assert page["records"][1]["text"] == "message 0"
    assert page["records"][2]["parts"] == [{"type": "text", "text": "You said: message 0"}]
    assert (page["cursor"], page["first"], page["hasMore"]) == (9, 1, False)


async def test_a_cursor_leads_through_all_pages(door: Door, agent: str) -> None:
    seen: list[int] = []
    after = 0
    while True:
        page = await door.history(agent, after=after, limit=4)
        seen += seqs(page)
        after = page["cursor"]
        if not page["hasMore"]:
            break
    assert seen == list(range(1, 10))
    assert seqs(await door.history(agent, after=9)) == []
    assert (await door.history(agent, after=9))["cursor"] == 9


async def test_pages_lead_back_from_the_newest(door: Door, agent: str) -> None:
    newest = await door.history(agent, before=2**53 - 1, limit=4)
    assert seqs(newest) == [6, 7, 8, 9]
    assert newest["hasMore"] is True
    middle = await door.history(agent, before=newest["first"], limit=4)
    assert seqs(middle) == [2, 3, 4, 5]
    oldest = await door.history(agent, before=middle["first"], limit=4)
    assert seqs(oldest) == [1]
    assert oldest["hasMore"] is False
    assert seqs(await door.history(agent, before=1)) == []


@pytest.mark.parametrize("before", range(1, 14))
async def test_the_page_before_any_seq_ends_just_before_it(
    door: Door, agent: str, before: int
) -> None:
    page = await door.history(agent, before=before, limit=3)
    assert seqs(page) == list(range(1, min(before, 10)))[-3:]


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "limit=0", "limit=1001", "after=1&before=3", "before=1e30"]
)
async def test_a_senseless_page_is_refused(door: Door, agent: str, query: str) -> None:
    answer = await door.client.get(f"/api/agents/{agent}/history?{query}")
    assert answer.status_code == 400
