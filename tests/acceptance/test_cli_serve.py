"""The server as a person starts and stops it, and commands that find it."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.cli import RETINUE, environment, look, make_project, retinue, serving


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def test_commands_talk_to_the_server_that_runs(project: Path) -> None:
    with serving(project) as server:
        note = project / ".retinue" / "server.json"
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        assert json.loads(note.read_text())["url"] == server.url
        done = retinue("send", "helper", "hello", "--wait", project=project)
        assert (done.code, done.out) == (0, "You said: hello\n")
        assert (
            look("agents", "--json", project=project).json()["agents"][0]["definition"] == "helper"
        )
        piped = retinue("chat", "helper", project=project, stdin="again\n")
        assert piped.out == "You said: again\n"
        checked = look("doctor", project=project)
        assert f"running at {server.url}" in checked.out
        (project / "agents" / "odd.toml").write_text('model = "nobody:small"\n')
        for _ in range(20):  # the server looks at its files a few times a second
            checked = look("doctor", project=project)
            if checked.code:
                break
        assert checked.code == 1
        assert checked.out.count("there is no provider 'nobody'") == 1
        assert "scripted:script.json (used by" in checked.out
    assert not note.exists()
    assert look("history", "helper", project=project).out.count("You said") == 2


def test_an_empty_directory_gets_a_small_project_and_any_other_stays_as_it_is(
    tmp_path: Path,
) -> None:
    empty, used = tmp_path / "empty", tmp_path / "used"
    used.mkdir()
    (used / "notes.txt").write_text("mine")
    with serving(empty) as server:
        assert (empty / "retinue.toml").is_file()
        assert (empty / "agents" / "assistant.toml").is_file()
        server.process.send_signal(signal.SIGINT)
        server.process.wait(timeout=30)
        assert server.process.stderr is not None
        told = server.process.stderr.read()
        assert f"Created a project in {empty}: agents/assistant.toml, .gitignore" in told
    (empty / "retinue.toml").unlink()
    with serving(empty), serving(used):
        assert not (empty / "retinue.toml").exists()
        assert sorted(entry.name for entry in used.iterdir()) == [".retinue", "notes.txt"]


def test_an_interrupt_stops_the_server_in_order(project: Path) -> None:
    with serving(project) as server:
        sent = look("send", "helper", "slow", "--json", project=project).json()
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 0
        assert server.process.stderr is not None
        assert "Stopping" in server.process.stderr.read()
    # What was under way is not lost: it waits for the next start.
    assert "answered" not in look("why", sent["id"], project=project).out


def test_a_message_sent_without_a_server_is_answered_by_the_next_one(project: Path) -> None:
    message = look("send", "helper", "hello", "--json", project=project).json()
    with serving(project):
        deadline = time.monotonic() + 30
        found = {"fate": "", "reply": ""}
        while found["fate"] != "answered" and time.monotonic() < deadline:
            found = look("why", message["id"], "--json", project=project).json()
        assert found["reply"] == "You said: hello"


def test_a_second_server_is_refused_with_the_first_ones_address(project: Path) -> None:
    with serving(project) as server:
        done = retinue("serve", "--port", "0", project=project)
    assert done.code == 1
    assert server.url in done.err
    assert str(server.process.pid) in done.err


def test_a_taken_port_is_one_clear_line(project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = retinue("serve", "--port", port, project=project)
    assert done.code == 1
    assert f"port {port} on 127.0.0.1 is already in use" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_taken_port_leaves_an_empty_directory_as_it_was(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert retinue("serve", "--port", port, project=tmp_path).code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_data_directory_that_somebody_holds_is_refused_with_the_pid(project: Path) -> None:
    data = project / ".retinue"
    data.mkdir(mode=0o700)
    descriptor = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(descriptor, b"4242\n")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        for arguments in (("serve", "--port", "0"), ("agents",)):
            done = retinue(*arguments, project=project)
            assert done.code == 1
            assert "4242" in done.err
            assert "Traceback" not in done.err
    finally:
        os.close(descriptor)


def test_a_note_of_a_server_that_died_is_not_believed(project: Path) -> None:
    with serving(project) as server:
        server.process.kill()
        server.process.wait()
    assert (project / ".retinue" / "server.json").exists()
    assert look("agents", project=project).out.startswith("No agents yet")


def test_the_directory_is_made_and_problems_are_told(tmp_path: Path) -> None:
    project = tmp_path / "not" / "there" / "yet"
    with serving(project) as server:
        assert server.problems == []
        assert (project / ".retinue" / "retinue.db").exists()
    (project / "agents" / "broken.toml").write_text("name = \n")
    with serving(project) as server:
        assert [(p["file"], p["line"]) for p in server.problems] == [("agents/broken.toml", 1)]


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = look("serve", "--port", "0", project=tmp_path / "file")
    assert done.code == 1
    assert "is a file" in done.err


def test_listening_beyond_this_machine_needs_a_chosen_token(project: Path) -> None:
    done = look("serve", "--host", "0.0.0.0", "--port", "0", project=project)
    assert done.code == 1
    assert "RETINUE_SERVER__TOKEN" in done.err


def test_a_fresh_link_is_printed_while_the_server_runs(project: Path) -> None:
    with serving(project) as server:
        first = retinue("open", project=project).out.strip()
        second = look("open", project=project).out.strip()
        assert first.startswith(f"{server.url}/#login=")
        assert len({first, second, server.login}) == 3
    stopped = look("open", project=project)
    assert stopped.code == 1
    assert "retinue serve" in stopped.err


def test_history_is_followed_as_it_grows(project: Path) -> None:
    with serving(project):
        look("send", "helper", "first", "--wait", project=project)
        following = subprocess.Popen(
            [RETINUE, "history", "helper", "--follow", "--json", "--dir", str(project)],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert following.stdout is not None
        kinds = [json.loads(following.stdout.readline())["kind"] for _ in range(3)]
        assert kinds == ["start", "user", "assistant"]
        look("send", "helper", "second", "--wait", project=project)
        record = json.loads(following.stdout.readline())
        assert (record["kind"], record["text"]) == ("user", "second")
        following.send_signal(signal.SIGINT)
        following.communicate(timeout=30)
        assert following.returncode == 0


def test_a_damaged_database_is_rebuilt_from_the_folders(project: Path) -> None:
    look("send", "helper", "hello", "--wait", project=project)
    (project / ".retinue" / "retinue.db").write_bytes(b"not a database " * 500)
    with serving(project, "--rebuild"):
        done = look("history", "helper", project=project)
        assert "You said: hello" in done.out
    assert list((project / ".retinue").glob("retinue.db.damaged-*"))
