"""`retinue show --context`, with a server and without."""

from pathlib import Path

import pytest

from tests.acceptance.cli import look, make_project, retinue, serving

LINE = '<context panel-id="p1" panel-type="artifacts" type="list" id="l1" name="Groceries" />'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def test_the_context_is_the_same_with_a_server_and_without(project: Path) -> None:
    sent = retinue("send", "helper", f"{LINE}\nhello", "--wait", "--json", project=project).json()
    agent = sent["agentId"]
    alone = look("show", agent, "--context", "--json", project=project).json()
    with serving(project):
        served = look("show", agent, "--context", "--json", project=project).json()
        text = look("show", agent, "--context", project=project).out
        history = look("history", agent, project=project).out
    assert served == alone
    assert alone["messages"][0]["parts"][0]["text"] == f"{LINE}\nhello"
    assert alone["tokens"]["system"] > 0
    assert "── system: base" in text
    assert LINE in text
    assert "compacts at" in text
    assert "<context" not in history.partition("You said:")[0]
    assert "with context" in history
