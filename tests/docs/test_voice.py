"""The words that CONTRIBUTING.md asks writers to avoid stay out of the documentation."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, REPOSITORY

AVOIDED = re.compile(
    r"\b(?:told|tells|whoever|whomever|anew|mend|made of|what was used|blotted)\b", re.IGNORECASE
)
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r'\*[^*\n]+\*|"[^"\n]+"')
TEXTS = [
    *PAGES,
    *(REPOSITORY / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *sorted((REPOSITORY / "examples").glob("*/README.md")),
]


@pytest.mark.parametrize(
    "text", TEXTS, ids=[text.relative_to(REPOSITORY).as_posix() for text in TEXTS]
)
def test_a_text_avoids_the_words_that_sound_translated(text: Path) -> None:
    prose = QUOTED.sub("", CODE.sub("", text.read_text("utf-8")))
    assert AVOIDED.findall(prose) == []
