"""`retinue chat` at a real terminal: typing, streaming, interrupting, leaving."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli import RETINUE, environment, look, make_project, retinue
from tests.acceptance.terminal import CTRL_C, TAB, Terminal


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "project")
    # The built-in model streams at the pace of a person who reads.
    (project / "agents" / "offline.toml").write_text(
        'name = "offline"\ndisplayName = "Offline"\ndescription = "No key."\nmodel = "offline"\n'
    )
    return project


@pytest.fixture
def chat(project: Path) -> Iterator[Terminal]:
    terminal = Terminal(str(RETINUE), "chat", "offline", "--dir", str(project), env=environment())
    yield terminal
    terminal.close()


def test_an_answer_streams_is_interrupted_and_the_chat_goes_on(
    chat: Terminal, project: Path
) -> None:
    chat.expect("New conversation")
    chat.type("count to 500\r")
    chat.expect("1, 2, 3")
    chat.type(CTRL_C)
    chat.expect("Stopped")
    chat.type("what time is it\r")
    chat.expect(r"✓ time\(\)")
    chat.expect("time returned: ")
    assert chat.leave() == 0
    records = retinue("history", "offline", "--json", project=project).json()["records"]
    kinds = [record["kind"] for record in records]
    assert kinds == ["start", "user", "assistant", "note", "user", "assistant", "tool", "assistant"]
    assert records[2]["finish"] == "cancelled"


def test_one_can_type_while_it_answers_and_two_interrupts_leave(chat: Terminal) -> None:
    chat.expect("New conversation")
    chat.type("count to 300\r")
    chat.expect("1, 2, 3")
    chat.type("what time is it\r")
    chat.expect("queued 1: what time is it")
    chat.type(CTRL_C)
    chat.expect("Stopped")
    chat.expect("time returned: ")
    chat.rest()
    chat.type(CTRL_C)
    chat.rest()
    assert chat.process.poll() is None
    chat.type(CTRL_C)
    assert chat.wait() == 0


def test_commands_are_completed_and_unknown_ones_answered(chat: Terminal) -> None:
    chat.expect("New conversation")
    chat.type("/swi")
    chat.expect("switch to another conversation")
    chat.type(TAB + " hel")
    chat.expect("helper")
    chat.type(CTRL_C + "/nonsense\r")
    chat.expect("Unknown command /nonsense")
    chat.type("/new helper\r")
    chat.expect("helper · ")
    chat.type("note it\r")
    chat.expect("A note, then")
    chat.expect(r"✓ files_write\(")
    chat.expect("Noted.")
    chat.type("/quit\r")
    assert chat.wait() == 0
    assert "Traceback" not in chat.raw


def test_typed_bytes_that_are_not_utf_8_do_not_end_the_chat(chat: Terminal) -> None:
    chat.expect("/help for a list")
    chat.type("what is \udcff\r")
    chat.expect("what is \ufffd")
    chat.type("what time is it in Tokyo\r")
    chat.expect("Asia/Tokyo")
    assert chat.leave() == 0


def test_a_person_who_is_switched_is_taken_along_and_goes_back(
    chat: Terminal, project: Path
) -> None:
    chat.expect("New conversation")
    chat.type("switch to helper\r")
    chat.expect("Switched to helper")
    chat.expect("─ helper · ")
    chat.type("dear diary\r")
    chat.expect("You said: ")
    chat.type("/back\r")
    chat.expect("─ offline · ")
    chat.expect("dear diary")
    chat.type("/back\r")
    chat.expect("No agent switched you here")
    assert chat.leave() == 0
    assert "Traceback" not in chat.raw
    again = look("back", "offline", "--json", project=project).json()
    assert again["applied"] is False


def test_lines_of_a_pipe_follow_the_person_who_is_switched(project: Path) -> None:
    lines = ["switch to helper", "note milk", "/back", "help"]
    done = retinue("chat", "offline", project=project, stdin="\n".join(lines))
    switched, _, rest = done.out.partition("Switched to helper.")
    assert switched == "You are now talking to `helper`.\n"
    assert rest.index("You said: ") < rest.index("I am the **offline model**")
