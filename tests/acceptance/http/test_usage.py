"""Usage over HTTP: sums of the one who asks, by what they ask for."""

import pytest

from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_usage_is_summed_up_by_what_is_asked_for(door: Door) -> None:
    agent = await door.new_agent()
    await door.say(agent, "hello")
    report = (await door.client.get("/api/usage", params={"by": "agent"})).json()
    assert report["by"] == "agent"
    assert report["total"]["calls"] == sum(line["calls"] for line in report["lines"])
    nothing = await door.client.get("/api/usage", params={"to": "2020-01-01"})
    assert (nothing.json()["lines"], nothing.json()["total"]["calls"]) == ([], 0)


@pytest.mark.parametrize(
    "query",
    [{"by": "hour"}, {"from": "yesterday"}, {"from": "2026-02-01", "to": "2026-01-01"}],
)
async def test_what_cannot_be_summed_up_is_refused(door: Door, query: dict[str, str]) -> None:
    assert (await door.client.get("/api/usage", params=query)).status_code == 400
