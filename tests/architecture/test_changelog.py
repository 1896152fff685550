"""The rules for CHANGELOG.md that CONTRIBUTING.md states."""

from pathlib import Path

LONGEST_ENTRY = 25
CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"


def entries() -> list[str]:
    text = CHANGELOG.read_text("utf-8")
    unreleased = text[text.index("\n## ") :]
    blocks = (block.strip() for block in unreleased.replace("\n- ", "\n\n- ").split("\n\n"))
    return [block for block in blocks if block and not block.startswith("#")]


def test_every_entry_is_a_list_item_of_at_most_25_words() -> None:
    assert entries()
    assert [entry for entry in entries() if not entry.startswith("- ")] == []
    too_long = [entry for entry in entries() if len(entry.split()) - 1 > LONGEST_ENTRY]
    assert too_long == [], f"shorten or split these {len(too_long)} entries"


def test_no_entry_appears_twice() -> None:
    found = entries()
    assert sorted(found) == sorted(set(found))
