"""What a watch tells when it sees something else than before."""

from datetime import UTC, datetime

from retinue.agents.watch import LONGEST_KEPT, Mark, difference, digest_of, kept

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def seen(text: str) -> Mark:
    return Mark(since=SINCE, digest=digest_of(text), seen=kept(text))


def test_the_first_look_and_an_unchanged_one_tell_nothing() -> None:
    assert difference(Mark(since=SINCE), "anything") is None
    assert difference(seen("same"), "same") is None


def test_a_change_is_told_line_by_line() -> None:
    told = difference(seen("milk\neggs\n"), "milk\nbread\n")
    assert told == "--- before\n+++ now\n@@ -1,2 +1,2 @@\n milk\n-eggs\n+bread"


def test_a_change_of_line_ends_only_is_still_told() -> None:
    assert difference(seen("a\nb"), "a\nb\n") == "Only line endings changed."


def test_a_long_difference_is_cut_and_says_so() -> None:
    told = difference(seen(""), "line\n" * 5_000)
    assert told is not None
    assert len(told) < 7_000
    assert told.endswith("more characters of changes]")


def test_what_is_too_long_to_keep_is_compared_by_digest() -> None:
    long = "x" * (LONGEST_KEPT + 1)
    told = difference(seen(long), "short")
    assert (
        told
        == f"The content changed: its digest was {digest_of(long)} and is now {digest_of('short')}."
    )
    assert difference(seen(long), long) is None
