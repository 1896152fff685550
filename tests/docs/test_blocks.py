"""The convention of docs/writing.md, which a page could otherwise break without being noticed."""

from pathlib import Path

import pytest

from tests.docs.blocks import Command, blocks_of, is_as_told, session
from tests.docs.reader import Reader

PAGE = """\
Words.

```console
$ retinue send helper "a b" \\
    --wait
first

$ retinue why nothing  # fails
retinue: no
```

- indented:
  ```toml
  # agents/helper.toml
  name = "helper"
  ```

```sh
# not run by the tests: it costs money
buy
```
"""


def test_blocks_are_read_with_their_files_and_their_excuses() -> None:
    terminal, file, excused = blocks_of(PAGE)
    assert list(session(terminal)) == [
        Command(text='retinue send helper "a b" --wait', output=["first"], fails=False),
        Command(text="retinue why nothing", output=["retinue: no"], fails=True),
    ]
    assert (file.language, file.path, file.line) == ("toml", "agents/helper.toml", 13)
    assert file.text == '# agents/helper.toml\nname = "helper"\n'
    assert excused.is_unrun


@pytest.mark.parametrize(
    ("told", "printed", "expected"),
    [
        (["one"], "one\n", True),
        (["one"], "one\ntwo\n", False),
        (["one", "…"], "one\ntwo\nthree\n", True),
        (["…", "three"], "one\ntwo\nthree\n", True),
        (["id m… queued"], "id m42 queued\n", True),
        (["id m… queued"], "id m42 lost\n", False),
        (["a  b"], "a      b\n", True),
        (["  a"], "a\n", False),
        ([], "", True),
        ([], "something\n", False),
    ],
)
def test_what_is_printed_is_compared_line_by_line(
    told: list[str], printed: str, expected: bool
) -> None:
    assert is_as_told(told, printed) is expected


def test_a_reader_notices_what_a_page_gets_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(tmp_path, monkeypatch)
    reader.type(Command(text="echo $((1 + 1))", output=["2"], fails=False))
    with pytest.raises(AssertionError, match="the page says"):
        reader.type(Command(text="echo one", output=["two"], fails=False))
    with pytest.raises(AssertionError, match="exit code 2"):
        reader.type(Command(text="retinue nonsense", output=["…"], fails=False))
    with pytest.raises(AssertionError, match="exit code 0"):
        reader.type(Command(text="retinue version", output=["…"], fails=True))
    with pytest.raises(AssertionError, match="make nonsense"):
        reader.type(Command(text="make nonsense", output=[], fails=False))
