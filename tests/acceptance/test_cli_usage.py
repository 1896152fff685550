"""`retinue usage`, without a server and with one."""

from pathlib import Path

import pytest

from tests.acceptance.cli import SETTINGS, look, make_project, serving

PRICES = """
[prices]
currency = "EUR"
[prices.models."scripted:script.json"]
input = 1000.0
output = 2000.0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, settings=SETTINGS + PRICES)


def check_all(project: Path) -> None:
    by_model = look("usage", "--by", "model", "--json", project=project).json()
    (line,) = by_model["lines"]
    assert (line["calls"], line["input"], line["output"]) == (1, 10, 5)
    assert (line["cost"], by_model["currency"]) == (0.02, "EUR")
    shown = look("usage", "--by", "definition", project=project).out
    assert "Helper" in shown and "COST (EUR)" in shown and "0.0200" in shown
    assert "hello" in look("usage", "--by", "agent", project=project).out
    past = look("usage", "--to", "2020-01-01", project=project)
    assert (past.code, past.out) == (0, "No usage in this period.\n")


def test_tokens_and_cost_are_summed_up(project: Path) -> None:
    assert look("send", "helper", "hello", "--wait", project=project).code == 0
    check_all(project)


def test_a_running_server_is_asked_instead(project: Path) -> None:
    assert look("send", "helper", "hello", "--wait", project=project).code == 0
    with serving(project):
        check_all(project)


def test_a_day_that_is_none_is_told(project: Path) -> None:
    done = look("usage", "--from", "yesterday", project=project)
    assert (done.code, "expected a day" in done.err) == (2, True)
