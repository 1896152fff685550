"""The four ways to write a definition down, and every field of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from retinue.definitions.definition import Packaging
from retinue.definitions.model_options import ModelOptions
from retinue.definitions.side import SessionToolBinding
from retinue.errors import UsageError
from tests.unit.definitions.project import Project, errors, warnings

SEED_EXAMPLE = Path(__file__).with_name("seed_agents.json").read_text("utf-8")

HELPER_OF_THE_SPECIFICATION = """
# agents/helper.toml
name = "helper"
displayName = "Helper"
description = "Answers questions and orders things."
systemPrompt = "You help."
model = "local:small"
toolAllowlist = ["order", "time"]
"""


def test_the_example_of_the_seed_loads_unchanged(project: Project) -> None:
    project.write("agents/agents.json", SEED_EXAMPLE)
    catalog = project.catalog()

    assert errors(catalog) == []
    assert [one.name for one in catalog.definitions()] == [
        "general",
        "journal",
        "reading-list",
        "todo",
    ]
    reading = catalog.definition("reading-list")
    assert reading.display_name == reading.description == "Reading List Manager"
    told = reading.side_a.prompt.render({})
    assert told.startswith("You are a reading list manager. Help the user")
    assert reading.tool_allowlist == ("reading_list_*",)
    assert reading.tool_denylist == ("reading_list_delete",)
    assert reading.tool_exposure == "mixed"
    assert reading.skill_allowlist == ("notes",)
    assert reading.skill_denylist is None
    assert reading.capability_allowlist == ("lists.*",)
    assert reading.capability_denylist == ("lists.write",)
    assert reading.agent_allowlist == ("todo", "journal")
    assert reading.ui_visible
    assert catalog.definition("general").tool_allowlist is None


def test_the_helper_of_the_specification_loads_without_a_word(project: Project) -> None:
    project.write("agents/helper.toml", HELPER_OF_THE_SPECIFICATION)
    catalog = project.catalog({"order", "time"})
    helper = catalog.definition("helper")

    assert catalog.errors() == ()
    assert helper.kind == "ai_human"
    assert helper.model == "local:small"
    assert helper.tool_allowlist == ("order", "time")
    assert helper.side_a.prompt.text == "You help."
    assert helper.side_a.prompt.tools is None
    assert helper.side_a.stop_on_response
    assert helper.side_b is None
    assert helper.file == "agents/helper.toml"


def test_markdown_is_front_matter_and_prompt(project: Project) -> None:
    project.write(
        "agents/guide.md",
        "---\ndisplayName: Guide\ndescription: Shows the way.\ntoolAllowlist: []\n---\n\n"
        "You show the way.\n\n---\nPolitely.\n",
    )
    guide = project.definition("guide")

    assert guide.display_name == "Guide"
    assert guide.tool_allowlist == ()
    assert guide.side_a.prompt.text == "You show the way.\n\n---\nPolitely."


def test_markdown_without_front_matter_is_all_prompt(project: Project) -> None:
    project.write("agents/guide.md", "You show the way.\n\n---\n\nPolitely.")

    assert project.definition("guide").side_a.prompt.text == "You show the way.\n\n---\n\nPolitely."


def test_markdown_with_windows_line_ends_and_a_byte_order_mark_loads(project: Project) -> None:
    project.write("agents/guide.md", "\ufeff---\r\ndisplayName: Guide\r\n---\r\nGo.\r\nThere.\r\n")
    guide = project.definition("guide")

    assert (guide.display_name, guide.side_a.prompt.text) == ("Guide", "Go.\nThere.")


def test_a_single_json_object_takes_its_name_from_the_file(project: Project) -> None:
    project.write("agents/solo.json", '{"systemPrompt": "Hi."}')

    assert project.definition("solo").display_name == "solo"


def test_toml_can_hold_many_definitions_too(project: Project) -> None:
    project.write("agents/all.toml", '[[agents]]\nname = "a"\n[[agents]]\nagentId = "b"')

    assert [one.name for one in project.catalog().definitions()] == ["a", "b"]


@pytest.mark.parametrize("style", ["camel", "snake"])
def test_every_field_is_read_in_both_spellings(project: Project, style: str) -> None:
    project.write("agents/peer.toml", "")
    project.write("hooks/two.py", HOOKS)
    project.write(f"agents/{style}.toml", CAMEL if style == "camel" else SNAKE)
    full = project.definition(style)

    assert replace(full, warnings=(), name="x", file="") == replace(
        full,
        warnings=(),
        name="x",
        file="",
        display_name="Full",
        description="All of it.",
        model="m",
        fallback_models=("n", "o"),
        options=ModelOptions(temperature=0.5, max_tokens=100, reasoning_effort="high"),
        tool_allowlist=("a*",),
        tool_denylist=("ab",),
        tool_exposure="skills",
        tool_approvals=("a_*",),
        skill_allowlist=(),
        skill_denylist=("s",),
        capability_allowlist=("c",),
        capability_denylist=("d",),
        agent_allowlist=("peer",),
        agent_denylist=(),
        ui_visible=False,
        icon="/icon.svg",
        color="#abc",
        expose_as_tool=True,
        tool_description="Call it.",
        env={"CITY_name": "Paris"},
        hooks=("first", "second"),
        packaging=Packaging(package_name="p", version="1", author="me", license="MIT"),
    )
    side = full.side_a
    assert (side.label, side.stop_on_response, side.max_steps) == ("Worker", False, 7)
    assert (side.stop_tool, side.stop_tool_response_property) == ("a_stop", "text")
    assert side.session_stop == SessionToolBinding(
        name="a_done", message_property="summary", attachments_property="files"
    )
    assert side.session_fail == SessionToolBinding(name="a_fail")
    assert side.session_status == SessionToolBinding(name="a_tell")
    assert side.has_terminal_binding


HOOKS = """
from retinue import define_hook

define_hook(hook="filter_messages", id="first", execute=print)
define_hook(hook="filter_messages", id="second", execute=print)
"""
CAMEL = """
displayName = "Full"
description = "All of it."
model = "m"
fallbackModels = ["n", "o"]
temperature = 0.5
maxTokens = 100
reasoning = "high"
systemPrompt = "Go."
toolAllowlist = ["a*"]
toolDenylist = ["ab"]
toolExposure = "skills"
toolApprovals = ["a_*"]
skillAllowlist = []
skillDenylist = ["s"]
capabilityAllowlist = ["c"]
capabilityDenylist = ["d"]
agentAllowlist = ["peer"]
agentDenylist = []
uiVisible = false
icon = "/icon.svg"
color = "#abc"
exposeAsTool = true
toolDescription = "Call it."
hooks = ["first", "second"]
packageName = "p"
version = "1"
author = "me"
license = "MIT"
[env]
CITY_name = "Paris"
[sideA]
label = "Worker"
stopOnResponse = false
stopTool = "a_stop"
stopToolResponseProperty = "text"
maxSteps = 7
sessionStop = {name = "a_done", messageProperty = "summary", attachmentsProperty = "files"}
sessionFail = "a_fail"
[sideA.sessionStatus]
name = "a_tell"
"""
SNAKE = """
display_name = "Full"
description = "All of it."
model = "m"
fallbacks = ["n", "o"]
temperature = 0.5
max_tokens = 100
reasoning = {effort = "high"}
system_prompt = "Go."
tool_allowlist = ["a*"]
tool_denylist = ["ab"]
tool_exposure = "skills"
tool_approvals = ["a_*"]
skill_allowlist = []
skill_denylist = ["s"]
capability_allowlist = ["c"]
capability_denylist = ["d"]
agent_allowlist = ["peer"]
agent_denylist = []
ui_visible = false
icon = "/icon.svg"
color = "#abc"
expose_as_tool = true
tool_description = "Call it."
hooks = ["first", "second"]
package_name = "p"
version = "1"
author = "me"
license = "MIT"
[env]
CITY_name = "Paris"
[side_a]
label = "Worker"
stop_on_response = false
stop_tool = "a_stop"
stop_tool_response_property = "text"
max_steps = 7
session_stop = {name = "a_done", message_property = "summary", attachments_property = "files"}
session_fail = "a_fail"
[side_a.session_status]
name = "a_tell"
"""


def test_the_type_chat_is_a_conversation_with_a_person(project: Project) -> None:
    project.write("agents/talk.toml", 'type = "chat"')
    talk = project.definition("talk")

    assert talk.kind == "ai_human"
    with pytest.raises(UsageError, match="has a user on side B"):
        talk.side("side_b")


def test_null_is_the_same_as_absent(project: Project) -> None:
    project.write(
        "agents/a.json", '{"toolAllowlist": null, "type": null, "sideA": {"stopTool": null}}'
    )
    definition = project.definition("a")

    assert definition.tool_allowlist is None
    assert definition.kind == "ai_human"


def test_an_allowlist_left_empty_in_front_matter_is_pointed_out(project: Project) -> None:
    project.write("agents/a.md", "---\ndescription: x\ntoolAllowlist:\n---\nHi.")
    catalog = project.catalog()

    assert catalog.definition("a").tool_allowlist is None
    (warning,) = warnings(catalog)
    assert str(warning) == (
        "agents/a.md: toolAllowlist: is empty and therefore allows everything; "
        "write [] to allow nothing"
    )


@pytest.mark.parametrize(
    "name", ["agents/.hidden.toml", "agents/_draft.toml", "agents/README.md", "agents/deep/a.toml"]
)
def test_files_that_are_no_definitions_are_left_alone(project: Project, name: str) -> None:
    project.write("agents/real.toml", "")
    project.write(name, "= nonsense")
    catalog = project.catalog()

    assert catalog.errors() == ()
    assert [one.name for one in catalog.definitions()] == ["real"]


def test_a_file_with_a_suffix_that_is_not_read_is_pointed_out(project: Project) -> None:
    project.write("agents/real.toml", "")
    project.write("agents/a.yaml", "name: a")
    project.write("prompts/b.toml", "")

    assert project.problems() == [
        "agents/a.yaml: is ignored: agents/ contains *.json, *.md, *.py, *.toml",
        "prompts/b.toml: is ignored: prompts/ contains *.md, *.py",
    ]


def test_other_keys_of_a_collection_are_pointed_out(project: Project) -> None:
    project.write("agents/real.toml", "")
    project.write("agents/all.json", '{"agents": [], "plugins": {}}')

    assert project.problems() == [
        "agents/all.json: plugins: is ignored next to agents and templates; "
        "settings belong in retinue.toml"
    ]


@pytest.mark.parametrize(
    ("field", "advice"),
    [
        ('title = "Old"', "agents/a.toml: title: is deprecated: write 'displayName'"),
        ("pinned = true", "agents/a.toml: pinned: is deprecated and has no effect"),
        ('tenvs = {A = "b"}', "agents/a.toml: tenvs: is deprecated: write 'env'"),
        (
            'sideA = {endSessionTool = "done"}',
            "agents/a.toml: sideA.endSessionTool: is deprecated: write 'sessionStop'",
        ),
        (
            'sideA = {failSessionTool = "done"}',
            "agents/a.toml: sideA.failSessionTool: is deprecated: write 'sessionFail'",
        ),
        (
            'sideA = {status_tool = "done"}',
            "agents/a.toml: sideA.status_tool: is deprecated: write 'sessionStatus'",
        ),
    ],
)
def test_a_deprecated_field_is_accepted_and_says_its_replacement(
    project: Project, field: str, advice: str
) -> None:
    project.write("agents/a.toml", f'description = "x"\n{field}')
    catalog = project.catalog()

    (warning,) = warnings(catalog)
    assert str(warning).startswith(advice)
    assert catalog.definition("a").warnings == (str(warning),)


def test_the_new_name_of_a_field_wins_over_the_deprecated_one(project: Project) -> None:
    project.write("agents/a.toml", 'title = "Old"\ndisplayName = "New"')

    assert project.definition("a").display_name == "New"


def test_a_deprecated_binding_still_binds(project: Project) -> None:
    project.write("agents/a.toml", '[sideA]\nendSessionTool = "done"')

    assert project.definition("a").side_a.session_stop == SessionToolBinding(name="done")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ('description = "x"\nmaxSessionTurns = 3', "maxSessionTurns: has no effect without type"),
        ('description = "x"\n[sideB]\nprompt = "b"', "sideB: has no effect without type"),
        ('description = "x"\ntoolDenylist = ["ordr"]', "toolDenylist[0]: unknown tool 'ordr'; did"),
        ('description = "x"\ntoolApprovals = ["q"]', "toolApprovals[0]: unknown tool 'q'"),
        ('description = "x"\nagentAllowlist = ["b*", "c"]', "agentAllowlist[1]: unknown agent 'c'"),
    ],
)
def test_what_loads_but_looks_wrong_is_a_warning(project: Project, text: str, warning: str) -> None:
    project.write("agents/a.toml", text)
    catalog = project.catalog({"order"})

    (problem,) = catalog.errors()
    assert not problem.is_error
    assert str(problem).startswith(f"agents/a.toml: {warning}")


def test_tools_that_need_approval_are_found_by_pattern(project: Project) -> None:
    project.write("agents/a.toml", 'toolApprovals = ["shell", "git_*"]')
    definition = project.definition("a")

    assert definition.needs_approval("git_push")
    assert not definition.needs_approval("time")
