"""The line before a message is for the model; people do not read it."""

import pytest

from retinue.agents.context_line import has_context_line, without_context_line

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
