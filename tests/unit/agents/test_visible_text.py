"""What a person decides by shows everything that is in it."""

import pytest

from retinue.agents.visible_text import is_plain, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("grüße, 日本語, 🙂", "grüße, 日本語, 🙂"),
        ("two\nlines", "two\nlines"),
        ("tab\there", "tab␉here"),
        ("\x1b[2J\x1b]0;t\x07", "␛[2J␛]0;t␇"),
        ("over\rwritten", "over␍written"),
        ("nul\x00 del\x7f", "nul␀ del␡"),
        ("c1\x85\x9b", "c1<U+0085><U+009B>"),
        ("ab\u202ecd\u202c", "ab<U+202E>cd<U+202C>"),
        ("\u2066x\u2069\u200e\u200f\u061c", "<U+2066>x<U+2069><U+200E><U+200F><U+061C>"),
        ("a\u200bb\u200dc\ufeffd\u2060", "a<U+200B>b<U+200D>c<U+FEFF>d<U+2060>"),
        ("no\u00a0break\u3000wide", "no<U+00A0>break<U+3000>wide"),
        ("line\u2028para\u2029", "line<U+2028>para<U+2029>"),
        ("soft\u00adhyphen", "soft<U+00AD>hyphen"),
        ("blank\u3164\u2800\u115f", "blank<U+3164><U+2800><U+115F>"),
        ("tag\U000e0041\ufe0f", "tag<U+E0041><U+FE0F>"),
        ("own\ue000", "own<U+E000>"),
    ],
)
def test_hidden_characters_are_written_as_what_they_are(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_plain_text_is_one_line_that_shows_itself() -> None:
    assert is_plain("/srv/data")
    assert not is_plain("a\nb")
    assert not is_plain("a\u200bb")
