"""Guarantees between agents: each request is made once, and each outcome reported once."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

Agents = Mapping[str, dict[str, Any]]


def delegations(agents: Agents) -> Iterator[str]:
    """Each delegation has one outcome at its caller: the call's result, or a separate message."""
    for agent in agents.values():
        notices = [record["text"] for record in agent["records"] if record["kind"] == "system"]
        for result in _results(agent):
            came = sum(result["responseId"] in notice for notice in notices)
            comes_later = result["status"] in ("timeout", "started")
            if came != (comes_later and agent["isActive"]):
                where = agent["channel"]
                yield f"delegation: {where!r} got {came} reports after {result['status']!r}"


def requests(agents: Agents) -> Iterator[str]:
    """Each request to another agent is recorded once."""
    asked = Counter(
        record["text"]
        for agent in agents.values()
        for record in agent["records"]
        if record["kind"] == "user" and record.get("sender") in agents
    )
    for text, count in asked.items():
        if count > 1:
            yield f"delegation: {text!r} was asked {count} times"


def children(agents: Agents) -> Iterator[str]:
    """The result of a background agent reaches its parent once."""
    for agent in agents.values():
        parent = agents.get(agent["parent"] or "")
        if parent is not None and not agent.get("isSubagent"):
            reports = sum(record.get("origin") == agent["id"] for record in parent["records"])
            if reports != 1:
                yield f"child: its parent got {reports} reports"


def _results(agent: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for record in agent["records"]:
        is_result = record["kind"] == "tool" and record["name"] == "agents_message"
        if is_result and record["text"].startswith("{"):
            yield msgspec.json.decode(record["text"])
