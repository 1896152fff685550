"""What commands say: safe for a terminal, short, and true."""

import json
import logging
from datetime import UTC, datetime, timedelta

import pytest

from retinue.cli.chat.live_output import live_lines
from retinue.cli.error_report import describe
from retinue.cli.logs import HumanFormatter, JsonFormatter
from retinue.cli.main import COMMANDS, load, overview, split_command
from retinue.cli.message_timeline import timeline_of
from retinue.cli.output import one_line, safe
from retinue.cli.phrases import ago, arguments_line, descriptor_line, lasting, size
from retinue.cli.transcript import RunningTool, StreamedPart, Transcript
from retinue.errors import DefinitionError, UsageError
from retinue.events import ItemView, WaitView
from retinue.server.wire import MessageAnswer

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[2Jgone", "[2Jgone"),
        ("\x1b]0;title\x07", "]0;title"),
        ("bell\x07\x08\x00", "bell"),
        ("c1\x9b31m", "c131m"),
        ("line\r\nnext\rover", "line\nnextover"),
        ("abc\u202edef\u2066", "abcdef"),
        ("naïve 日本 👩‍🚀", "naïve 日本 👩‍🚀"),
    ],
)
def test_nothing_in_a_text_can_steer_the_terminal(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_a_long_text_is_folded_to_one_line_with_an_ellipsis() -> None:
    assert one_line("a\n\n b  c", 20) == "a b c"
    assert one_line("word " * 50, 12) == "word word w…"
    assert len(one_line("x" * 10_000, 40)) == 40


def test_every_command_of_the_overview_exists_and_fits_sixty_columns() -> None:
    for name in COMMANDS:
        assert callable(load(name))
    assert max(len(line) for line in overview().splitlines()) <= 60


def test_shared_options_may_come_before_the_command() -> None:
    arguments = ["--dir", "x", "--json", "agents", "--kind", "user"]
    assert split_command(arguments) == ("agents", ["--dir", "x", "--json", "--kind", "user"])
    assert split_command(["--dir=x"]) == (None, ["--dir=x"])
    assert split_command(["--help"]) == ("--help", [])


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (0.4, "0.4 s"),
        (12, "12 s"),
        (90, "1 min"),
        (7200, "2 h"),
        (86400 * 3, "3 days"),
        (-5, "0.0 s"),
    ],
)
def test_a_duration_is_told_in_one_unit(span: float, words: str) -> None:
    assert lasting(timedelta(seconds=span)) == words


def test_what_just_happened_is_now() -> None:
    assert ago(NOW, NOW + timedelta(seconds=3)) == "now"
    assert ago(NOW, NOW + timedelta(minutes=5)) == "5 min ago"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (25_000_000, "25 MB")]
)
def test_sizes_are_told_in_a_fitting_unit(count: int, words: str) -> None:
    assert size(count) == words


def test_a_descriptor_is_one_line_of_who_it_stands_for() -> None:
    chat = {"type": "user", "connector": "terminal", "userId": "ada", "channelId": "helper"}
    assert descriptor_line(chat) == "user / terminal / ada / helper"
    assert descriptor_line({"type": "heartbeat"}) == "heartbeat"
    assert descriptor_line({"type": "of the future", "x": 1}) == "of the future"


def test_arguments_are_cut_to_a_line() -> None:
    assert arguments_line({"path": "a.md", "n": 1}, 80) == 'path="a.md", n=1'
    assert len(arguments_line({"text": "x" * 5000, "more": "y" * 5000}, 60)) <= 60


def message(fate: str, **fields: object) -> MessageAnswer:
    values: dict[str, object] = {
        "id": "m1",
        "agent_id": "a1",
        "seq": 3,
        "kind": "message",
        "text": "hello",
        "at": NOW,
        "sender": {"type": "user", "id": "local", "connector": "terminal"},
        **fields,
    }
    return MessageAnswer(fate=fate, **values)  # pyright: ignore[reportArgumentType]


def test_the_life_of_a_queued_message_tells_its_place() -> None:
    lines = "\n".join(timeline_of(message("queued", position=2), NOW))
    assert "queued, 2 messages ahead of it" in lines
    assert "from user local via terminal, number 3 in the inbox (now)" in lines


def test_the_life_of_a_message_that_a_stopped_server_left_says_that_nobody_works_on_it() -> None:
    lines = "\n".join(timeline_of(message("running"), NOW, is_working=False))
    assert "interrupted" in lines and "resumes when a server starts" in lines


def test_the_life_of_a_retried_message_tells_the_next_try() -> None:
    lines = "\n".join(
        timeline_of(message("running", waiting_until=NOW + timedelta(seconds=8)), NOW)
    )
    assert "next retry at" in lines


def test_the_life_of_a_waiting_message_tells_who_works_on_it_and_how_long() -> None:
    until = NOW + timedelta(minutes=5)
    wait = WaitView(call="c", reason="child", agent_id="a2", item_id="m2", until=until)
    lines = timeline_of(message("waiting", reason="child", waits=[wait]), NOW)
    assert lines[-1].startswith("now       waiting for agent a2 (message m2) until ")


def test_the_life_of_an_answered_message_ends_with_the_answer() -> None:
    ended = NOW + timedelta(seconds=2)
    lines = timeline_of(message("answered", ended_at=ended, reply_seq=7, reply="Hi!"), ended)
    assert lines[-2].endswith("answered, in record 7, after 2.0 s")
    assert lines[-1] == "  “Hi!”"


def test_the_life_of_a_failed_message_ends_with_the_reason_once() -> None:
    lines = timeline_of(message("failed", ended_at=NOW, reason="no key", reply="no key"), NOW)
    assert sum("no key" in line for line in lines) == 1


def test_errors_say_what_to_do_and_never_where_in_the_code() -> None:
    assert describe(UsageError("give a name"))[:2] == ("invalid", "give a name")
    problem = DefinitionError("expected text", file="agents/a.toml", line=3)
    assert describe(problem)[1] == "agents/a.toml:3: expected text"
    full = OSError(28, "No space left on device", "/data/x")
    assert describe(full)[1] == "/data/x: the disk is full: free some space and try again"
    assert "--debug" in describe(ValueError("boom"))[1]


def lines(transcript: Transcript, *, width: int = 40, rows: int = 10) -> list[str]:
    found = live_lines(transcript, now=NOW, seconds=0, width=width, rows=rows)
    return [text for _, text in found]


def test_a_resting_conversation_shows_nothing_above_the_prompt() -> None:
    assert lines(Transcript()) == []


def test_a_long_stream_shows_its_end_and_fits_the_screen() -> None:
    text = " ".join(f"word{number}" for number in range(200))
    transcript = Transcript(parts={0: StreamedPart(kind="text", text=text)})
    found = lines(transcript, width=30, rows=5)
    assert len(found) == 5
    assert all(len(line) <= 30 for line in found)
    assert found[-1].rstrip().endswith("word199")


def test_tools_queue_and_retry_are_shown_below_the_stream() -> None:
    queued = ItemView(
        id="m2",
        agent_id="a",
        seq=2,
        kind="message",
        text="and then",
        fate="queued",
        at=NOW,
        sender={},
    )
    transcript = Transcript(
        tools={"c": RunningTool(line="shell(command=\x1b[31mls)", is_started=True)},
        items={"m2": queued},
        retry_at=NOW + timedelta(seconds=4),
        status="waiting",
    )
    assert lines(transcript) == [
        "⠋ shell(command=[31mls)",
        "⋯ queued 1: and then",
        "↻ model call failed, retrying in 4 s",
    ]


def log_record(message: str, **facts: object) -> logging.LogRecord:
    record = logging.makeLogRecord({"msg": message, "levelno": logging.WARNING, **facts})
    record.levelname, record.name = "WARNING", "retinue.engine.turn.model_call"
    return record


def test_a_log_line_for_people_tells_each_fact_once() -> None:
    record = log_record("no key for local:small", model="local:small", attempt=2, line=None)
    line = HumanFormatter(is_coloured=False).format(record)
    assert line[9:] == "warning engine.turn.model_call: no key for local:small attempt=2"


def test_a_log_line_cannot_forge_another_one_or_steer_the_terminal() -> None:
    line = HumanFormatter(is_coloured=False).format(
        log_record("bad", text="x\n12:00:00 info \x1b[2J")
    )
    assert "\n" not in line
    assert "\x1b" not in line


def test_a_log_line_for_machines_is_json_with_every_fact() -> None:
    line = json.loads(JsonFormatter().format(log_record("failed", agent_id="a1", error="x\ny")))
    assert (line["level"], line["message"], line["agent_id"]) == ("warning", "failed", "a1")
    assert line["error"] == "x\ny"
