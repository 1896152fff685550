"""`retinue env`, without a server and with one."""

from pathlib import Path

import pytest

from tests.acceptance.cli import look, make_project, retinue, serving

VALUE = "canary-of-the-terminal"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path)


def check_all(project: Path) -> None:
    done = retinue("env", "set", "SHOP_KEY", project=project, stdin=f"{VALUE}\n")
    assert (done.code, done.out) == (0, "SHOP_KEY is set.\n")
    assert "SHOP_KEY" in look("env", project=project).out
    assert "your account" in look("env", project=project).out
    listed = look("env", "--json", project=project)
    assert [one["name"] for one in listed.json()["variables"]] == ["SHOP_KEY"]
    assert VALUE not in listed.out
    assert look("env", "unset", "SHOP_KEY", project=project).code == 0
    assert "No variables yet" in look("env", project=project).out
    gone = look("env", "unset", "SHOP_KEY", project=project)
    assert (gone.code, "no variable 'SHOP_KEY'" in gone.err) == (1, True)


def test_an_accounts_variable_is_set_listed_and_unset(project: Path) -> None:
    check_all(project)


def test_a_running_server_is_told_instead(project: Path) -> None:
    with serving(project):
        check_all(project)


def test_one_agent_has_variables_of_its_own(project: Path) -> None:
    assert look("send", "helper", "hello", "--wait", project=project).code == 0
    (agent,) = look("agents", "--json", project=project).json()["agents"]
    one = ("--agent", agent["id"])
    assert retinue("env", "set", "KEY", *one, project=project, stdin=VALUE).code == 0
    assert "this agent" in look("env", "list", *one, project=project).out
    assert "No variables yet" in look("env", project=project).out
    assert look("env", "unset", "KEY", *one, project=project).code == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        (("set",), VALUE, "missing argument"),
        (("set", "NOT-A-NAME"), VALUE, "not a valid variable name"),
        (("set", "KEY"), "", "no value"),
        (("set", "KEY", VALUE), VALUE, "unexpected extra argument"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(
    project: Path, arguments: tuple[str, ...], stdin: str, complaint: str
) -> None:
    done = retinue("env", *arguments, project=project, stdin=stdin)
    assert done.code in (1, 2)
    assert complaint in done.err.lower()
    assert "No variables yet" in look("env", project=project).out


def test_doctor_and_the_list_tell_of_values_that_cannot_be_read_any_more(project: Path) -> None:
    assert retinue("env", "set", "SHOP_KEY", project=project, stdin=VALUE).code == 0
    assert "1 value readable" in look("doctor", project=project).out
    (project / ".retinue" / "key").write_text("another key that is long enough to be one\n")
    told = look("doctor", project=project)
    assert told.code == 1
    assert "your account: cannot decrypt SHOP_KEY" in told.out
    assert "(unreadable)" in look("env", project=project).out


BOSS = {
    "agents/boss.toml": 'name = "boss"\ndescription = "b"\nmodel = "offline"\n'
    '[sideA]\nprompt = "boss"\n',
    "agents/pair.toml": 'name = "pair"\ndescription = "p"\ntype = "dual_ai"\n'
    'model = "offline"\nmaxSessionTurns = 2\nexposeAsTool = true\n'
    '[sideA]\nprompt = "worker"\n[sideB]\nprompt = "worker"\n',
    "prompts/boss.md": "---\ntools: [{name: pair, blocking: false}]\n---\nYou are the boss.",
    "prompts/worker.md": "---\nvariables: [{name: PAIR_KEY, required: true, scoped: true}]\n"
    "tools: []\n---\nYou work.",
}


def check_giving(project: Path) -> None:
    assert (
        look("send", "boss", 'call pair {"message": "draw"}', "--wait", project=project).code == 0
    )
    (request,) = look("permissions", "--json", project=project).json()["requests"]
    lead = f"retinue env give {request['id']}"
    assert lead in look("permissions", request["id"], project=project).out
    assert lead in look("allow", request["id"], project=project).err
    in_arguments = look("answer", request["id"], f"PAIR_KEY={VALUE}", project=project)
    assert (in_arguments.code, lead in in_arguments.err) == (1, True)
    give = ("env", "give", request["id"][-8:])
    wrong = retinue(*give, project=project, stdin=f"{VALUE}\n")
    assert "line 1: expected NAME=VALUE" in wrong.err and VALUE not in wrong.err
    assert "still missing: PAIR_KEY" in retinue(*give, project=project, stdin="OTHER=x\n").err
    done = retinue(*give, project=project, stdin=f"PAIR_KEY={VALUE}\n")
    assert (done.code, done.err) == (0, ""), done.err
    child = done.out.split()[-1]
    assert look("show", child, "--json", project=project).json()["definition"] == "pair"
    again = retinue("env", "give", request["id"], project=project, stdin=f"PAIR_KEY={VALUE}\n")
    assert (again.code, "answered" in again.err) == (1, True)


@pytest.mark.parametrize("is_served", [False, True])
def test_a_waiting_subagent_is_given_its_values(project: Path, is_served: bool) -> None:
    (project / "prompts").mkdir(exist_ok=True)
    for name, text in BOSS.items():
        (project / name).write_text(text)
    if not is_served:
        check_giving(project)
        return
    with serving(project):
        check_giving(project)
