"""Which window opens what an agent wants to be seen, and that it does so once."""

import asyncio

import pytest

from retinue.agents.artifact import ArtifactId
from retinue.agents.panel import HEADLESS, Followed, Inventory, Panel
from retinue.clock import Clock
from retinue.engine.panels.open_panel import WindowOpener
from retinue.engine.panels.windows import MOST_WINDOWS, Windows
from retinue.errors import NotFoundError
from retinue.events import LiveEvent, ShowEvent
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.models.scripted import Call, Reply
from retinue.plugins.artifacts.show_operation import Opened, ShowRequest
from retinue.plugins.port import OperationContext
from retinue.stores.port import Store
from retinue.testing.fake_clock import FakeClock
from tests.unit.engine.conftest import Start

OTHER = OwnerId("other")


def talking_to(agent_id: str, *followed: Followed) -> Inventory:
    chat = Panel(panel_id="chat", panel_type="chat", binding={"agentId": agent_id})
    return Inventory(panels=[chat], shown=followed)


class Desktop:
    """The windows of owners, where what they are asked to show can be looked at."""

    def __init__(self, store: Store, clock: Clock, *, follows: bool = True) -> None:
        self.windows = Windows(clock)
        self.opener = WindowOpener(self.windows, store, patience_seconds=0)
        self.asked: list[tuple[OwnerId, ShowEvent]] = []
        self.clock = clock
        self._follows = follows
        self.windows.announce = self._hear

    def _hear(self, owner: OwnerId, event: LiveEvent) -> None:
        assert isinstance(event, ShowEvent)
        self.asked.append((owner, event))
        if self._follows:
            self.windows.show(
                owner,
                event.window_id,
                talking_to("x", Followed(show=event.show, how="opened")),
                holder=self,
            )

    async def show(
        self, *, agent_id: AgentId | None = None, owner: OwnerId = LOCAL_OWNER, key: str = "k"
    ) -> Opened:
        ctx = OperationContext(
            owner=owner, idempotency_key=key, clock=self.clock, agent_id=agent_id
        )
        wish = ShowRequest(kind="list", id=ArtifactId("l"), name="L", panel_id=None, window_id=None)
        return await self.opener.open(ctx, wish)


async def test_the_window_with_the_conversation_is_meant_also_by_those_who_work_for_it(
    start: Start, clock: FakeClock
) -> None:
    script = [Reply(calls=[Call(name="start_background_agent", arguments={"prompt": "go"})]), "ok"]
    kit = await start([*script, "done", "thanks"], collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "hello")
    (child,) = await kit.store.children(LOCAL_OWNER, parent.id)
    stranger = await kit.agent()
    for agent, key in ((parent, "a"), (child, "b")):
        desktop = Desktop(kit.store, clock)
        desktop.windows.show(LOCAL_OWNER, "talks", talking_to(parent.id))
        desktop.windows.show(LOCAL_OWNER, "later", talking_to(stranger.id))
        desktop.windows.show(OTHER, "theirs", talking_to(parent.id))
        shown = await desktop.show(agent_id=agent.id, key=key)
        assert (shown.window_id, shown.how) == ("talks", "opened")
    desktop = Desktop(kit.store, clock)
    desktop.windows.show(LOCAL_OWNER, "first", talking_to("x"))
    desktop.windows.show(LOCAL_OWNER, "second", talking_to("y"))
    desktop.windows.show(LOCAL_OWNER, "first", talking_to("z"))
    assert (await desktop.show(agent_id=stranger.id)).window_id == "first"


async def test_nobody_sees_what_another_owner_is_shown(start: Start, clock: FakeClock) -> None:
    kit = await start([])
    desktop = Desktop(kit.store, clock)
    desktop.windows.show(OTHER, "theirs", talking_to("a"))
    with pytest.raises(NotFoundError, match=HEADLESS):
        await desktop.show()
    assert desktop.asked == []


async def test_a_call_that_is_made_again_after_a_crash_opens_nothing_twice(
    start: Start, clock: FakeClock
) -> None:
    kit = await start([])
    before = Desktop(kit.store, clock)
    before.windows.show(LOCAL_OWNER, "w", talking_to("a"))
    await before.show(key="call-1")
    await before.show(key="call-1")
    ((_, first),) = before.asked
    after = Desktop(kit.store, clock)
    after.windows.show(LOCAL_OWNER, "w", talking_to("a", Followed(show=first.show, how="opened")))
    assert (await after.show(key="call-1")).how == "opened"
    ((_, again),) = after.asked
    assert again.show == first.show, "the window knows that it followed this one"


async def test_a_window_that_never_answers_is_asked_now_and_then_for_a_minute(
    start: Start, clock: FakeClock
) -> None:
    kit = await start([])
    desktop = Desktop(kit.store, clock, follows=False)
    desktop.windows.show(LOCAL_OWNER, "w", talking_to("a"))
    assert (await desktop.show()).how == "asked"
    for _ in range(10):
        desktop.windows.show(LOCAL_OWNER, "w", talking_to("b"))
    assert len(desktop.asked) == 1
    clock.advance(2)
    desktop.windows.show(LOCAL_OWNER, "w", talking_to("b"))
    assert len(desktop.asked) == 2
    clock.advance(60)
    desktop.windows.show(LOCAL_OWNER, "w", talking_to("b"))
    assert len(desktop.asked) == 2


def test_a_window_that_is_used_stays_however_many_others_come(clock: FakeClock) -> None:
    windows = Windows(clock)
    for number in range(MOST_WINDOWS + 5):
        windows.show(LOCAL_OWNER, "used", talking_to("a"))
        windows.show(LOCAL_OWNER, f"w{number}", talking_to("b"))
    assert "used" in windows.of(LOCAL_OWNER)
    assert next(iter(windows.by_activity(LOCAL_OWNER))) == f"w{MOST_WINDOWS + 4}"


async def test_right_after_a_crash_the_window_with_the_conversation_is_waited_for(
    start: Start, clock: FakeClock
) -> None:
    kit = await start([])
    agent = await kit.agent()
    desktop = Desktop(kit.store, clock)
    desktop.windows.expect_back()
    desktop.windows.show(LOCAL_OWNER, "other", talking_to("b"))
    assert (await desktop.show(key="of the person")).window_id == "other"
    call = asyncio.create_task(desktop.show(agent_id=agent.id))
    await asyncio.sleep(0)
    desktop.windows.show(LOCAL_OWNER, "talks", talking_to(agent.id))
    assert (await call).window_id == "talks"
    clock.advance(11)
    desktop.windows.close(LOCAL_OWNER, "talks")
    assert (await desktop.show(agent_id=agent.id, key="later")).window_id == "other"
