"""Definitions in Python files."""

import threading

import pytest

from retinue.definitions import python_definitions
from retinue.definitions.python_definitions import define_agent, define_prompt
from retinue.errors import DefinitionError
from tests.unit.definitions.project import Project, errors


def test_a_python_file_defines_agents_and_prompts(project: Project) -> None:
    project.write(
        "agents/team.py",
        """
from retinue import define_agent, define_prompt

define_prompt(name="greeting", prompt="Hello {{NAME}}.", env={"NAME": "you"})
for name in ("anna", "bert"):
    define_agent(
        name=name,
        display_name=name.title(),
        toolAllowlist=("a", "b"),
        side_a={"prompt": "greeting"},
    )
""",
    )
    catalog = project.catalog()

    assert errors(catalog) == []
    assert [one.display_name for one in catalog.definitions()] == ["Anna", "Bert"]
    assert catalog.definition("anna").tool_allowlist == ("a", "b")
    assert catalog.definition("bert").side_a.prompt == catalog.prompt("greeting")


def test_prompts_can_be_defined_beside_the_other_prompts(project: Project) -> None:
    project.write(
        "prompts/more.py", "from retinue import define_prompt\ndefine_prompt(name='p', text='Go.')"
    )

    assert project.catalog().prompt("p").text == "Go."


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "define_agent(name='a',\n  tool_alowlist=[])",
            "agents/a.py:2: tool_alowlist: unknown key 'tool_alowlist'; "
            "did you mean 'tool_allowlist'?",
        ),
        ("define_agent()", "agents/a.py:2: name: is required"),
        ("define_agent(name=3)", "agents/a.py:2: name: expected text, got a number"),
        (
            "\ndefine_agent(name='a', uiVisible=1)",
            "agents/a.py:3: uiVisible: expected true or false",
        ),
        ("define_agent(name='a', env={'A': object()})", "agents/a.py:2: env.A: expected text"),
        ("define_agent(name='a', env={(1, 2): 'b'})", "agents/a.py:2: env.(1, 2)"),
        ("define_agent('a')", "agents/a.py:2: TypeError: define_agent() takes 0 positional"),
        ("x = 1 +", "agents/a.py:2: SyntaxError: invalid syntax"),
        ("\n\nimport no_such_module", "agents/a.py:4: ModuleNotFoundError: No module named"),
        ("import json; json.loads('')", "agents/a.py:2: JSONDecodeError: Expecting value"),
        ("raise ValueError", "agents/a.py:2: ValueError"),
        ("raise SystemExit(3)", "agents/a.py:2: SystemExit: 3"),
    ],
)
def test_what_goes_wrong_in_a_python_file_names_the_line(
    project: Project, code: str, expected: str
) -> None:
    project.write("agents/a.py", f"from retinue import define_agent\n{code}")

    (problem,) = errors(project.catalog())
    assert problem.startswith(expected)


def test_a_file_that_never_ends_is_told_and_holds_up_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    monkeypatch.setattr(threading, "released", release, raising=False)
    monkeypatch.setattr(python_definitions, "LOAD_SECONDS", 0.2)
    project.write("agents/a.py", "import threading\nthreading.released.wait(30)")
    project.write("agents/b.toml", 'name = "b"')

    catalog = project.catalog()
    release.set()
    assert [one.name for one in catalog.definitions()] == ["b"]
    (problem,) = errors(catalog)
    assert problem == "agents/a.py: it did not load within 0.2 seconds"


def test_two_edits_within_one_second_are_both_seen(project: Project) -> None:
    code = "from retinue import define_agent\ndefine_agent(name='a', model='{}')"
    project.write("agents/a.py", code.format("1"))
    catalog = project.catalog()

    for model in "234":
        project.write("agents/a.py", code.format(model))
        catalog = project.refresh()
        assert catalog.definition("a").model == model


def test_classes_of_a_python_file_find_their_module(project: Project) -> None:
    project.write(
        "agents/a.py",
        """
from dataclasses import dataclass
from typing import ClassVar
from retinue import define_agent

@dataclass
class Options:
    kind: "ClassVar[str]" = "x"
    size: int = 1

define_agent(name="a", description=f"{Options()}")
""",
    )

    assert project.definition("a").description == "Options(size=1)"


def test_a_call_outside_of_a_project_registers_nothing_and_still_checks() -> None:
    declared = define_prompt(name="p", prompt="Go.")

    assert declared.fields == {"name": "p", "prompt": "Go."}
    with pytest.raises(
        DefinitionError, match="unknown key 'modle'; did you mean 'model'"
    ) as caught:
        define_agent(modle="x")
    assert caught.value.file == __file__
