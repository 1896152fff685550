"""The command line as people and scripts meet it: real processes, one after the other."""

import json
import os
import resource
import sqlite3
import stat
import subprocess
import time
from pathlib import Path

import pytest

from retinue.cli.main import COMMANDS
from tests.acceptance.cli import RETINUE, environment, look, make_project, retinue, serving


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def cpu_seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([RETINUE, *arguments], env=environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_is_there_at_once() -> None:
    assert min(cpu_seconds("--help") for _ in range(3)) < 0.15


def test_help_names_every_command_of_the_contract() -> None:
    done = retinue("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert f"\n  {name} " in done.out
    assert retinue("help", "send").out == retinue("send", "--help").out


def test_a_mistyped_command_is_a_usage_error_with_a_hint() -> None:
    done = retinue("agnets")
    assert (done.code, done.out) == (2, "")
    assert (
        done.err
        == "retinue: unknown command 'agnets'. Did you mean 'agents'? See: retinue --help\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("send", "helper"), ("show",), ("agents", "--kind", "alien"), ("serve", "--port", "x")],
)
def test_wrong_usage_exits_with_two(arguments: tuple[str, ...]) -> None:
    done = look(*arguments)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_usage_error_is_json_when_json_was_asked_for() -> None:
    done = look("send", "helper", "--json")
    assert done.code == 2
    assert json.loads(done.err)["error"]["code"] == "usage"


def test_the_version_is_told() -> None:
    assert retinue("--version").out.startswith("retinue 0.")
    assert retinue("version", "--json").json()["version"]


# -- projects


def test_init_writes_a_project_that_loads_and_answers(tmp_path: Path) -> None:
    done = retinue("init", tmp_path / "new")
    assert done.code == 0
    assert "Model: offline" in done.out
    assert "created  .gitignore" in done.out
    checked = look("definitions", project=tmp_path / "new")
    assert (checked.code, checked.err) == (0, "")
    answer = retinue(
        "send", "assistant", 'call note_down {"text": "x"}', "--wait", "--dir", tmp_path / "new"
    )
    assert "Noted in /notes/" in answer.out


def test_init_keeps_what_is_there_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "retinue.toml").write_text('model = "openai:gpt-5"\n')
    done = retinue("init", tmp_path)
    assert "kept     retinue.toml" in done.out
    assert (tmp_path / "retinue.toml").read_text() == 'model = "openai:gpt-5"\n'
    again = look("init", tmp_path, "--json").json()
    assert again["written"] == []
    assert again["model"] == "openai:gpt-5"


def test_init_takes_a_model_and_finds_keys(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-secret"}
    done = retinue("init", tmp_path / "a", env=env)
    assert "ANTHROPIC_API_KEY is set" in done.out
    assert "sk-secret" not in done.out
    look("init", tmp_path / "b", "--model", "ollama:qwen3:8b")
    assert 'model = "ollama:qwen3:8b"' in (tmp_path / "b" / "retinue.toml").read_text()
    assert look("init", tmp_path / "c", "--model", "qwen").code == 1
    assert not (tmp_path / "c").exists()


def test_a_directory_that_is_no_project_is_refused_and_left_alone(tmp_path: Path) -> None:
    done = retinue("agents", project=tmp_path)
    assert done.code == 1
    assert "retinue init" in done.err
    assert list(tmp_path.iterdir()) == []
    assert "no directory" in look("agents", project=tmp_path / "missing").err


def test_the_project_comes_from_the_environment_or_is_here(project: Path) -> None:
    assert retinue("agents", env={"RETINUE_DIR": str(project)}).out.startswith("No agents yet")
    assert retinue("agents", cwd=project).out.startswith("No agents yet")
    assert look("--dir", project, "agents").out.startswith("No agents yet")


def test_wrong_settings_are_told_by_file_and_key_without_a_traceback(project: Path) -> None:
    (project / "retinue.toml").write_text("[server]\nport = 'eight'\n")
    done = retinue("agents", project=project)
    assert done.code == 1
    assert "retinue.toml: server.port: expected" in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in look("agents", "--debug", project=project).err
    failure = json.loads(look("agents", "--json", project=project).err)
    assert failure["error"]["code"] == "invalid"


# -- messages


def test_a_message_is_sent_waited_for_and_explained(project: Path) -> None:
    done = retinue("send", "helper", "-", "--wait", project=project, stdin="hello\nthere\n")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("You said: hello")
    agent = look("agents", "--json", project=project).json()["agents"][0]
    assert agent["descriptor"]["connector"] == "terminal"
    records = look("history", agent["id"][:8], "--json", project=project).json()["records"]
    assert [record["kind"] for record in records] == ["start", "user", "assistant"]
    last = look("history", agent["id"], "--limit", "1", "--json", project=project).json()
    assert [record["seq"] for record in last["records"]] == [3]
    after = look("history", agent["id"], "--after", "1", "--limit", "1", "--json", project=project)
    assert [record["seq"] for record in after.json()["records"]] == [2]
    why = look("why", records[1]["item"], project=project)
    assert "answered, in record 3" in why.out


def test_a_failed_message_fails_the_command_and_says_why(project: Path) -> None:
    done = retinue("send", "helper", "fail", "--wait", project=project)
    assert (done.code, done.out) == (1, "")
    assert "the key was refused" in done.err
    again = look("send", "helper", "fail", "--wait", "--json", project=project)
    assert again.code == 1
    assert again.json()["fate"] == "failed"


def test_without_a_server_a_message_waits_and_says_so(project: Path) -> None:
    done = retinue("send", "helper", "hello", "--key", "k", project=project)
    assert done.code == 0
    assert "No server is running" in done.err
    message = done.out.split()[0]
    again = look("send", "helper", "hello", "--key", "k", "--json", project=project).json()
    assert again["id"] == message
    assert "queued, nothing ahead of it" in look("why", message, project=project).out


def test_unknown_names_say_where_to_look(project: Path) -> None:
    for arguments, words in (
        (("send", "helpr", "hi"), "did you mean 'helper'?"),
        (("chat", "nobody"), "Available: helper"),
        (("show", "zzzzzz"), "retinue agents"),
        (("why", "m123"), "m123"),
        (("stop", "helper"), "no agent 'helper'"),
    ):
        done = look(*arguments, project=project)
        assert done.code == 1, arguments
        assert words in done.err
        assert "Traceback" not in done.err


def test_show_tells_who_it_is_and_what_it_used(project: Path) -> None:
    look("send", "helper", "hello", "--wait", project=project)
    done = retinue("show", "helper", project=project)
    assert "user / terminal /" in done.out
    assert "1 call, 10 in, 5 out" in done.out
    assert look("reset", "helper", project=project).out == "Conversation reset.\n"
    assert look("stop", "helper", "--json", project=project).json()["applied"] is False
    assert "Nothing to summarise" in look("compact", "helper", project=project).out
    assert look("terminate", "helper", project=project).out.startswith("Terminated.")
    assert "has ended" in look("reset", "helper", project=project).err


def test_a_pipe_gets_plain_answers_and_a_failure_shows_in_the_exit_code(project: Path) -> None:
    done = retinue("chat", "helper", project=project, stdin="one\n\n/nonsense\n")
    assert done.out == "You said: one\n"
    assert "Unknown command /nonsense" in done.err
    assert done.code == 1
    lines = retinue("chat", "helper", "--json", project=project, stdin="two\n").out.splitlines()
    assert [json.loads(line)["reply"] for line in lines] == ["You said: two"]


def test_answers_cannot_steer_the_terminal(project: Path) -> None:
    done = retinue("send", "helper", "\x1b]0;owned\x07hello", "--wait", project=project)
    assert "\x1b" not in done.out
    assert "\x1b" not in look("history", "helper", project=project).out


# -- definitions and doctor


def test_a_definition_that_does_not_load_is_told_by_file(project: Path) -> None:
    (project / "agents" / "broken.toml").write_text('name = "broken"\nmodel = \n')
    done = retinue("definitions", project=project)
    assert done.code == 1
    assert "error: agents/broken.toml:2" in done.out
    assert "helper" in done.out
    assert look("doctor", project=project).code == 1


def test_a_model_that_nobody_knows_is_told_before_it_is_used(project: Path) -> None:
    (project / "agents" / "odd.toml").write_text('model = "nobody:small"\n')
    done = retinue("definitions", project=project)
    assert done.code == 0
    assert "warning: agents/odd.toml: model: model 'nobody:small'" in done.out
    checked = look("doctor", project=project)
    assert checked.code == 1
    assert checked.out.count("there is no provider 'nobody'") == 1


def test_doctor_is_content_with_a_sound_project(project: Path) -> None:
    look("send", "helper", "hello", "--wait", project=project)
    done = retinue("doctor", "--json", project=project)
    findings = {finding["check"]: finding for finding in done.json()["findings"]}
    assert done.code == 0, done.out
    assert findings["store"]["state"] == "ok"
    assert findings["folders"]["state"] == "ok"
    assert findings["permissions"]["state"] == "ok"
    assert "scripted:script.json" in findings["models"]["text"]


def test_doctor_tells_what_is_wrong_and_never_a_secret(project: Path) -> None:
    (project / "retinue.toml").write_text(
        'modle = "x"\nmodel = "local:small"\n[providers.local]\nkind = "openai-compatible"\n'
        'base_url = "http://127.0.0.1:9/v1"\napi_key = "${secret:LOCAL_KEY}"\n'
        '[providers.other]\nkind = "openai"\napi_key = "sk-written-out"\n'
    )
    secrets = project / ".retinue" / "secrets"
    secrets.mkdir(parents=True)
    (secrets / "LOCAL_KEY").write_text("sk-in-a-file")
    (secrets / "LOCAL_KEY").chmod(0o644)
    done = retinue("doctor", project=project)
    assert done.code == 1
    assert "did you mean 'model'?" in done.out
    assert "LOCAL_KEY is set" in done.out
    assert "chmod" in done.out
    assert "sk-" not in done.out + done.err
    unset = retinue("doctor", project=project, env={"RETINUE_MODEL": "openai:gpt-5"})
    assert "OPENAI_API_KEY" in unset.out


# -- what can be wrong with the data


def test_a_damaged_database_offers_a_rebuild(project: Path) -> None:
    look("send", "helper", "hello", "--wait", project=project)
    database = project / ".retinue" / "retinue.db"
    database.write_bytes(b"not a database " * 500)
    for arguments in (("agents",), ("serve", "--port", "0")):
        done = retinue(*arguments, project=project)
        assert done.code == 1
        assert "retinue serve --rebuild" in done.err
        assert "Traceback" not in done.err
    checked = look("doctor", project=project)
    assert checked.code == 1
    assert "--rebuild" in checked.out


def test_data_of_a_newer_version_is_refused(project: Path) -> None:
    look("send", "helper", "hello", project=project)
    with sqlite3.connect(project / ".retinue" / "retinue.db") as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    done = look("agents", project=project)
    assert done.code == 1
    assert "newer Retinue" in done.err


def test_the_data_is_closed_to_others(project: Path) -> None:
    look("send", "helper", "hello", project=project)
    data = project / ".retinue"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "retinue.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((data / "token").stat().st_mode) == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_refused(project: Path) -> None:
    project.chmod(0o500)
    done = retinue("serve", "--port", "0", project=project)
    assert done.code == 1
    assert "cannot be written" in done.err


@pytest.mark.parametrize(
    "arguments", [("send", "helper", "bad \udcff text"), ("show", "\udcff"), ("why", "\udcff")]
)
def test_an_argument_that_is_not_utf_8_is_wrong_usage(
    project: Path, arguments: tuple[str, ...]
) -> None:
    done = look(*arguments, project=project)
    assert done.code == 2
    assert "is not valid UTF-8" in done.err


def test_piped_bytes_that_are_not_utf_8_are_marked(project: Path) -> None:
    done = subprocess.run(
        [RETINUE, "chat", "helper", "--dir", project],
        input=b"hi \xff\n",
        env=environment(),
        capture_output=True,
        timeout=40,
        check=False,
    )
    assert done.stdout.decode() == "You said: hi \ufffd\n"


def test_what_a_killed_server_left_is_not_called_running(project: Path) -> None:
    with serving(project) as server:
        sent = retinue("send", "helper", "slow one", "--json", project=project).json()
        deadline = time.monotonic() + 20
        while retinue("why", sent["id"], "--json", project=project).json()["fate"] != "running":
            assert time.monotonic() < deadline
        server.process.kill()
        server.process.wait()
    assert "interrupted" in look("agents", project=project).out
    assert "interrupted" in look("show", sent["agentId"], project=project).out
    assert "resumes when a server starts" in look("why", sent["id"], project=project).out


def test_a_directory_that_cannot_be_made_says_what_to_do() -> None:
    done = look("serve", "--dir", "/proc/foo")
    assert done.code == 1
    assert "--dir" in done.err
