import time

import pytest

from retinue.tools.html_text import html_text


def test_a_page_becomes_readable_text() -> None:
    page = """<!doctype html><html><head><title>Tea &amp; more</title><style>p{}</style></head>
    <body><nav><a href="#top">Top</a></nav><h1>Tea</h1>
    <p>Green   tea is <b>good</b>, see <a href="/types?a=1&amp;b=2">all types</a>.</p>
    <!-- hidden --><script>alert("no")</script>
    <ul><li>one</li><li>two</li></ul>
    <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
    <pre>  keep
    this</pre><img src="x.png" alt="a cup"><p>5 &lt; 6</p></body></html>"""
    assert html_text(page, "https://example.org/tea") == (
        "Tea & more\n\nTop\n\n# Tea\n\n"
        "Green tea is good, see [all types](https://example.org/types?a=1&b=2).\n\n"
        "- one\n- two\n\n| a | b\n| 1 | 2\n\n  keep\n    this\n\n[image: a cup]\n5 < 6"
    )


@pytest.mark.parametrize("text", ["", "just words", "5 > 4", "<p>open", "a<b", "<p>x</p> tail"])
def test_odd_input_loses_nothing_that_can_be_kept(text: str) -> None:
    shown = html_text(text)
    for word in ("just words", "4", "open", "tail"):
        if word in text:
            assert word in shown


def test_code_and_comments_never_show() -> None:
    for page in ("<script>secret", "<style>secret</style >", "<!-- secret", "<svg>secret</svg>"):
        assert "secret" not in html_text(page + "<p>x</p>") or "secret" not in page


@pytest.mark.parametrize(
    "piece",
    [
        "<!",
        "<a ",
        "</",
        "&#",
        "<!--",
        "<script>",
        "<script ",
        "<",
        "<title",
        '<a "',
        "</a ",
        "<a<b>",
    ],
)
def test_hostile_pages_take_no_longer_than_their_length(piece: str) -> None:
    page = piece * (300_000 // len(piece))
    began = time.process_time()
    html_text(page)
    html_text(page + ">")
    assert time.process_time() - began < 5
