import pytest

from retinue.agents.context import (
    Context,
    characters_of_part,
    content_characters,
    corrected_tokens,
    estimated_tokens,
)
from retinue.agents.state import TokenSnapshot
from retinue.ids import CallId
from retinue.model_messages import ImageContent, TextContent
from retinue.records import CallPart, TextPart
from tests.unit.agents.support import image, numbered, user


def test_an_image_counts_as_its_placeholder_however_large_it_is() -> None:
    assert content_characters(ImageContent(mime_type="image/png", data=b"x" * 10**6)) == 7
    plain = Context(numbered(user("look"))).characters
    named = len("[file] cat.png (image/png, 9 bytes) at /cat.png")
    assert Context(numbered(user("look", image()))).characters == plain + named + len("<image>")


@pytest.mark.parametrize(("characters", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (400, 100)])
def test_four_characters_are_about_a_token(characters: int, tokens: int) -> None:
    assert estimated_tokens(characters) == tokens


def test_a_call_counts_its_name_and_its_arguments_as_json() -> None:
    call = CallPart(id=CallId("a"), name="add", arguments={"n": 1})
    assert characters_of_part(call) == len("add") + len('{"n":1}')
    assert characters_of_part(TextPart(text="four")) == 4
    assert content_characters(TextContent(text="four")) == 4


@pytest.mark.parametrize(
    ("reported", "estimated", "expected"),
    [
        (2000, 1000, 600),
        (500, 1000, 150),
        (9000, 1000, 1200),
        (1, 1000, 75),
        (2000, 99, 300),
        (0, 1000, 300),
    ],
    ids=["more", "less", "at most four times", "at least a quarter", "too small to say", "none"],
)
def test_the_provider_s_count_corrects_the_estimate(
    reported: int, estimated: int, expected: int
) -> None:
    last = TokenSnapshot(model="m", reported=reported, estimated=estimated)
    assert corrected_tokens(300, last, "m") == expected


def test_another_model_s_count_corrects_nothing() -> None:
    last = TokenSnapshot(model="m", reported=2000, estimated=1000)
    assert corrected_tokens(300, last, "other") == 300
    assert corrected_tokens(300, None, "m") == 300
