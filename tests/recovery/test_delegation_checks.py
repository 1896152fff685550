"""The judge of what agents asked of each other."""

import json
from typing import Any

import pytest

from retinue.testing.verify.collaboration_checks import children, delegations, requests


def agent(agent_id: str, *records: dict[str, Any], **more: Any) -> dict[str, Any]:
    facts = {"id": agent_id, "channel": agent_id, "isActive": True, "parent": None}
    return {**facts, "records": list(records), **more}


def result(status: str) -> dict[str, Any]:
    text = json.dumps({"status": status, "responseId": "m1"})
    return {"kind": "tool", "name": "agents_message", "text": text}


NOTICE = {"kind": "system", "text": "about m1", "origin": "b"}


@pytest.mark.parametrize(
    ("status", "notices", "is_active", "is_well"),
    [
        ("complete", 0, True, True),
        ("complete", 1, True, False),
        ("timeout", 0, True, False),
        ("timeout", 1, True, True),
        ("started", 1, True, True),
        ("started", 2, True, False),
        ("started", 0, False, True),
    ],
)
def test_each_delegation_has_one_outcome(
    status: str, notices: int, is_active: bool, is_well: bool
) -> None:
    caller = agent("a", result(status), *[NOTICE] * notices, isActive=is_active)
    assert (list(delegations({"a": caller})) == []) is is_well


def test_what_is_asked_twice_is_seen() -> None:
    asked = {"kind": "user", "text": "work", "sender": "a"}
    once = {"a": agent("a"), "b": agent("b", asked)}
    assert list(requests(once)) == []
    assert list(requests({**once, "c": agent("c", asked)})) != []


@pytest.mark.parametrize(("notices", "is_well"), [(0, False), (1, True), (2, False)])
def test_a_parent_is_told_once(notices: int, is_well: bool) -> None:
    family = {"a": agent("a", *[NOTICE] * notices), "b": agent("b", parent="a")}
    assert (list(children(family)) == []) is is_well
