"""The offline model with lists and notes: plain commands, and what came of them in words."""

from typing import Any

import pytest

from tests.unit.models.test_offline import call, called, result, spec, words

KEEPING = [
    spec("lists_get", "list"),
    spec("lists_items_list", "list", query="string"),
    spec("lists_item_add", "list", "title", create_list="boolean"),
    spec("lists_item_update", "list", "item", title="string", completed="boolean"),
    spec("lists_list"),
    spec("notes_append", "note", "content"),
    spec("notes_create", "title", content="string"),
    spec("notes_search", "query"),
]


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [
        (
            "add oat milk to my groceries list",
            "lists_item_add",
            {"list": "groceries", "title": "oat milk", "create_list": True},
        ),
        ("what is on groceries?", "lists_items_list", {"list": "groceries"}),
        (
            "tick oat milk off groceries",
            "lists_item_update",
            {"list": "groceries", "item": "oat milk", "completed": True},
        ),
        ("show my lists", "lists_list", {}),
        (
            "note that the key is under the mat",
            "notes_create",
            {"title": "the key is under the mat", "content": "the key is under the mat"},
        ),
        ("search my notes for key", "notes_search", {"query": "key"}),
    ],
)
async def test_lists_and_notes_are_kept_by_plain_commands(
    said: str, name: str, arguments: dict[str, Any]
) -> None:
    assert await call(said, tools=KEEPING) == (name, arguments)


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        (
            "lists_item_add",
            '{"item": {"title": "milk", "list": "groceries"}, "change": "h1"}',
            "Added “milk” to groceries.",
        ),
        (
            "lists_items_list",
            '{"list": "it", "items": [{"title": "milk"}, {"title": "tea", "completed": true}]}',
            "On it:\n\n- [ ] milk\n- [x] tea",
        ),
        ("lists_items_list", '{"list": "groceries", "items": []}', "groceries is empty."),
        ("notes_create", '{"note": {"title": "the key"}}', "Noted: “the key”."),
        (
            "schedule_create",
            "Scheduled: buy-milk-1a2b: buy milk; once, next Mon 2026-11-16 18:00 UTC",
            "Scheduled for Mon 2026-11-16 18:00 UTC: buy milk",
        ),
        (
            "views_query",
            '{"query": "tea", "found": [{"kind": "item", "title": "tea", "list": "it"},'
            ' {"kind": "item", "title": "teapot", "list": "it", "completed": true},'
            ' {"kind": "note", "title": "About tea"}], "more": "2 more"}',
            "Found:\n\n- tea (on it)\n- teapot (on it, done)\n- About tea (a note)\n- (2 more)",
        ),
        (
            "views_query",
            '{"query": "tea", "found": []}',
            "No items or notes found.",
        ),
        (
            "views_query",
            '{"found": [{"kind": "item", "position": 0}]}',
            "`views_query` returned: {",
        ),
        (
            "agents_switch",
            '{"status": "switched", "agentId": "journal", "sessionId": "s1"}',
            "You are now talking to `journal`.",
        ),
        (
            "agents_list",
            '{"agents": [{"agentId": "todo", "displayName": "Todo", "description": "Lists."}]}',
            "Agents that I can ask:\n\n- `todo`: Lists.",
        ),
        ("lists_item_add", '{"something": "else"}', "`lists_item_add` returned: {"),
    ],
)
async def test_what_became_of_a_call_is_told_in_words(tool: str, given: str, expected: str) -> None:
    said = await words("do it", called(tool), result(given, name=tool), tools=KEEPING)
    assert said.startswith(expected)
