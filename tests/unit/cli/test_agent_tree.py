from datetime import UTC, datetime
from typing import Any

from retinue.cli.agent_tree import tree_lines
from retinue.events import WaitView
from retinue.server.wire import AgentEntry, AgentTree, TreeBranch

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def agent(agent_id: str, **fields: Any) -> AgentEntry:
    known: dict[str, Any] = {
        "kind": "subagent",
        "definition": "helper",
        "lifecycle": "resting",
        "status": "resting",
        "created_at": NOW,
        "updated_at": NOW,
        "descriptor": {"type": "subagent", "name": agent_id.upper()},
    }
    return AgentEntry(id=agent_id, **{**known, **fields})


def branch(agent_id: str, **fields: Any) -> TreeBranch:
    return TreeBranch(agent=agent(agent_id, **fields), children=[], hidden=0)


def test_an_agent_without_relatives_has_no_tree() -> None:
    assert tree_lines(AgentTree(ancestors=[], tree=branch("a")), NOW) == []


def test_a_tree_tells_who_is_whose_child_and_who_waits_for_whom() -> None:
    wait = WaitView(call="c1", reason="child", agent_id="c", item_id="m1")
    meant = TreeBranch(
        agent=agent("b", lifecycle="awake", status="waiting", queued=2, waits=[wait]),
        children=[branch("c", lifecycle="terminated", status="terminated")],
        hidden=3,
    )
    assert tree_lines(AgentTree(tree=meant, ancestors=[agent("a")]), NOW) == [
        "A  a  resting",
        "   → B  b  waiting, 2 messages queued",
        "      waiting for agent c (message m1)",
        "      C  c  terminated",
        "      and 3 more",
    ]
