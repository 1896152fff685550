"""What a definition takes over from templates with `extends`."""

from retinue.definitions.templates import merged
from tests.unit.definitions.project import Project, errors

BASE = """
model = "m"
toolAllowlist = ["a", "b"]
uiVisible = false
[env]
CITY = "Rome"
DAY = "monday"
[sideA]
maxSteps = 5
sessionStop = "done"
"""


def test_tables_recurse_and_all_else_is_replaced() -> None:
    base = {"list": [1, 2], "table": {"a": 1, "b": {"c": 1}}, "value": 1}

    assert merged(base, {"list": [3], "table": {"b": {"d": 2}}, "value": None}) == {
        "list": [3],
        "table": {"a": 1, "b": {"c": 1, "d": 2}},
        "value": None,
    }
    assert base["table"] == {"a": 1, "b": {"c": 1}}


def test_a_definition_inherits_what_it_does_not_say(project: Project) -> None:
    project.write("agents/templates/base.toml", BASE)
    project.write(
        "agents/a.toml",
        'extends = "base"\ntool_allowlist = ["done"]\n[env]\nCITY = "Paris"\n'
        '[side_a]\nsession_stop = {messageProperty = "text"}',
    )
    definition = project.definition("a")

    assert definition.model == "m"
    assert definition.tool_allowlist == ("done",)
    assert definition.ui_visible is False
    assert definition.env == {"CITY": "Paris", "DAY": "monday"}
    assert definition.side_a.max_steps == 5
    assert definition.side_a.session_stop is not None
    assert definition.side_a.session_stop.name == "done"
    assert definition.side_a.session_stop.message_property == "text"


def test_null_deletes_what_was_inherited(project: Project) -> None:
    project.write("agents/templates/base.toml", BASE)
    project.write(
        "agents/a.json",
        '{"extends": "base", "toolAllowlist": null, "model": null, "env": null,'
        ' "sideA": {"sessionStop": null}}',
    )
    definition = project.definition("a")

    assert definition.tool_allowlist is None
    assert definition.model is None
    assert definition.env == {}
    assert definition.side_a.session_stop is None
    assert definition.side_a.max_steps == 5


def test_templates_extend_templates_and_later_ones_win(project: Project) -> None:
    project.write(
        "agents/all.json",
        """{
        "templates": {
            "base": {"model": "base", "icon": "base", "color": "base"},
            "middle": {"extends": "base", "icon": "middle"},
            "other": {"color": "other", "model": null}
        },
        "agents": [{"agentId": "a", "extends": ["middle", "other"]}]
        }""",
    )
    definition = project.definition("a")

    assert (definition.model, definition.icon, definition.color) == (None, "middle", "other")


def test_the_text_of_a_markdown_template_is_its_prompt(project: Project) -> None:
    project.write("agents/templates/polite.md", "---\nmodel: m\n---\nYou are polite.")
    project.write("agents/a.toml", 'extends = "polite"')

    assert project.definition("a").side_a.prompt.text == "You are polite."


def test_a_template_alone_defines_no_agent(project: Project) -> None:
    project.write("agents/templates/base.toml", BASE)

    assert [one.name for one in project.catalog().definitions()] == ["assistant"]


def test_templates_that_extend_each_other_are_refused_with_the_circle(project: Project) -> None:
    project.write("agents/templates/x.toml", 'extends = "y"')
    project.write("agents/templates/y.toml", 'extends = ["x"]')
    project.write("agents/a.toml", 'extends = "x"')

    assert errors(project.catalog()) == [
        "agents/a.toml: extends: templates extend each other: x → y → x "
        "(in agents/templates/y.toml)"
    ]


def test_an_unknown_template_is_refused_with_the_nearest(project: Project) -> None:
    project.write("agents/templates/base.toml", BASE)
    project.write("agents/a.toml", 'extends = "bsae"')

    assert errors(project.catalog()) == [
        "agents/a.toml: extends: unknown template 'bsae'; did you mean 'base'?"
    ]


def test_a_template_that_does_not_load_is_named_by_who_extends_it(project: Project) -> None:
    project.write("agents/templates/base.toml", "uiVisible = 3")
    project.write("agents/a.toml", 'extends = "base"')

    assert errors(project.catalog()) == [
        "agents/templates/base.toml: uiVisible: expected true or false, got 3",
        "agents/a.toml: extends: template 'base' does not load",
    ]


def test_a_template_gives_no_identity(project: Project) -> None:
    project.write("agents/templates/base.toml", 'displayName = "All the same"')

    assert errors(project.catalog()) == [
        "agents/templates/base.toml: displayName: "
        "is not allowed in a template; each definition has its own"
    ]


def test_two_templates_with_one_name_are_refused(project: Project) -> None:
    project.write("agents/all.json", '{"templates": {"base": {"model": "first"}}}')
    project.write("agents/templates/base.toml", 'model = "second"')
    project.write("agents/z.toml", 'extends = "base"')
    catalog = project.catalog()

    assert errors(catalog) == [
        "agents/templates/base.toml: template 'base' is already defined in agents/all.json"
    ]
    assert catalog.definition("z").model == "first"


def test_an_inherited_value_of_the_wrong_type_is_told_at_the_template(project: Project) -> None:
    project.write("agents/templates/base.toml", "typo = 1")
    project.write("agents/a.toml", 'extends = "base"')

    assert (
        errors(project.catalog())[0]
        == "agents/templates/base.toml: typo: unknown key 'typo'; did you mean 'type'?"
    )


def test_a_template_may_leave_out_what_every_definition_adds(project: Project) -> None:
    project.write("agents/templates/far.toml", 'sideA = {sessionStop = {messageProperty = "m"}}')
    project.write("agents/a.toml", 'extends = "far"\n[sideA.sessionStop]\nname = "done"')

    stop = project.definition("a").side_a.session_stop
    assert stop is not None
    assert (stop.name, stop.message_property) == ("done", "m")
