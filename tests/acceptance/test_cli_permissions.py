"""What agents ask, decided in a terminal, through a pipe and by commands."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli import RETINUE, environment, look, make_project, retinue, serving
from tests.acceptance.terminal import Terminal

NETWORK = "request network to look it up"
QUESTION = "ask me which size I wear"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "project")
    for name, more in (("asker", ""), ("careful", 'toolApprovals = ["files_write"]\n')):
        (project / "agents" / f"{name}.toml").write_text(
            f'name = "{name}"\ndescription = "Asks."\nmodel = "offline"\n{more}'
        )
    return project


@pytest.fixture
def served(project: Path) -> Iterator[Path]:
    with serving(project):
        yield project


def asked(project: Path, agent: str, text: str) -> dict[str, Any]:
    """Say something that makes the agent ask, and give what it asks."""
    look("send", agent, text, project=project)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = look("permissions", "--json", project=project).json()["requests"]
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("nothing was asked")


def last_words(project: Path, agent: str) -> str:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        records = look("history", agent, "--json", project=project).json()["records"]
        if records[-1]["kind"] == "assistant" and records[-2]["kind"] == "tool":
            return str(records[-2]["text"])
        time.sleep(0.05)
    raise AssertionError("it did not go on")


def terminal(project: Path, agent: str) -> Terminal:
    return Terminal(str(RETINUE), "chat", agent, "--dir", str(project), env=environment())


# -- commands


def test_whoever_waits_for_an_answer_is_told_that_they_are_asked_something(project: Path) -> None:
    """Without a server nobody could decide while the command holds the data, so it ends."""
    done = retinue("send", "asker", NETWORK, "--wait", project=project)
    assert done.code == 1
    (request,) = look("permissions", "--json", project=project).json()["requests"]
    assert f"Waiting for your approval. See: retinue permissions {request['id']}" in done.err
    assert look("allow", request["id"], project=project).code == 0
    with serving(project):
        assert "Granted" in last_words(project, "asker")


def test_a_permission_is_listed_shown_whole_and_allowed_once(served: Path) -> None:
    assert "No pending requests" in look("permissions", project=served).out
    request = asked(served, "asker", NETWORK)
    listed = look("permissions", project=served).out
    assert request["id"] in listed
    assert "wants to access the network" in listed
    shown = look("permissions", request["id"], project=served).out
    assert "│ @network" in shown
    assert "│ look it up" in shown
    allowed = look("allow", request["id"][-8:], "--note", "only today", project=served)
    assert (allowed.code, allowed.out.split(":")[0]) == (0, "allowed")
    assert "They said: only today" in last_words(served, "asker")
    again = look("deny", request["id"], project=served)
    assert again.code != 0
    assert "allowed" in again.err
    assert "allowed" in look("permissions", "--all", project=served).out


def test_an_approval_is_denied_with_words_and_nothing_is_written(served: Path) -> None:
    request = asked(served, "careful", "write hello to notes.txt")
    assert "notes.txt" in look("permissions", request["id"], project=served).out
    assert look("deny", request["id"], "--note", "not there", project=served).code == 0
    said = last_words(served, "careful")
    assert "was not run" in said
    assert "They said: not there" in said
    assert "notes.txt" not in look("show", "careful", project=served).out


def test_a_question_is_answered_field_by_field_and_wrong_answers_are_named(served: Path) -> None:
    request = asked(served, "asker", QUESTION)
    (name,) = [field["name"] for field in request["fields"]]
    wrong = look("answer", request["id"], "shoe=44", project=served)
    assert wrong.code != 0
    assert f"no field 'shoe'. Available: {name}" in wrong.err
    assert "expected field=value" in look("answer", request["id"], "44", project=served).err
    done = look("answer", request["id"], f"{name}=44", "--json", project=served)
    assert done.json()["status"] == "answered"
    assert "44" in last_words(served, "asker")


@pytest.mark.parametrize("verb", ["allow", "deny", "permissions"])
def test_what_nobody_asked_cannot_be_decided(project: Path, verb: str) -> None:
    done = look(verb, "nonsense", project=project)
    assert done.code != 0
    assert "no request 'nonsense'. See: retinue permissions" in done.err


def test_without_a_server_a_decision_waits_for_the_next_start(project: Path) -> None:
    first = retinue("chat", "asker", project=project, stdin=f"{NETWORK}\n")
    assert first.code == 1
    assert "1 message not answered yet" in first.err
    (found,) = look("permissions", "--json", project=project).json()["requests"]
    assert f"retinue allow|deny {found['id']}" in first.out
    assert look("allow", found["id"], project=project).code == 0
    with serving(project):
        assert "Granted" in last_words(project, "asker")


# -- a pipe


def test_a_pipe_is_shown_what_is_asked_and_its_next_line_decides(project: Path) -> None:
    done = retinue("chat", "asker", project=project, stdin=f"{NETWORK}\ny\nwhat time is it\n")
    assert done.code == 0, done.err
    card, _, rest = done.out.partition("y to allow")
    assert re.search(r"Permission \S+\n", card)
    assert "│ look it up" in card
    assert "allowed: wants to access the network" in rest
    assert rest.index("Granted") < rest.index("`time` returned")


def test_a_pipe_denies_with_words_and_a_message_is_no_decision(project: Path) -> None:
    lines = ["write hello to notes.txt", "hello there", "n too early"]
    done = retinue("chat", "careful", project=project, stdin="\n".join(lines))
    assert '"content": "hello"' in done.out
    assert "denied: wants to run files_write" in done.out
    assert "notes.txt  " not in look("show", "careful", project=project).out
    pending = look("permissions", "--json", project=project).json()["requests"]
    assert pending == []


def test_a_pipe_fills_in_a_form_and_is_asked_again_for_what_is_missing(project: Path) -> None:
    done = retinue("chat", "asker", project=project, stdin=f"{QUESTION}\n-\n44\n")
    assert done.code == 0, done.err
    assert "Answer field by field" in done.out
    assert "Try again: answer" in done.out
    assert '{"answer": "44"}' in done.out


def test_a_program_gets_requests_as_json_lines(project: Path) -> None:
    done = retinue("chat", "asker", "--json", project=project, stdin=f"{NETWORK}\n/deny no\n")
    request, notice, message = (line for line in done.out.splitlines())
    assert '"permission":"@network"' in request
    assert "denied" in notice
    assert '"fate":"answered"' in message


def test_a_pipe_waits_for_a_decision_made_elsewhere(served: Path) -> None:
    pipe = Terminal(
        "sh",
        "-c",
        f"echo '{NETWORK}' | '{RETINUE}' chat asker --dir '{served}'",
        env=environment(),
    )
    try:
        request = pipe.expect(r"retinue allow\|deny \S+").split()[-1]
        assert look("allow", request, project=served).code == 0
        pipe.expect("Granted")
        assert pipe.wait() == 0
    finally:
        pipe.close()


# -- a terminal


def test_a_person_says_y_and_the_agent_goes_on(project: Path) -> None:
    chat = terminal(project, "asker")
    try:
        chat.expect("New conversation")
        chat.type(NETWORK + "\r")
        chat.expect("wants to access the network")
        chat.expect("y to allow or n to deny")
        chat.type("y\r")
        chat.expect("allowed: wants to access")
        chat.expect("Granted: you now have @network")
        chat.type(QUESTION + "\r")
        chat.expect("Answer field by field")
        chat.type("44\r")
        chat.expect("answered: ")
        chat.expect('"44"')
        assert chat.leave() == 0
        assert "Traceback" not in chat.raw
        assert "permission allowed" not in chat.raw  # what was decided here is said once
    finally:
        chat.close()


def test_a_person_denies_with_words_and_leaves_another_open(project: Path) -> None:
    chat = terminal(project, "careful")
    try:
        chat.expect("New conversation")
        chat.type("write hello to notes.txt\r")
        chat.expect("wants to run files_write")
        chat.expect('"content": "hello"')
        chat.expect("y to allow")
        chat.type("n not yet\r")
        chat.expect("They said: not yet")
        chat.type("write more to notes.txt\r")
        chat.expect("y to allow")
        chat.type("/later\r")
        chat.expect("stays pending")
        assert chat.leave() == 0
    finally:
        chat.close()
    (left,) = look("permissions", "--json", project=project).json()["requests"]
    assert '"content": "more"' in left["arguments"]


def test_a_terminal_hears_of_what_was_decided_elsewhere(served: Path) -> None:
    chat = terminal(served, "asker")
    try:
        chat.expect("New conversation")
        chat.type(NETWORK + "\r")
        chat.expect("y to allow")
        (request,) = look("permissions", "--json", project=served).json()["requests"]
        assert look("deny", request["id"], "--note", "too late", project=served).code == 0
        chat.expect("permission denied .*: too late")
        assert chat.leave() == 0
    finally:
        chat.close()


def test_what_an_asked_agent_asks_is_decided_in_the_caller_s_chat(project: Path) -> None:
    chat = terminal(project, "careful")
    try:
        chat.expect("New conversation")
        chat.type(f"ask asker to {NETWORK}\r")
        chat.expect("of asker")
        chat.expect("wants to access the network")
        chat.type("y\r")
        chat.expect("allowed: ")
        chat.expect(r"✓ agents_message\(")
        chat.expect("Granted")
        assert chat.leave() == 0
    finally:
        chat.close()
