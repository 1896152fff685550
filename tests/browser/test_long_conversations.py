"""Conversations with thousands of records: opening, scrolling, search and rendering cost."""

import json
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, cast

import pytest
from playwright.sync_api import expect

from tests.browser.server_process import RETINUE, ServerProcess, make_project
from tests.browser.window import Window

AGENT = "longconversation00000000"
TURNS = 1_250
"""Each is four records: a message, a call, its result, an answer."""

Visit = Callable[..., Window]


def _records() -> Iterator[dict[str, Any]]:
    yield {"kind": "start"}
    for turn in range(TURNS):
        said = f"question {turn} " + "with more words " * (turn % 7)
        call = {
            "type": "call",
            "id": f"c{turn}",
            "name": "weigh",
            "arguments": {"thing": f"{turn}"},
        }
        answer = (
            f"Answer **{turn}**.\n\n" + "- a point\n" * (turn % 5) + "\n" + "Words. " * (turn % 90)
        )
        yield {"kind": "user", "item": f"m{turn:032x}", "text": said}
        yield {"kind": "assistant", "model": "offline", "parts": [call]}
        yield {
            "kind": "tool",
            "call": f"c{turn}",
            "name": "weigh",
            "status": "ok",
            "text": f"weighed {turn} " + "x" * 2_000,
            "durationMs": 12,
        }
        yield {"kind": "assistant", "model": "offline", "parts": [{"type": "text", "text": answer}]}


def _archive(file: Path) -> None:
    at = "2026-11-16T08:00:00Z"
    lines = [
        json.dumps({**record, "v": 1, "seq": seq, "at": at})
        for seq, record in enumerate(_records(), 1)
    ]
    state: dict[str, Any] = {
        "id": AGENT, "owner": "local", "definition": "assistant", "lifecycle": "active",
        "name": "A long one", "contextFrom": len(lines), "records": len(lines), "inbox": [],
        "ended": [], "outbox": [], "requests": [], "settled": 0, "v": 1, "cursor": 1,
        "createdAt": at, "updatedAt": at,
    }  # fmt: skip
    who = {"type": "user", "connector": "web", "userId": "local", "channelId": AGENT}
    files = {
        "manifest.json": json.dumps({"agents": [AGENT], "v": 1}),
        f"agents/{AGENT}/descriptor.json": json.dumps(who),
        f"agents/{AGENT}/state.json": json.dumps(state),
        f"agents/{AGENT}/history.jsonl": "\n".join(lines) + "\n",
    }
    with tarfile.open(file, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, BytesIO(text.encode()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    project = make_project(tmp_path_factory.mktemp("long"), [{"reply": {"text": "Hm."}}])
    _archive(project / "long.tar.gz")
    subprocess.run([RETINUE, "import", project / "long.tar.gz", "--dir", project], check=True)
    server = ServerProcess(project)
    server.start()
    yield server
    server.close()


def rows(window: Window) -> int:
    return window.log.locator("[data-key]").count()


def places(window: Window) -> dict[str, float]:
    """The vertical positions of the rendered rows."""
    return dict(
        window.page.evaluate(
            "[...document.querySelectorAll('[role=log] [data-key]')].map(row =>"
            " [row.dataset.key, row.getBoundingClientRect().top])"
        )
    )


def test_five_thousand_records_open_at_their_end_and_only_a_few_are_on_the_page(
    visit: Visit,
) -> None:
    window = visit(f"/#/c/{AGENT}")
    expect(window.answers().last).to_contain_text(f"Answer {TURNS - 1}.")
    expect(window.answers().last).to_be_in_viewport()
    assert rows(window) <= 60
    assert window.log.get_by_text("xxxx").count() == 0
    assert window.trouble == []


def test_all_of_it_is_found_by_its_words_and_nothing_jumps_while_it_loads(visit: Visit) -> None:
    window = visit(f"/#/c/{AGENT}")
    expect(window.answers().last).to_contain_text(f"Answer {TURNS - 1}.")
    window.page.keyboard.press("Control+f")
    field = window.page.get_by_role("searchbox", name="Find in conversation")
    expect(field).to_be_focused()
    field.fill("question 3 with")
    search = window.page.get_by_role("search", name="Find in conversation")
    expect(search.get_by_role("status")).to_have_text("1 of 1")
    expect(window.bubbles().filter(has_text="question 3 with").first).to_be_in_viewport()
    assert rows(window) < 80
    place = window.bubbles().filter(has_text="question 3 with").bounding_box()
    assert place is not None and 100 < place["y"] < 600
    field.fill("Answer 1249")
    expect(search.get_by_role("status")).to_have_text("1 of 1")
    expect(window.answers().last).to_be_in_viewport()
    field.press("Escape")
    expect(search).to_have_count(0)
    expect(window.log).to_be_focused()
    assert window.trouble == []


def test_what_is_read_stays_where_it_is_while_older_messages_come(visit: Visit) -> None:
    window = visit(f"/#/c/{AGENT}")
    expect(window.answers().last).to_be_in_viewport()
    window.log.hover()
    seen: set[str] = set()
    jumps: list[float] = []
    for _ in range(25):
        before = places(window)
        window.page.mouse.wheel(0, -900)
        window.page.wait_for_timeout(30)
        after = places(window)
        moved = [after[key] - top for key, top in before.items() if key in after and 0 < top < 700]
        if moved:
            jumps.append(max(moved) - min(moved))
        seen.update(after)
        assert len(after) < 80
    assert len(seen) > 90
    assert max(jumps) < 2, jumps


def test_a_card_that_was_opened_is_open_when_it_comes_back_into_sight(visit: Visit) -> None:
    window = visit(f"/#/c/{AGENT}")
    card = window.call("weigh")
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("xxxx")
    window.log.press("Home")
    expect(window.log.get_by_text("xxxx")).to_have_count(0)
    window.page.get_by_role("button", name="Jump to latest").click()
    expect(window.call("weigh")).to_contain_text("xxxx")


def test_what_is_selected_stays_on_the_page_and_can_be_copied(visit: Visit) -> None:
    window = visit(f"/#/c/{AGENT}")
    expect(window.answers().last).to_be_in_viewport()
    window.bubbles().last.locator("p").first.click(click_count=3)
    window.log.hover()
    for _ in range(8):
        window.page.mouse.wheel(0, -1500)
        window.page.wait_for_timeout(20)
    expect(window.bubbles().last).not_to_be_in_viewport()
    copied = window.page.evaluate("document.getSelection().toString()")
    assert copied.startswith(f"question {TURNS - 1}")


def _answer() -> str:
    """About 60 kB of Markdown in long blocks of every kind."""
    prose = "\n\n".join(f"Paragraph {n} with **bold** and `code` words. " * 6 for n in range(60))
    points = "\n".join(f"- point {n} with a [link](https://example.com/{n})" for n in range(200))
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | value {n} |" for n in range(150))
    code = "```python\n" + "\n".join(f"value_{n} = compute({n})" for n in range(500)) + "\n```"
    return "\n\n".join([prose, points, table, code, prose])


def test_a_long_answer_costs_little_in_each_frame(
    visit: Visit, record_property: Callable[[str, object], None]
) -> None:
    window = visit("/")
    window.page.add_init_script(path=Path(__file__).with_name("stream_text.js"))
    window.page.goto(f"{window.page.url.split('#')[0]}#/c/{AGENT}")
    window.page.reload()
    expect(window.answers().last).to_be_in_viewport()
    browser = cast(Browser, window.page.context.new_cdp_session(window.page))
    browser.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = _work_ms(browser)
    frames = window.page.evaluate("([agent, text]) => speak(agent, text, 400)", [AGENT, _answer()])
    cost = (_work_ms(browser) - before) / frames
    record_property("frame_ms", round(cost, 2))
    assert cost < 16, f"{cost:.1f} ms of script, style and layout in each of {frames} frames"
    assert window.trouble == []


class Browser(Protocol):
    """The part of a CDP session used here."""

    def send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]: ...


def _work_ms(browser: Browser) -> float:
    """The CPU time that the page has used so far."""
    found: list[dict[str, Any]] = browser.send("Performance.getMetrics")["metrics"]
    seconds: dict[str, float] = {metric["name"]: metric["value"] for metric in found}
    return 1000 * sum(
        seconds[name] for name in ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    )
