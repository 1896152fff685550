"""What does not load says which file, which field, and what was expected."""

import pytest

from retinue.errors import DefinitionError, NotFoundError
from tests.unit.definitions.project import Project

ONE_DEFINITION = [
    ("name = 3", "name: expected text, got a number"),
    ('name = "two words"', "name: expected at most 64 letters, digits, '_', '-' and '.'"),
    ('name = "../up"', "name: expected at most 64 letters, digits"),
    ('type = "robot"', "type: expected one of 'ai_human', 'dual_ai' or 'chat', got"),
    ('toolAllowlist = "time"', "toolAllowlist: expected a list, got 'time'"),
    ('toolAllowlist = ["a", 3]', "toolAllowlist[1]: expected text, got a number"),
    ('tool_allowlist = ["a", ""]', "tool_allowlist[1]: expected text that is not empty, got ''"),
    ('uiVisible = "yes"', "uiVisible: expected true or false, got 'yes'"),
    ('systemPrompt = ""', "systemPrompt: expected text that is not empty"),
    ("maxSessionTurns = 0", "maxSessionTurns: expected a number of 1 or more, got 0"),
    ("maxSessionTurns = 1.5", "maxSessionTurns: expected a whole number, got 1.5"),
    ('toolExposure = "all"', "toolExposure: expected one of 'tools', 'skills' or 'mixed'"),
    ("env = {A = 1}", "env.A: expected text, got a number"),
    ("chat = {provider = 1}", "chat.provider: expected text"),
    ('toolAlowlist = ["a"]', "unknown key 'toolAlowlist'; did you mean 'toolAllowlist'?"),
    ('tool_alowlist = ["a"]', "unknown key 'tool_alowlist'; did you mean 'tool_allowlist'?"),
    ('sideA = {stopTol = "x"}', "unknown key 'sideA.stopTol'; did you mean 'sideA.stopTool'?"),
    ('tools = ["a"]', "unknown key 'tools'; use toolAllowlist, or list them in a prompt"),
    ('instructions = "Go."', "unknown key 'instructions'; use systemPrompt"),
    ('toolDenylist = ["a"]\ntool_denylist = ["b"]', "toolDenylist: is set twice"),
    ('sideA = {prompt = "missing"}', "sideA.prompt: unknown prompt 'missing'"),
    (
        'sideA = {stopToolResponseProperty = "x"}',
        "sideA.stopToolResponseProperty: needs a stopTool",
    ),
    ("sideA = {max_steps = 1}\nsideB = {maxSteps = 0}", "sideB.maxSteps: expected a number"),
    ('maxTokens = 0\nenv = {max_tokens = "x"}', "maxTokens: expected a number of 1 or more"),
    ('sideA = {sessionStop = {messageProperty = "x"}}', "sideA.sessionStop.name: is required"),
    ('type = "external"', "type: expected one of 'ai_human', 'dual_ai' or 'chat', got 'external'"),
    ('external = {inputUrl = "a"}', "unknown key 'external'; agents of other systems are not"),
    ('chat = "pi"', "chat.provider: unsupported provider 'pi': write it before the name of the"),
    ('[chat]\nprovider = "openai"', "chat.provider: unsupported provider 'openai'"),
    ('type = "dual_ai"', "sideB: is required when type is 'dual_ai'"),
    ('type = "dual_ai"\nsystemPrompt = "x"', "systemPrompt: is for one AI side"),
    (
        'type = "dual_ai"\nsideA = {label = "A"}\nsideB = {prompt = "b"}',
        "sideA.prompt: is required",
    ),
    (
        'exposeAsTool = true\nname = "a.b"',
        "name: expected only letters, digits, '_' and '-', because exposeAsTool makes it a tool",
    ),
    (
        'toolDenylist = ["done"]\nsideA = {stopTool = "done"}',
        "sideA.stopTool: tool 'done' is refused",
    ),
    ("temperature = 3", "temperature: expected a number of 2.0 or less"),
    ('extends = "basis"', "extends: unknown template 'basis'"),
    ("extends = [1]", "extends: expected the name of a template, or a list of them"),
    ('systemPrompt = "{{include missing}}"', "systemPrompt: include of unknown prompt 'missing'"),
]


@pytest.mark.parametrize(("text", "expected"), ONE_DEFINITION)
def test_a_definition_that_does_not_load_names_file_field_and_expectation(
    project: Project, text: str, expected: str
) -> None:
    project.write("agents/a.toml", text)

    problems = [problem for problem in project.problems() if expected in problem]
    assert problems, project.problems()
    assert problems[0].startswith("agents/a.toml: ")
    with pytest.raises(NotFoundError, match="because a file does not load: agents/a"):
        project.catalog().definition("a")


def test_all_that_is_wrong_with_a_definition_is_told_at_once(project: Project) -> None:
    project.write("agents/a.toml", 'type = "x"\nuiVisible = 1\ntoolAllowlist = 2')

    assert [problem.field for problem in project.catalog().errors()] == [
        "type",
        "toolAllowlist",
        "uiVisible",
    ]


def test_an_error_in_a_collection_names_its_place(project: Project) -> None:
    project.write(
        "agents/all.json",
        '{"agents": [{"agentId": "fine"}, {"agentId": "bad", "sideA": {"maxSteps": "9"}},'
        ' {}, {"agentId": 3}]}',
    )
    catalog = project.catalog()
    problems = [str(problem) for problem in catalog.errors() if problem.is_error]

    assert problems == [
        "agents/all.json: agents[1].sideA.maxSteps: expected a whole number, got '9'",
        "agents/all.json: agents[2].name: is required",
        "agents/all.json: agents[3].agentId: expected text, got a number",
    ]
    assert catalog.definition("fine")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("agents/a.toml", 'name = "a"\nmodel = = 1', "agents/a.toml:2: not valid TOML: Invalid"),
        (
            "agents/a.json",
            '{"name": "a",\n "model": }',
            "agents/a.json:2: not valid JSON: Expecting",
        ),
        ("agents/a.json", "[]", "agents/a.json: expected a JSON object"),
        ("agents/a.json", '{"agents": {}}', "agents/a.json: agents: expected a list"),
        ("agents/a.json", '{"agents": [1]}', "agents/a.json: agents[0]: expected a table"),
        ("agents/a.json", '{"templates": []}', "agents/a.json: templates: expected a table"),
        (
            "agents/a.json",
            '{"toolDenylist": ["a"], "toolDenylist": []}',
            "agents/a.json: not valid JSON: key 'toolDenylist' is set twice",
        ),
        (
            "agents/a.json",
            '{"systemPrompt": "\\ud800"}',
            "agents/a.json: contains an invalid character",
        ),
        ("agents/a.json", '{"env":' * 9000, "agents/a.json: is nested too deeply"),
        ("agents/a.md", "---\nname: [\n---\n", "agents/a.md:3: front matter is not valid YAML"),
        ("agents/a.md", "---\nname: a\nGo.", "agents/a.md:1: the front matter has no closing ---"),
        ("agents/a.md", "---\n- a\n---\n", "agents/a.md: expected keys and values in the front"),
        (
            "agents/a.md",
            "---\nmodel: a\nx:\n  model: b\nmodel: b\n---\n",
            "agents/a.md:5: front matter is not valid YAML: key 'model' is set twice",
        ),
        (
            "agents/a.md",
            "---\nsystemPrompt: a\n---\nb",
            "agents/a.md: systemPrompt: is set twice: here and as the text below",
        ),
        (
            "agents/a.md",
            "---\nenv: {? [a, b] : c}\n---\n",
            "agents/a.md:2: front matter is not valid YAML: found unhashable key",
        ),
        (
            "agents/a.md",
            "---\nenv: &env {A: *env}\n---\n",
            "agents/a.md: is nested too deeply",
        ),
    ],
)
def test_a_file_that_cannot_be_parsed_names_the_line(
    project: Project, name: str, text: str, expected: str
) -> None:
    project.write(name, text)

    (problem,) = project.problems()
    assert problem.startswith(expected)


def test_a_file_that_is_not_text_names_the_line(project: Project) -> None:
    project.write("agents/a.toml", "")
    (project.path / "agents/a.toml").write_bytes(b'name = "a"\nmodel = "\xff"')

    assert project.problems() == ["agents/a.toml:2: expected UTF-8 text"]


def test_a_file_that_is_too_large_is_refused(project: Project) -> None:
    project.write("agents/a.md", "x" * 1_048_577)

    assert project.problems() == ["agents/a.md: is larger than 1048576 bytes"]


def test_of_two_definitions_with_one_name_both_files_are_named(project: Project) -> None:
    project.write("agents/a.toml", 'name = "twin"\nmodel = "first"\ndescription = "x"')
    project.write("agents/b.toml", 'name = "twin"\nmodel = "second"\ndescription = "x"')
    catalog = project.catalog()

    assert [str(problem) for problem in catalog.errors()] == [
        "agents/b.toml: name: 'twin' is already defined in agents/a.toml"
    ]
    assert catalog.definition("twin").model == "first"


def test_two_definitions_with_one_name_in_one_file_are_told_apart(project: Project) -> None:
    project.write("agents/all.json", '{"agents": [{"agentId": "a"}, {"agentId": "a"}]}')

    assert (
        "agents/all.json: agents[1].agentId: 'a' is already defined in agents/all.json (agents[0])"
        in (project.problems()[0])
    )


def test_a_problem_converts_to_the_error_with_its_parts(project: Project) -> None:
    project.write("agents/a.toml", "type = 3")
    (problem,) = project.catalog().errors()

    error = problem.as_error()
    assert isinstance(error, DefinitionError)
    assert (error.file, error.field, error.line) == ("agents/a.toml", "type", None)


def test_one_broken_file_leaves_the_others_alone(project: Project) -> None:
    project.write("agents/broken.toml", "= ")
    project.write("agents/fine.toml", "")
    catalog = project.catalog()

    assert [one.name for one in catalog.definitions()] == ["fine"]


EVERYTHING_AT_ONCE = [
    (
        "a.toml",
        'modle = "x"\nuiVisible = 3\nsideA = {prompt = 5}\n',
        ["modle", "sideA.prompt", "uiVisible"],
    ),
    (
        "a.md",
        "---\nbogus: 1\nuiVisible: 3\n---\n{{include missing}}\n",
        ["bogus", "uiVisible"],
    ),
    (
        "a.md",
        "---\nbogus: 1\nsideA: {stopTool: t}\ntoolDenylist: [t]\n---\n{{include missing}}\n",
        ["bogus", "systemPrompt", "sideA.stopTool"],
    ),
    (
        "a.json",
        '{"agents": [5, {"name": "b", "bogus": 1}, {"color": 1}], "templates": {"t": 1}}',
        ["agents[0]", "templates.t", "agents[1].bogus", "agents[2].color", "agents[2].name"],
    ),
    (
        "a.py",
        "from retinue import define_agent\n"
        "define_agent(name='b', bogus=1, ui_visible=3)\n"
        "define_agent(name='c', model=1)\n",
        ["bogus", "ui_visible", "model"],
    ),
    ("a.toml", 'extends = "missing"\nuiVisible = 3\n', ["extends", "uiVisible"]),
    (
        "a.toml",
        'type = "dual_ai"\nsystemPrompt = "x"\nsideB = {prompt = "missing"}\n',
        ["sideA", "systemPrompt", "sideB.prompt"],
    ),
]


@pytest.mark.parametrize(("file", "text", "fields"), EVERYTHING_AT_ONCE)
def test_everything_wrong_with_a_file_is_told_at_once(
    project: Project, file: str, text: str, fields: list[str]
) -> None:
    project.write(f"agents/{file}", text)
    told = [problem for problem in project.catalog().errors() if problem.is_error]
    assert [problem.field for problem in told] == fields
    assert {problem.file for problem in told} == {f"agents/{file}"}
