"""What doors are shown of an agent that waits, and of its relatives."""

from retinue.engine.lineage.family_tree import LARGEST, tree_of
from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply
from retinue.stores.port import Agent
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, last_said
from tests.unit.engine.test_suspension import asks, child_of, delegate


async def test_an_agent_that_waits_says_for_whom_and_which_message(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0], seconds=60)
        return "done" if text.startswith("{") else Reply(text="did", before=gate)

    kit = await start(script, tools=[delegate])
    caller, target = await kit.agent(), await kit.agent()
    peers.append(target)
    receipt = await kit.post(caller, "go")
    await gate.reached.wait()
    view = kit.engine.view(await kit.fresh(caller))
    (asked,) = await kit.store.open_items(LOCAL_OWNER, target.id)
    (wait,) = view.waits
    assert (view.lifecycle, view.status) == ("awake", "waiting")
    assert (wait.reason, wait.agent_id, wait.item_id) == ("child", target.id, asked.id)
    assert wait.until is not None
    gate.opened.set()
    await kit.outcome(receipt)
    after = kit.engine.view(await kit.fresh(caller))
    assert (after.waits, after.lifecycle) == ([], "resting")


async def test_a_tree_of_very_many_agents_is_cut_and_shows_those_at_work(start: Start) -> None:
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        return Reply(text="ok", before=gate)

    kit = await start(script)
    root = await kit.agent()
    children = [await child_of(kit, root, f"child {number}") for number in range(LARGEST)]
    last = children[-1]
    await kit.post(last, "work")
    await gate.reached.wait()
    tree = await tree_of(kit.store, LOCAL_OWNER, root.id, depth=8)
    assert tree.children[0].agent.id == last.id
    assert (len(tree.children), tree.hidden) == (LARGEST - 1, 1)
    gate.opened.set()


async def test_everybody_who_ends_with_an_agent_is_told_of_also_those_who_end_by_themselves(
    start: Start,
) -> None:
    """Its end is a message to each child, which may come before the command reaches them."""
    kit = await start(lambda request: "ok")
    root = await kit.agent()
    children = [await child_of(kit, root, f"child {number}") for number in range(6)]
    grandchild = await child_of(kit, children[-1], "grandchild")
    family = {agent.id for agent in (root, *children, grandchild)}
    ended = await kit.engine.terminate(LOCAL_OWNER, root.id)
    assert (set(ended), len(ended)) == (family, len(family))
    assert {(await kit.fresh(child)).lifecycle for child in children} == {"terminated"}
    assert await kit.engine.terminate(LOCAL_OWNER, root.id) == []
