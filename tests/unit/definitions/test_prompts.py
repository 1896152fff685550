"""Prompts: their text with includes and variables, and the things that they can call."""

import pytest

from retinue.definitions.model_options import ModelOptions
from retinue.definitions.prompt import (
    FunctionEntry,
    HandoffEntry,
    Prompt,
    SubPromptEntry,
    Variable,
)
from retinue.definitions.subagent_config import Immediate, Resumable, SubagentConfig, is_switched_on
from retinue.errors import NotFoundError, UsageError
from tests.unit.definitions.project import Project, errors, warnings

ASSET_WORKER = """---
# prompts/asset_worker.md; the name defaults to the file's
model: local:small
tools: [draw, fail_asset, {name: asset_subagent, blocking: true, initUserMessageProperty: task}]
requiredSchema: {type: object, properties: {task: {type: string}}, required: [task]}
---
You make assets.
"""
DUAL = """
description = "x"
type = "dual_ai"
maxSessionTurns = 4
exposeAsTool = true
toolDescription = "Makes assets."
[sideA]
prompt = "plain"
[sideB]
prompt = "plain"
"""


@pytest.fixture
def crowded(project: Project) -> Project:
    """A project with one of everything that a prompt can call."""
    project.write("agents/asset_subagent.toml", DUAL)
    project.write("agents/clerk.toml", 'description = "x"\nexposeAsTool = true')
    project.write("agents/hermit.toml", 'description = "x"')
    project.write("prompts/plain.md", "You are plain.")
    return project


def prompt_of(project: Project, name: str) -> Prompt:
    catalog = project.catalog({"draw", "fail_asset", "mcp_*"})
    assert errors(catalog) == []
    return catalog.prompt(name)


def prompt_errors(project: Project, front_matter: str, text: str = "Go.") -> list[str]:
    project.write("prompts/p.md", f"---\n{front_matter}\n---\n{text}")
    return errors(project.catalog({"draw", "fail_asset", "mcp_*"}))


def test_the_prompt_of_the_specification_loads(crowded: Project) -> None:
    crowded.write("prompts/asset_worker.md", ASSET_WORKER)
    prompt = prompt_of(crowded, "asset_worker")

    assert prompt.text == "You make assets."
    assert prompt.model == "local:small"
    assert prompt.tools == (
        FunctionEntry(name="draw"),
        FunctionEntry(name="fail_asset"),
        SubagentConfig(name="asset_subagent", blocking=True, init_user_message_property="task"),
    )
    assert prompt.required_schema is not None
    assert prompt.required_schema["required"] == ["task"]
    assert prompt.file == "prompts/asset_worker.md"


def test_a_prompt_without_front_matter_is_all_text(crowded: Project) -> None:
    plain = prompt_of(crowded, "plain")

    assert (plain.text, plain.tools) == ("You are plain.", None)


def test_no_tools_and_every_tool_are_not_the_same(crowded: Project) -> None:
    crowded.write("prompts/p.md", "---\ntools: []\n---\nGo.")
    none = prompt_of(crowded, "p")

    assert none.tools == ()
    assert not none.lists("draw")
    assert prompt_of(crowded, "plain").lists("draw")


def test_every_field_of_a_prompt_is_read(crowded: Project) -> None:
    hook = "define_hook(hook='filter_messages', id='h', execute=print)"
    crowded.write("hooks/h.py", f"from retinue import define_hook\n{hook}")
    crowded.write(
        "prompts/p.md",
        """---
name: other
toolDescription: Does it.
model: m
fallbackModels: [n]
temperature: 1
maxTokens: 5
reasoning: low
toolChoice: required
parallelToolCalls: false
variables: [KEY, {name: CITY, type: text, required: true, scoped: true, description: Where.}]
env: {DAY: monday}
hooks: [h]
---
Go.
""",
    )
    prompt = prompt_of(crowded, "other")

    assert prompt == Prompt(
        name="other",
        text="Go.",
        tool_description="Does it.",
        model="m",
        fallback_models=("n",),
        options=ModelOptions(
            temperature=1,
            max_tokens=5,
            reasoning_effort="low",
            tool_choice="required",
            parallel_tool_calls=False,
        ),
        variables=(
            Variable(name="KEY"),
            Variable(
                name="CITY", type="text", is_required=True, is_scoped=True, description="Where."
            ),
        ),
        env={"DAY": "monday"},
        hooks=("h",),
        file="prompts/p.md",
    )


def test_options_of_a_prompt_go_over_those_of_the_definition() -> None:
    options = ModelOptions(temperature=0.0, reasoning_effort="low")

    assert options.over(ModelOptions(temperature=1.0, max_tokens=9)) == ModelOptions(
        temperature=0.0, max_tokens=9, reasoning_effort="low"
    )


def test_an_entry_becomes_what_its_name_names(crowded: Project) -> None:
    crowded.write(
        "prompts/p.md",
        """---
tools:
  - {name: draw, env: {SIZE: "3"}, optional: DRAW}
  - mcp_anything
  - {name: plain, includeToolCalls: false, initUserMessageProperty: text}
  - {name: clerk, initAttachmentsProperty: files}
  - name: asset_subagent
    blocking: false
    immediate: {nameEnv: NAME, descriptionEnv: TEXT, scopedEnv: [TOKEN]}
    optional: ASSETS
    resumable: {receives_messages: side_b, maxInstances: 2, parentCommunication: explicit}
    initUserMessageProperty: task
    initAttachmentsProperty: files
    initAgentNameProperty: who
---
Go.
""",
    )

    assert prompt_of(crowded, "p").tools == (
        FunctionEntry(name="draw", env={"SIZE": "3"}, optional="DRAW"),
        FunctionEntry(name="mcp_anything"),
        SubPromptEntry(name="plain", include_tool_calls=False, init_user_message_property="text"),
        HandoffEntry(name="clerk", init_attachments_property="files"),
        SubagentConfig(
            name="asset_subagent",
            blocking=False,
            immediate=Immediate(name_env="NAME", description_env="TEXT", scoped_env=("TOKEN",)),
            optional="ASSETS",
            resumable=Resumable(
                receives_messages="side_b", max_instances=2, parent_communication="explicit"
            ),
            init_user_message_property="task",
            init_attachments_property="files",
            init_agent_name_property="who",
        ),
    )


@pytest.mark.parametrize(
    ("switches", "immediate", "resumable"),
    [
        ("immediate: true, resumable: true", Immediate(), Resumable()),
        ("immediate: false, resumable: false", None, None),
        ("blocking: true", None, None),
    ],
)
def test_true_stands_for_the_defaults_and_false_for_nothing(
    crowded: Project, switches: str, immediate: Immediate | None, resumable: Resumable | None
) -> None:
    crowded.write("prompts/p.md", f"---\ntools: [{{name: asset_subagent, {switches}}}]\n---\n")

    assert prompt_of(crowded, "p").tools == (
        SubagentConfig(name="asset_subagent", immediate=immediate, resumable=resumable),
    )


def test_a_tool_hides_an_agent_of_the_same_name(crowded: Project) -> None:
    crowded.write("prompts/p.md", "---\ntools: [clerk]\n---\n")
    catalog = crowded.catalog({"clerk"})

    assert catalog.prompt("p").tools == (FunctionEntry(name="clerk"),)


def test_an_exposed_agent_goes_before_a_prompt_of_the_same_name(crowded: Project) -> None:
    crowded.write("prompts/clerk.md", "I am the clerk's text.")
    crowded.write("prompts/p.md", "---\ntools: [clerk]\n---\n")

    assert prompt_of(crowded, "p").tools == (HandoffEntry(name="clerk"),)


def test_without_a_list_of_tools_every_other_name_is_a_tool(crowded: Project) -> None:
    crowded.write("prompts/p.md", "---\ntools: [anything, plain]\n---\n")
    catalog = crowded.catalog()

    assert catalog.prompt("p").tools == (
        FunctionEntry(name="anything"),
        SubPromptEntry(name="plain"),
    )


@pytest.mark.parametrize(
    ("front_matter", "expected"),
    [
        (
            "tools: [darw]",
            "tools[0]: there is no tool, prompt or agent 'darw'; did you mean 'draw'?",
        ),
        ("tools: [draw, draw]", "tools[1]: 'draw' is listed twice"),
        (
            "tools: [hermit]",
            "tools[0]: agent 'hermit' cannot be called: it does not set exposeAsTool",
        ),
        (
            "tools: [{name: draw, blocking: true}]",
            "tools[0].blocking: does not fit: 'draw' is a tool",
        ),
        ("tools: [{name: plain, env: {}}]", "tools[0].env: does not fit: 'plain' is a prompt"),
        (
            "tools: [{name: clerk, resumable: {}}]",
            "tools[0].resumable: does not fit: 'clerk' is an agent",
        ),
        (
            "tools: [{name: draw, imediate: true}]",
            "unknown key 'tools[0].imediate'; did you mean 'tools[0].immediate'?",
        ),
        ("tools: [{blocking: true}]", "tools[0].name: is required"),
        ("tools: draw", "tools: expected a list, got 'draw'"),
        ("tools: [3]", "tools[0]: expected a table, got 3"),
        ("toolChoice: always", "toolChoice: expected one of 'auto', 'none' or 'required'"),
        ("requiredSchema: {type: string}", "requiredSchema.type: expected 'object'"),
        ("requiredSchema: {properties: {}}", "requiredSchema.type: expected 'object'"),
        (
            "requiredSchema: {type: object, properties: {size: {type: big}}}",
            "requiredSchema: is not a JSON schema: properties.size.type: 'big'",
        ),
        ("variables: [{type: text}]", "variables[0].name: is required"),
        ("variables: [1st]", "variables[0].name: expected letters, digits and '_', no digit"),
        ("tools: [{name: draw, optional: IS ON}]", "tools[0].optional: expected letters, digits"),
        ("description: x", "unknown key 'description'; use toolDescription"),
        ("prompt: x", "prompt: is set twice: here and as the text below the front matter"),
    ],
)
def test_a_prompt_that_does_not_load_names_field_and_expectation(
    crowded: Project, front_matter: str, expected: str
) -> None:
    (problem,) = prompt_errors(crowded, front_matter)

    assert problem.startswith("prompts/p.md: ")
    assert expected in problem


SCHEMA = "{type: object, properties: {question: {type: string}}, additionalProperties: false}"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            "{name: expert, initUserMessageProperty: qestion}",
            "initUserMessageProperty: 'qestion' is never passed: 'expert' accepts 'question'"
            "; did you mean 'question'?",
        ),
        (
            "{name: consul, init_attachments_property: files}",
            "init_attachments_property: 'files' is never passed: 'consul' accepts 'question'",
        ),
        (
            "{name: pair, initAgentNameProperty: who}",
            "initAgentNameProperty: 'who' is never passed: 'pair' accepts 'question'",
        ),
        (
            "{name: pair, resumable: {receives_messages: side_b}, initUserMessageProperty: task}",
            "initUserMessageProperty: 'task' is never passed: 'pair' accepts no arguments",
        ),
        (
            "{name: asset_subagent, initUserMessageProperty: task}",
            "initUserMessageProperty: 'task' is never passed: 'asset_subagent' accepts 'message'",
        ),
        ("{name: expert, initUserMessageProperty: question}", None),
        ("{name: open, initUserMessageProperty: question}", None),
        ("{name: plain, initUserMessageProperty: question}", None),
    ],
)
def test_an_argument_that_the_target_does_not_take_is_told_with_those_that_it_takes(
    crowded: Project, entry: str, expected: str | None
) -> None:
    crowded.write("prompts/expert.md", f"---\nrequiredSchema: {SCHEMA}\n---\nI know.")
    either = f"{{type: object, anyOf: [{SCHEMA}]}}"
    crowded.write("prompts/open.md", f"---\nrequiredSchema: {either}\n---\nI know.")
    crowded.write("prompts/none.md", "---\nrequiredSchema: {type: object}\n---\nI know.")
    named = 'exposeAsTool = true\ntoolDescription = "Knows."\n'
    crowded.write("agents/consul.toml", f'{named}[sideA]\nprompt = "expert"')
    sides = 'maxSessionTurns = 2\n[sideA]\nprompt = "expert"\n[sideB]\nprompt = "none"'
    crowded.write("agents/pair.toml", f'type = "dual_ai"\n{named}{sides}')
    crowded.write("prompts/p.md", f"---\ntools: [{entry}]\n---\nGo.")
    catalog = crowded.catalog()

    told = [str(w) for w in warnings(catalog) if w.file == "prompts/p.md"]
    assert told == ([] if expected is None else [f"prompts/p.md: tools[0].{expected}"])
    assert catalog.prompt("p")


@pytest.mark.parametrize("key", ["includeChat", "include_past_tools"])
def test_switches_for_what_is_always_visible_have_no_effect_and_say_so(
    crowded: Project, key: str
) -> None:
    crowded.write("prompts/p.md", f"---\n{key}: false\n---\nGo.")
    catalog = crowded.catalog()

    (warning,) = warnings(catalog)
    assert str(warning).startswith(f"prompts/p.md: {key}: has no effect: a side always sees")
    assert catalog.prompt("p")


def test_includes_are_put_in_place_at_any_depth(project: Project) -> None:
    project.write("prompts/outer.md", "Start.\n{{include middle}}\nEnd.")
    project.write("prompts/middle.md", "[{{ include inner }}]\n")
    project.write("prompts/inner.md", "\nhere\n")
    project.write("agents/a.toml", 'systemPrompt = "A: {{include outer}}"')
    catalog = project.catalog()

    assert catalog.prompt("outer").render({}) == "Start.\n[here]\nEnd."
    assert catalog.definition("a").side_a.prompt.render({}) == "A: Start.\n[here]\nEnd."


def test_a_definition_may_include_a_prompt_of_its_own_name(project: Project) -> None:
    project.write("prompts/a.md", "Text.")
    project.write("agents/a.toml", 'systemPrompt = "{{include a}}"')

    assert project.definition("a").side_a.prompt.text == "Text."


def test_prompts_that_include_each_other_are_refused_with_the_circle(project: Project) -> None:
    project.write("prompts/a.md", "{{include b}}")
    project.write("prompts/b.md", "{{include c}}")
    project.write("prompts/c.md", "{{include b}}")

    assert set(errors(project.catalog())) == {
        "prompts/a.md: prompt: prompts include each other: b → c → b",
        "prompts/b.md: prompt: prompts include each other: b → c → b",
        "prompts/c.md: prompt: prompts include each other: c → b → c",
    }


def test_variables_are_filled_in_from_values(project: Project) -> None:
    project.write(
        "prompts/p.md",
        "---\nvariables: [{name: CITY, type: text}]\nenv: {DAY: monday}\n"
        "requiredSchema: {type: object, properties: {task: {}}}\n---\n"
        "{{task}} in {{ CITY }} on {{DAY}}.",
    )
    prompt = prompt_of(project, "p")

    assert prompt.placeholders == {"task", "CITY", "DAY"}
    assert (
        prompt.render({"task": "Walk", "CITY": "Rome", "DAY": "friday"})
        == "Walk in Rome on friday."
    )
    assert prompt.render({}) == " in  on ."


def test_a_value_is_not_read_as_a_variable(project: Project) -> None:
    project.write("prompts/p.md", "---\nenv: {A: '', B: ''}\n---\n{{A}}")

    assert prompt_of(project, "p").render({"A": "{{B}}", "B": "no"}) == "{{B}}"


def test_a_missing_required_variable_is_an_error_by_name(project: Project) -> None:
    project.write(
        "prompts/p.md", "---\nvariables: [{name: CITY, type: text, required: true}]\n---\n{{CITY}}"
    )

    with pytest.raises(UsageError, match="prompt 'p' needs a value for CITY"):
        prompt_of(project, "p").render({"OTHER": "x"})


def test_an_undeclared_name_stays_as_written_with_a_warning(project: Project) -> None:
    project.write("prompts/p.md", "---\nenv: {CITY: Rome}\n---\n{{CTY}} {{jinja}}")
    catalog = project.catalog()

    assert catalog.prompt("p").render({"CTY": "secret", "jinja": "secret"}) == "{{CTY}} {{jinja}}"
    assert [problem.message.partition(" is not a ")[0] for problem in warnings(catalog)] == [
        "{{CTY}}",
        "{{jinja}}",
    ]
    assert "did you mean 'CITY'?" in warnings(catalog)[0].message


def test_escaped_braces_are_just_braces(project: Project) -> None:
    project.write("prompts/q.md", "Q")
    project.write(
        "prompts/p.md", "---\nenv: {A: ''}\n---\n{{A}} \\{{A}} \\{{include q}} \\{{other}} { {A}}"
    )
    catalog = project.catalog()

    assert catalog.errors() == ()
    assert catalog.prompt("p").render({"A": "x"}) == "x {{A}} {{include q}} {{other}} { {A}}"


def test_a_secret_is_never_put_into_a_prompt(project: Project) -> None:
    (problem,) = prompt_errors(project, "variables: [TOKEN]", "Use {{TOKEN}}.")

    assert "TOKEN is a secret, and secrets are never inserted into a prompt" in problem


def test_variables_come_along_with_an_include_and_the_outer_declaration_wins(
    project: Project,
) -> None:
    project.write(
        "prompts/inner.md",
        "---\nvariables: [{name: A, type: text}, {name: B, type: text}]\n---\n{{A}}{{B}}",
    )
    project.write(
        "prompts/p.md",
        "---\nvariables: [{name: A, type: text, required: true}]\n---\n{{include inner}}",
    )
    prompt = prompt_of(project, "p")

    assert [(one.name, one.is_required) for one in prompt.variables] == [("A", True), ("B", False)]
    assert prompt.render({"A": "1", "B": "2"}) == "12"


def test_the_env_of_a_definition_fills_its_own_prompt(project: Project) -> None:
    project.write("agents/a.toml", 'systemPrompt = "In {{CITY}}."\n[env]\nCITY = "Rome"')

    assert project.definition("a").side_a.prompt.render({"CITY": "Rome"}) == "In Rome."


def test_an_unknown_prompt_is_not_found_with_near_names(crowded: Project) -> None:
    with pytest.raises(NotFoundError, match="there is no prompt 'plan'; did you mean 'plain'"):
        crowded.catalog().prompt("plan")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), (" YES ", True), ("no", False), ("", False), (None, False)],
)
def test_an_optional_entry_is_on_for_true_one_and_yes(value: str | None, expected: bool) -> None:
    assert is_switched_on(value) is expected


def test_options_of_a_tool_entry_are_said_to_have_no_effect(crowded: Project) -> None:
    crowded.write("prompts/p.md", "---\ntools: [{name: draw, options: {deep: 1}}]\n---\nGo.")
    (problem,) = crowded.catalog({"draw"}).errors()

    assert (problem.severity, problem.field) == ("warning", "tools[0].options")
    assert problem.message.startswith("has no effect")
