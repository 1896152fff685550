"""The page that says which tests hold which case names tests that there are."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs/conformance.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_every_case_has_tests_and_all_of_them_exist() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 17))
    for number, _, tests in ROWS:
        named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", tests)
        assert named, f"case {number} has no test"
        for file, test in named:
            source = (TESTS / file).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {test}\(", source, re.MULTILINE), f"{file}::{test}"
