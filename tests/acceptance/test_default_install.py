"""Without extras everything runs but provider models and MCP servers, which name theirs."""

import subprocess
from pathlib import Path

import pytest

from tests.acceptance.cli import Done, environment, serving
from tests.support.default_install import WHEEL_URL, make_default_install

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_default_install(tmp_path_factory.mktemp("default") / "environment")


@pytest.fixture
def project(script: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    assert run(script, "init", folder).code == 0
    return folder


def run(script: Path, *arguments: str | Path) -> Done:
    done = subprocess.run(
        [script, *arguments],
        env=environment({**KEYS, "COLUMNS": "300"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
        cwd="/",
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def use_model(project: Path, model: str, *, more: str = "") -> None:
    (project / "retinue.toml").write_text(f'model = "{model}"\n{more}')


def advice(extra: str, used_for: str) -> str:
    command = f"uv tool install 'retinue[{extra}] @ {WHEEL_URL}'"
    return f"support for {used_for} is not installed. Run: {command}"


def test_a_project_is_checked_and_answers_without_extras(script: Path, project: Path) -> None:
    assert run(script, "doctor", "--dir", project).code == 0
    sent = run(script, "send", "assistant", "write milk to list.txt", "--wait", "--dir", project)
    assert sent.code == 0, sent.err
    assert "list.txt" in sent.out


def test_the_server_answers_without_extras(script: Path, project: Path) -> None:
    with serving(project, script=script) as server:
        assert server.problems == []
        sent = run(
            script, "send", "assistant", "write milk to list.txt", "--wait", "--dir", project
        )
    assert sent.code == 0, sent.err
    assert "list.txt" in sent.out


@pytest.mark.parametrize(
    ("model", "extra", "used_for"),
    [
        ("openai:gpt-5", "openai", "OpenAI"),
        ("anthropic:claude-sonnet-5", "anthropic", "Anthropic"),
        ("google:gemini-3-pro", "google", "Google"),
        ("ollama:qwen4", "openai", "Ollama"),
        ("local:small", "openai", "OpenAI-compatible servers"),
    ],
)
def test_doctor_names_the_extra_that_a_model_needs(
    script: Path, project: Path, model: str, extra: str, used_for: str
) -> None:
    local = '[providers.local]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n'
    use_model(project, model, more=local)
    checked = run(script, "doctor", "--dir", project)
    assert checked.code == 1
    assert f"model '{model}': {advice(extra, used_for)}" in checked.out


def test_a_message_to_a_model_that_is_not_installed_fails_with_the_command(
    script: Path, project: Path
) -> None:
    use_model(project, "openai:gpt-5")
    sent = run(script, "send", "assistant", "hello", "--wait", "--dir", project)
    assert sent.code != 0
    assert advice("openai", "OpenAI") in sent.out + sent.err


def test_the_server_reports_a_definition_whose_model_is_not_installed(
    script: Path, project: Path
) -> None:
    (project / "agents" / "poet.toml").write_text(
        'name = "poet"\ndescription = "Writes."\nsystemPrompt = "Write."\n'
        'model = "anthropic:claude-sonnet-5"\n'
    )
    with serving(project, script=script) as server:
        problems = [problem["message"] for problem in server.problems]
        sent = run(script, "send", "poet", "hello", "--wait", "--dir", project)
    assert problems == [f"model 'anthropic:claude-sonnet-5': {advice('anthropic', 'Anthropic')}"]
    assert sent.code != 0
    assert advice("anthropic", "Anthropic") in sent.out + sent.err


def test_doctor_names_the_extra_that_mcp_servers_need(script: Path, project: Path) -> None:
    use_model(project, "offline", more='[mcp.everything]\ncommand = "true"\n')
    checked = run(script, "doctor", "--dir", project)
    assert advice("mcp", "MCP servers") in checked.out
    assert "Traceback" not in checked.err
