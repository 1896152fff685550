"""Definitions with two AI sides, and the tools that end their runs."""

import pytest

from retinue.definitions.side import SessionToolBinding
from tests.unit.definitions.project import Project, errors, warnings

# The example of the seed's last section, in Python.
ASSET_SUBAGENT = """
from retinue import define_agent, define_prompt

define_prompt(name="asset_worker", prompt="You draw.", tools=["draw", "fail_asset"])
define_prompt(
    name="asset_reviewer", prompt="You review.", tools=["approve_asset", "update_asset_status"]
)
define_agent(
    name="asset_subagent",
    type="dual_ai",
    maxSessionTurns=40,
    exposeAsTool=True,
    description="Draws and reviews.",
    toolDescription="Generate and QA top-down game assets.",
    sideA={
        "label": "Worker",
        "prompt": "asset_worker",
        "stopOnResponse": True,
        "sessionFail": {
            "name": "fail_asset",
            "messageProperty": "reason",
            "attachmentsProperty": "attachments",
        },
    },
    sideB={
        "label": "Reviewer",
        "prompt": "asset_reviewer",
        "stopOnResponse": False,
        "sessionStop": {
            "name": "approve_asset",
            "messageProperty": "summary",
            "attachmentsProperty": "attachments",
        },
        "sessionStatus": {"name": "update_asset_status", "messageProperty": "status"},
    },
)
"""
TOOLS = {"draw", "fail_asset", "approve_asset", "update_asset_status", "stray"}


def dual(side_a: str, side_b: str = 'prompt = "b"', extra: str = "") -> str:
    return (
        f'type = "dual_ai"\ndescription = "x"\nmaxSessionTurns = 4\n{extra}\n'
        f"[sideA]\n{side_a}\n[sideB]\n{side_b}"
    )


@pytest.fixture
def sided(project: Project) -> Project:
    project.write("prompts/a.md", "---\ntools: [draw]\n---\nYou are A.")
    project.write("prompts/b.md", "---\ntools: [approve_asset]\n---\nYou are B.")
    project.write("prompts/open.md", "You have every tool.")
    return project


def test_the_dual_example_of_the_seed_loads(project: Project) -> None:
    project.write("agents/assets.py", ASSET_SUBAGENT)
    catalog = project.catalog(TOOLS)
    definition = catalog.definition("asset_subagent")

    assert catalog.errors() == ()
    assert (definition.kind, definition.max_session_turns) == ("dual_ai", 40)
    assert definition.expose_as_tool
    worker, reviewer = definition.side("side_a"), definition.side("side_b")
    assert worker.prompt.text == "You draw."
    assert (worker.label, reviewer.label) == ("Worker", "Reviewer")
    assert (worker.stop_on_response, reviewer.stop_on_response) == (True, False)
    assert worker.session_fail == SessionToolBinding(
        name="fail_asset", message_property="reason", attachments_property="attachments"
    )
    assert reviewer.session_stop is not None
    assert reviewer.session_stop.name == "approve_asset"
    assert reviewer.session_status == SessionToolBinding(
        name="update_asset_status", message_property="status"
    )
    assert definition.env == {}


def test_two_sides_without_a_bound_are_a_warning(sided: Project) -> None:
    sided.write("agents/d.toml", dual('prompt = "a"').replace("maxSessionTurns = 4", ""))
    catalog = sided.catalog(TOOLS)

    assert [str(problem) for problem in warnings(catalog)] == [
        "agents/d.toml: maxSessionTurns: is missing: the exchange has no limit"
    ]
    assert catalog.definition("d")


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ('stopTool = "stray"', "sideA.stopTool: tool 'stray' is not in the tools of prompt 'a'"),
        ('sessionStop = "stray"', "sideA.sessionStop: tool 'stray' is not in the tools"),
        ('sessionFail = "stray"', "sideA.sessionFail: tool 'stray' is not in the tools"),
        ('session_status = "stray"', "sideA.session_status: tool 'stray' is not in the tools"),
    ],
)
def test_a_binding_to_a_tool_that_the_prompt_does_not_list_is_refused(
    sided: Project, side: str, expected: str
) -> None:
    sided.write("agents/d.toml", dual(f'prompt = "a"\n{side}'))

    (problem,) = errors(sided.catalog(TOOLS))
    assert problem.startswith(f"agents/d.toml: {expected}")


def test_a_binding_needs_a_tool_that_exists_when_the_prompt_lists_all(sided: Project) -> None:
    sided.write("agents/d.toml", dual('prompt = "open"\nstopTool = "drow"'))

    (problem,) = errors(sided.catalog(TOOLS))
    assert "sideA.stopTool: unknown tool 'drow'; did you mean 'draw'?" in problem
    assert errors(sided.catalog()) == []


def test_a_binding_to_a_tool_that_the_scope_refuses_is_refused(sided: Project) -> None:
    sided.write(
        "agents/d.toml",
        dual(
            'prompt = "a"', 'prompt = "b"\nsessionStop = "approve_asset"', 'toolAllowlist = ["d*"]'
        ),
    )

    (problem,) = errors(sided.catalog(TOOLS))
    assert "sideB.sessionStop: tool 'approve_asset' is refused (toolAllowlist)" in problem


def test_a_prompt_that_does_not_load_is_named_by_its_definitions(sided: Project) -> None:
    sided.write("prompts/a.md", "---\ntools: [nothing_like_it]\n---\n")
    sided.write("agents/d.toml", dual('prompt = "a"'))

    assert "agents/d.toml: sideA.prompt: prompt 'a' does not load" in errors(sided.catalog(TOOLS))


def test_a_prompt_with_a_syntax_error_is_named_as_unknown_or_failing(sided: Project) -> None:
    sided.write("prompts/a.md", "---\n[\n---\n")
    sided.write("agents/d.toml", dual('prompt = "a"'))

    found = errors(sided.catalog(TOOLS))
    assert any(problem.startswith("prompts/a.md:3: front matter") for problem in found)
    assert any("agents/d.toml: sideA.prompt: " in problem for problem in found)


def test_a_text_and_a_prompt_for_one_side_are_refused(sided: Project) -> None:
    sided.write("agents/d.toml", 'systemPrompt = "x"\n[sideA]\nprompt = "a"')

    assert errors(sided.catalog(TOOLS)) == [
        "agents/d.toml: systemPrompt: cannot be combined with sideA.prompt ('a')"
    ]


def test_a_definition_with_a_person_can_name_a_prompt(sided: Project) -> None:
    sided.write("agents/d.toml", 'description = "x"\n[sideA]\nprompt = "a"\nmaxSteps = 3')
    definition = sided.definition("d", TOOLS)

    assert definition.side_a.prompt.text == "You are A."
    assert definition.side_a.max_steps == 3
