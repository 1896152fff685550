"""`retinue schedules`, without a server and with one."""

from pathlib import Path

import pytest

from tests.acceptance.cli import look, make_project, retinue, serving


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def test_a_schedule_is_added_paused_resumed_run_and_deleted(project: Path) -> None:
    add = ("add", "Morning", "hello", "--cron", "0 8 * * MON-FRI", "--timezone", "Europe/Berlin")
    assert "morning" in retinue("schedules", *add, project=project).out
    (view,) = look("schedules", "--json", project=project).json()["schedules"]
    assert (view["id"], view["state"], view["timezone"]) == ("morning", "waiting", "Europe/Berlin")
    assert "paused" in look("schedules", "pause", "morning", project=project).out
    assert "waiting" in look("schedules", "resume", "morning", project=project).out
    assert "is answered" in look("schedules", "run", "morning", project=project).out
    (run,) = look("schedules", "runs", "morning", "--json", project=project).json()["runs"]
    assert (run["status"], run["fate"]) == ("run_now", "answered")
    assert look("schedules", "delete", "morning", project=project).code == 0
    assert "No schedules yet" in look("schedules", project=project).out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("add", "X", "y", "--cron", "0 0 30 2 *"), "never runs"),
        (("add", "X", "y", "--cron", "0 8 * * *", "--timezone", "Berlim"), "IANA time zone"),
        (("add", "X"), "missing instructions"),
        (("pause",), "missing argument"),
        (("run", "nobody"), "no schedule 'nobody'"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(
    project: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    done = look("schedules", *arguments, project=project)
    assert done.code != 0
    assert complaint in done.err
    assert look("schedules", "--json", project=project).json() == {"schedules": []}


def test_with_a_server_it_does_the_same(project: Path) -> None:
    with serving(project):
        look("schedules", "add", "Tea", "hello", "--at", "in 3 hours", project=project)
        (view,) = look("schedules", "--json", project=project).json()["schedules"]
        assert (view["id"], view["cron"], view["state"]) == ("tea", None, "waiting")
        assert look("schedules", "pause", "tea", project=project).code == 0
        assert look("schedules", "run", "tea", project=project).code == 0
        assert len(look("schedules", "runs", "tea", "--json", project=project).json()["runs"]) == 1
        assert look("schedules", "delete", "tea", project=project).code == 0
