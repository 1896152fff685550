"""The catalog follows the files of a project, and keeps what worked."""

import logging
import os
from pathlib import Path

import pytest

from retinue.definitions.catalog import Catalog
from retinue.definitions.reference_targets import ModelChecks
from retinue.errors import NotFoundError
from tests.unit.definitions.project import Project, errors, warnings


def names(catalog: Catalog) -> list[str]:
    return [one.name for one in catalog.definitions()]


def test_a_project_without_definitions_has_an_assistant(project: Project) -> None:
    catalog = project.catalog()
    assistant = catalog.definition("assistant")

    assert names(catalog) == ["assistant"]
    assert (assistant.display_name, assistant.ui_visible) == ("Assistant", True)
    assert assistant.tool_allowlist is None
    assert assistant.side_a.prompt.tools is None
    assert catalog.errors() == ()


def test_the_assistant_goes_when_there_is_a_definition_and_comes_back(project: Project) -> None:
    catalog = project.catalog()
    project.write("agents/a.toml", "")
    catalog = project.refresh()
    assert names(catalog) == ["a"]

    project.delete("agents/a.toml")
    catalog = project.refresh()
    assert names(catalog) == ["assistant"]


def test_an_assistant_that_stands_in_for_deleted_definitions_is_warned_of(
    project: Project,
) -> None:
    """It may use every tool, and the agents of that name are its own from then on."""
    project.write("agents/assistant.toml", "toolAllowlist = []")
    catalog = project.catalog()
    assert warnings(catalog) == []

    project.delete("agents/assistant.toml")
    catalog = project.refresh()
    assert catalog.definition("assistant").tool_allowlist is None
    (warning,) = warnings(catalog)
    assert str(warning).startswith("agents: no file here defines an agent")
    assert "the built-in 'assistant' answers, with every tool" in str(warning)

    project.write("agents/assistant.toml", "toolAllowlist = []")
    catalog = project.refresh()
    assert warnings(catalog) == []


@pytest.mark.parametrize("text", ['toolAllowlist = "nothing"', "= not even TOML"])
def test_an_unscoped_assistant_does_not_stand_in_for_a_definition_that_fails(
    project: Project, text: str
) -> None:
    project.write("agents/careful.toml", text)

    assert names(project.catalog()) == []


def test_a_project_can_define_its_own_assistant(project: Project) -> None:
    project.write("agents/assistant.toml", 'displayName = "Mine"')

    assert project.definition("assistant").display_name == "Mine"


def test_a_changed_file_applies_after_a_refresh(project: Project) -> None:
    project.write("agents/a.toml", 'model = "old"')
    catalog = project.catalog()
    old = catalog.definition("a")
    project.write("agents/a.toml", 'model = "new"')

    assert catalog.definition("a") is old
    catalog = project.refresh()
    assert catalog.definition("a").model == "new"


def test_a_changed_prompt_changes_the_definitions_that_use_it(project: Project) -> None:
    project.write("prompts/base.md", "old")
    project.write("prompts/p.md", "{{include base}}")
    project.write("agents/a.toml", '[sideA]\nprompt = "p"')
    project.write("agents/b.toml", 'systemPrompt = "x"')
    catalog = project.catalog()
    before = {one.name: one for one in catalog.definitions()}
    project.write("prompts/base.md", "new")
    catalog = project.refresh()

    assert catalog.definition("a").side_a.prompt.text == "new"
    assert catalog.definition("a") != before["a"]
    assert catalog.definition("b") == before["b"]


def test_a_refresh_without_a_change_does_nothing(project: Project) -> None:
    project.write("agents/a.toml", "")
    catalog = project.catalog()

    assert project.refresh() is catalog


def test_only_changed_files_are_read_again(project: Project) -> None:
    log = project.path / "runs"
    project.write(
        "agents/a.py",
        f"""
from pathlib import Path
from retinue import define_agent

log = Path({str(log)!r})
log.write_text((log.read_text() if log.exists() else "") + "x")
define_agent(name="a")
""",
    )
    project.write("agents/b.toml", "")
    catalog = project.catalog()
    project.write("agents/b.toml", 'model = "m"')
    catalog = project.refresh()

    assert catalog.definition("b").model == "m"
    assert log.read_text() == "x"


def test_a_file_replaced_with_an_older_one_of_the_same_size_is_seen(project: Project) -> None:
    project.write("agents/a.toml", 'model = "1"')
    catalog = project.catalog()
    project.write("other.toml", 'model = "2"')
    status = (project.path / "agents/a.toml").stat()
    os.utime(project.path / "other.toml", ns=(status.st_atime_ns, status.st_mtime_ns))
    (project.path / "other.toml").replace(project.path / "agents/a.toml")
    catalog = project.refresh()

    assert catalog.definition("a").model == "2"


@pytest.mark.parametrize(
    ("name", "good", "bad", "problem"),
    [
        ("agents/a.toml", 'model = "m"', "model = ", "agents/a.toml:1: not valid TOML"),
        ("agents/a.toml", 'model = "m"', 'model = "n"\ntypo = 1', "agents/a.toml: typo: unknown"),
        ("agents/a.toml", 'model = "m"', '[sideA]\nprompt = "x"', "agents/a.toml: sideA.prompt"),
        ("agents/a.json", '{"model": "m"}', "{", "agents/a.json:1: not valid JSON"),
        ("agents/a.md", "---\nmodel: m\n---\n", "---\nmodel: [\n---\n", "agents/a.md:3: front"),
        (
            "agents/a.py",
            "from retinue import define_agent as d\nd(name='a', model='m')",
            "1 / 0",
            "agents/a.py:1: ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_file_that_no_longer_loads_keeps_its_last_good_version(
    project: Project, name: str, good: str, bad: str, problem: str
) -> None:
    project.write(name, good)
    catalog = project.catalog()
    project.write(name, bad)
    catalog = project.refresh()

    assert catalog.definition("a").model == "m"
    failing = [one for one in catalog.errors() if one.is_error]
    assert [one.using_last_good for one in failing] == [True]
    assert str(failing[0]).startswith(problem)
    assert str(failing[0]).endswith("(still using the last good version)")

    project.write(name, good)
    catalog = project.refresh()
    assert errors(catalog) == []


def test_a_last_good_version_survives_several_bad_edits(project: Project) -> None:
    project.write("agents/a.toml", 'model = "m"')
    catalog = project.catalog()
    for text in ("= 1", "== 2", "=== 3"):
        project.write("agents/a.toml", text)
        catalog = project.refresh()

    assert catalog.definition("a").model == "m"


def test_a_file_that_never_loaded_has_no_last_good_version(project: Project) -> None:
    project.write("agents/a.toml", "= ")
    catalog = project.catalog()

    assert [problem.using_last_good for problem in catalog.errors()] == [False]
    with pytest.raises(NotFoundError, match=r"does not load: agents/a\.toml:1: not valid TOML"):
        catalog.definition("a")


def test_in_a_collection_only_the_entry_that_fails_stays_behind(project: Project) -> None:
    collection = '{{"agents": [{{"agentId": "a", "model": {}}}, {{"agentId": "b", "model": {}}}]}}'
    project.write("agents/all.json", collection.format('"a1"', '"b1"'))
    catalog = project.catalog()
    project.write("agents/all.json", collection.format('"a2"', "2"))
    catalog = project.refresh()

    assert catalog.definition("a").model == "a2"
    assert catalog.definition("b").model == "b1"


def test_a_prompt_that_no_longer_loads_keeps_its_last_good_version(project: Project) -> None:
    project.write("prompts/p.md", "old")
    project.write("agents/a.toml", 'model = "1"\n[sideA]\nprompt = "p"')
    catalog = project.catalog()
    project.write("prompts/p.md", "---\n[\n---\nnew")
    project.write("agents/a.toml", 'model = "2"\n[sideA]\nprompt = "p"')
    catalog = project.refresh()

    assert catalog.prompt("p").text == "old"
    assert catalog.definition("a").side_a.prompt.text == "old"
    assert catalog.definition("a").model == "2"
    assert [problem.file for problem in catalog.errors() if problem.is_error] == ["prompts/p.md"]


def test_a_deleted_prompt_leaves_its_definitions_as_they_were_and_says_so(
    project: Project,
) -> None:
    project.write("prompts/p.md", "old")
    project.write("agents/a.toml", '[sideA]\nprompt = "p"')
    catalog = project.catalog()
    project.delete("prompts/p.md")
    catalog = project.refresh()

    assert catalog.definition("a").side_a.prompt.text == "old"
    assert errors(catalog) == [
        "agents/a.toml: sideA.prompt: unknown prompt 'p' (still using the last good version)"
    ]
    with pytest.raises(NotFoundError):
        catalog.prompt("p")


def test_a_template_that_no_longer_loads_leaves_its_definitions_as_they_were(
    project: Project,
) -> None:
    project.write("agents/templates/t.toml", 'toolAllowlist = ["time"]')
    project.write("agents/a.toml", 'extends = "t"')
    catalog = project.catalog()
    project.write("agents/templates/t.toml", "toolAllowlist = ")
    catalog = project.refresh()

    assert catalog.definition("a").tool_allowlist == ("time",)


def test_a_deleted_file_takes_its_definitions_along(project: Project) -> None:
    project.write("agents/a.toml", "")
    project.write("agents/b.toml", "")
    catalog = project.catalog()
    project.delete("agents/a.toml")
    catalog = project.refresh()

    assert names(catalog) == ["b"]
    with pytest.raises(NotFoundError, match="there is no definition 'a'; there are b") as caught:
        catalog.definition("a")
    assert caught.value.code == "not_found"


def test_a_file_that_fails_and_is_then_deleted_is_gone(project: Project) -> None:
    project.write("agents/a.toml", "")
    project.write("agents/b.toml", "")
    catalog = project.catalog()
    project.write("agents/a.toml", "= ")
    catalog = project.refresh()
    project.delete("agents/a.toml")
    catalog = project.refresh()

    assert names(catalog) == ["b"]
    assert errors(catalog) == []


def test_a_definition_removed_from_a_sound_file_is_gone_for_those_who_name_it(
    project: Project,
) -> None:
    callee = '{"agents": [{"agentId": "x"}, {"agentId": "callee", "exposeAsTool": true}]}'
    project.write("agents/z.json", callee)
    project.write("prompts/p.md", "---\ntools: [callee]\n---\n")
    catalog = project.catalog(())
    assert errors(catalog) == []
    project.write("agents/z.json", '{"agents": [{"agentId": "x"}]}')
    catalog = project.refresh()

    assert errors(catalog) == [
        "prompts/p.md: tools[0]: there is no tool, prompt or agent 'callee' "
        "(still using the last good version)"
    ]


def test_a_file_that_takes_a_name_over_wins_by_its_path(project: Project) -> None:
    project.write("agents/b.toml", 'name = "twin"\nmodel = "b"')
    catalog = project.catalog()
    project.write("agents/a.toml", 'name = "twin"\nmodel = "a"')
    catalog = project.refresh()

    assert catalog.definition("twin").model == "a"
    assert errors(catalog) == ["agents/b.toml: name: 'twin' is already defined in agents/a.toml"]


def test_a_tool_that_appears_or_goes_is_noticed(project: Project) -> None:
    tools = {"time"}
    project.write("prompts/p.md", "---\ntools: [time, order]\n---\n")
    catalog = project.catalog(lambda: tools)
    assert "there is no tool, prompt or agent 'order'" in errors(catalog)[0]

    tools.add("order")
    catalog = project.refresh()
    assert errors(catalog) == []

    tools.discard("order")
    catalog = project.refresh()
    assert "(still using the last good version)" in errors(catalog)[0]
    assert catalog.prompt("p").lists("order")


def test_an_unknown_definition_is_not_found_with_near_names(project: Project) -> None:
    project.write("agents/helper.toml", "")
    project.write("agents/zebra.toml", "")

    with pytest.raises(NotFoundError) as caught:
        project.catalog().definition("halper")
    assert caught.value.message == "there is no definition 'halper'; did you mean 'helper'?"
    assert caught.value.details["near"] == ["helper"]


@pytest.mark.parametrize(
    ("files", "preferred", "expected"),
    [
        ({}, None, "assistant"),
        ({"b": "", "a": ""}, None, "a"),
        ({"b": "", "a": "uiVisible = false"}, None, "b"),
        ({"assistant": "uiVisible = false", "a": ""}, None, "assistant"),
        ({"b": "", "a": ""}, "b", "b"),
    ],
)
def test_whoever_names_no_definition_gets_the_default(
    project: Project, files: dict[str, str], preferred: str | None, expected: str
) -> None:
    for name, text in files.items():
        project.write(f"agents/{name}.toml", text)

    assert project.catalog().default(preferred).name == expected


def test_a_default_that_is_not_there_is_not_found(project: Project) -> None:
    project.write("agents/hidden.toml", "uiVisible = false")

    with pytest.raises(NotFoundError):
        project.catalog().default("missing")
    with pytest.raises(NotFoundError):
        project.catalog().default()


def test_a_problem_is_logged_once_with_its_facts(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.write("agents/a.toml", 'description = "x"')
    project.catalog()
    project.write("agents/a.toml", "= ")
    with caplog.at_level(logging.WARNING):
        project.refresh()
        project.write("agents/b.toml", 'description = "x"')
        project.refresh()

    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage().startswith("load problem: agents/a.toml:1: not valid TOML")
    assert (record.__dict__["file"], record.__dict__["line"]) == ("agents/a.toml", 1)


def test_a_catalog_stays_as_it_was_read(project: Project) -> None:
    project.write("agents/a.toml", 'model = "0"')
    before = project.catalog()
    project.write("agents/a.toml", 'model = "1"')
    after = project.refresh()
    project.delete("agents/a.toml")
    project.refresh()

    assert (before.definition("a").model, after.definition("a").model) == ("0", "1")


def test_special_files_do_not_block_the_catalog(project: Project) -> None:
    project.write("agents/a.toml", "")
    os.mkfifo(project.path / "agents/pipe.toml")
    (project.path / "agents/folder.toml").mkdir()
    (project.path / "agents/dangling.toml").symlink_to("nowhere")

    assert names(project.catalog()) == ["a"]


def test_a_file_without_permission_to_read_is_told(project: Project) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    project.write("agents/a.toml", "")
    (project.path / "agents/a.toml").chmod(0)

    assert errors(project.catalog()) == ["agents/a.toml: cannot be read: Permission denied"]


def test_a_name_that_is_not_utf8_is_told_readably(project: Project) -> None:
    (project.path / "agents").mkdir()
    for name in (b"\xff.toml", b"\xff.py"):
        path = Path(os.fsdecode(os.fsencode(project.path / "agents") + b"/" + name))
        path.write_text("= 1")

    assert [problem.partition(" ")[0] for problem in project.problems()] == [
        "agents/?.py:1:",
        "agents/?.toml:1:",
    ]
    assert all(problem.isprintable() for problem in project.problems())


def test_a_model_that_nobody_knows_is_a_warning_until_somebody_does(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    known = {"good"}
    models = ModelChecks(
        unsupported=lambda _: frozenset(),
        problem=lambda name: None if name in known else f"model {name!r}: unknown",
        default="good",
    )
    project.write("agents/a.toml", 'model = "bad"\nfallbackModels = ["good", "worse"]')
    project.write("prompts/p.md", "---\nmodel: bad\n---\nText")
    catalog = project.catalog(models=models)

    assert errors(catalog) == []
    assert catalog.definition("a").model == "bad"
    assert [(one.file, one.field, one.message) for one in warnings(catalog)] == [
        ("prompts/p.md", "model", "model 'bad': unknown"),
        ("agents/a.toml", "model", "model 'bad': unknown"),
        ("agents/a.toml", "fallbackModels[1]", "model 'worse': unknown"),
    ]
    assert caplog.text.count("model 'bad': unknown") == 2

    known.add("bad")
    catalog = project.refresh()
    assert [one.message for one in warnings(catalog)] == ["model 'worse': unknown"]
    assert project.refresh() is catalog


def test_the_model_of_those_that_name_none_is_looked_for_too(project: Project) -> None:
    models = ModelChecks(
        problem=lambda name: f"model {name!r}: unknown",
        unsupported=lambda _: frozenset(),
        default="typo",
    )
    catalog = project.catalog(models=models)
    (warning,) = warnings(catalog)
    assert str(warning) == "retinue.toml: model: model 'typo': unknown"
