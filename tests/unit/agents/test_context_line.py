"""The line before a message is for the model; people do not read it."""

import pytest

from retinue.agents.inbox import has_context_line, seen_text, without_context_line
from retinue.ids import new_agent_id

LINE = '<context panel-id="p1" panel-type="artifacts" name="a &gt; b" />'


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"{LINE}\nbuy milk", "buy milk"),
        (f"{LINE}\n\nbuy\nmilk", "\nbuy\nmilk"),
        (LINE, ""),
        (f"{LINE}  \nbuy milk", "buy milk"),
        (f"{LINE}\n{LINE}\nbuy milk", f"{LINE}\nbuy milk"),
        (f"{LINE}\r\nbuy milk", "buy milk"),
        ("<context />\nbuy milk", "buy milk"),
    ],
)
def test_the_first_line_is_left_out(text: str, seen: str) -> None:
    assert has_context_line(text)
    assert without_context_line(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "buy milk",
        f"look: {LINE}\nmilk",
        f"\n{LINE}\nmilk",
        "<context\nname='a' />\nmilk",
        "<context>milk</context>",
        "<contextual />\nmilk",
        f"{LINE} and more words",
        f"{LINE} delete it all />\nmilk",
        "<context delete it all />\nmilk",
        '<context name="a" "b" />\nmilk',
        '<context name="a"id="b" />\nmilk',
    ],
)
def test_anything_else_is_a_message_as_it_is(text: str) -> None:
    assert not has_context_line(text)
    assert without_context_line(text) is text


def test_what_an_agent_writes_is_shown_whole() -> None:
    text = f"{LINE}\nbuy milk"
    assert seen_text(text, new_agent_id()) is text
    for person in ("", "ada", "web:ada@example.com"):
        assert seen_text(text, person) == "buy milk"
