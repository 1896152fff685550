"""Agents leave in one file and come back whole."""

import tarfile
from pathlib import Path

import pytest

from retinue.assembly import App
from tests.acceptance.cli import look, make_project, retinue, serving

importing = pytest.mark.skipif(
    not hasattr(App, "import_agents"), reason="the composition root offers no import yet"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "project")
    look("send", "helper", "hello", "--wait", project=project)
    look("send", "helper", "note buy milk", "--wait", project=project)
    return project


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as opened:
        return sorted(name.partition("/")[2].partition("/")[2] for name in opened.getnames())


def test_an_archive_holds_descriptor_state_history_and_files(project: Path, tmp_path: Path) -> None:
    archive = tmp_path / "agents.tar.gz"
    done = retinue("export", archive, project=project)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Exported 1 agent to ")
    assert archive.stat().st_mode & 0o077 == 0
    assert names(archive) == ["", "descriptor.json", "files/note.md", "history.jsonl", "state.json"]


def test_an_archive_is_not_replaced_by_accident(project: Path, tmp_path: Path) -> None:
    archive = tmp_path / "agents.tar.gz"
    archive.write_text("precious")
    refused = look("export", archive, project=project)
    assert refused.code == 1
    assert "--force" in refused.err
    assert archive.read_text() == "precious"
    assert look("export", archive, "--force", project=project).code == 0
    unknown = look("export", tmp_path / "other.tar.gz", "nobody", project=project)
    assert unknown.code == 1
    nowhere = look("export", tmp_path / "nowhere" / "a.tar.gz", project=project)
    assert (nowhere.code, nowhere.out) == (1, "")
    assert f"no directory {tmp_path / 'nowhere'}" in nowhere.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agents.tar.gz", "project"]


def test_a_running_server_is_exported_with_what_was_just_said(
    project: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "agents.tar.gz"
    with serving(project):
        look("send", "helper", "and this", "--wait", project=project)
        assert look("export", archive, "helper", project=project).code == 0
    with tarfile.open(archive) as opened:
        name = next(name for name in opened.getnames() if name.endswith("history.jsonl"))
        history = opened.extractfile(name)
        assert history is not None
        assert b"You said: and this" in history.read()


@importing
def test_what_was_exported_is_imported_elsewhere_and_goes_on(project: Path, tmp_path: Path) -> None:
    archive = tmp_path / "agents.tar.gz"
    look("export", archive, project=project)
    elsewhere = make_project(tmp_path / "elsewhere")
    done = retinue("import", archive, project=elsewhere)
    assert (done.code, done.out) == (0, "Imported 1 agent\n")
    before = look("history", "helper", "--json", project=project).json()
    assert look("history", "helper", "--json", project=elsewhere).json() == before
    again = look("send", "helper", "hello", "--wait", project=elsewhere)
    assert again.out == "You said: hello\n"
    assert len(look("agents", "--json", project=elsewhere).json()["agents"]) == 1


@importing
def test_an_import_that_cannot_be_done_changes_nothing(project: Path, tmp_path: Path) -> None:
    archive = tmp_path / "agents.tar.gz"
    look("export", archive, project=project)
    twice = look("import", archive, project=project)
    assert twice.code == 1
    assert "already" in twice.err
    (tmp_path / "junk").write_text("junk")
    junk = look("import", tmp_path / "junk", project=project)
    assert junk.code == 1
    assert "not a Retinue archive" in junk.err
    missing = look("import", tmp_path / "missing", project=project)
    assert missing.code == 1
    with serving(project):
        running = look("import", archive, project=project)
    assert running.code == 1
    assert "stop it" in running.err
