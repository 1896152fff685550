"""Packages: their entry agents by name, and nothing else of them in sight."""

import pytest

from retinue.definitions.catalog import Catalog
from retinue.definitions.prompt import FunctionEntry, HandoffEntry, SubPromptEntry
from retinue.definitions.subagent_config import SubagentConfig
from retinue.errors import NotFoundError
from tests.unit.definitions.project import Project, errors

MANIFEST = 'name = "{name}"\nversion = "1.2.0"\nentryAgents = ["{entry}"]\n'


def package(project: Project, name: str, entry: str, **files: str) -> None:
    folder = f"packages/{name}"
    project.write(f"{folder}/retinue-package.toml", MANIFEST.format(name=name, entry=entry))
    for path, text in files.items():
        at = path.index("_")
        project.write(f"{folder}/{path[:at]}/{path[at + 1 :]}", text)


def agent(text: str = "") -> dict[str, str]:
    return {"agents_maker.toml": text}


def names(catalog: Catalog) -> list[str]:
    return [one.name for one in catalog.definitions()]


def team(project: Project) -> Catalog:
    """A package in which everything names something else of it."""
    package(
        project,
        "studio",
        "maker",
        **{
            "agents_maker.toml": '[sideA]\nprompt = "main"',
            "agents_desk.toml": "exposeAsTool = true\ndescription = 'Takes over.'",
            "agents_pair.toml": "type = 'dual_ai'\nexposeAsTool = true\ndescription = 'Two.'\n"
            "maxSessionTurns = 4\nsideA.prompt = 'sub'\nsideB.prompt = 'sub'",
            "prompts_main.md": "---\ntools: [desk, pair, sub]\n---\nMake. {{include tone}}",
            "prompts_sub.md": "Answer.",
            "prompts_tone.md": "Be kind.",
        },
    )
    project.write("prompts/tone.md", "Be rude.")
    return project.catalog(known_tools=())


def test_only_entry_agents_are_seen_from_outside(project: Project) -> None:
    catalog = team(project)

    assert errors(catalog) == []
    assert names(catalog) == ["assistant", "maker"]
    maker = catalog.public("maker")
    assert maker.home is not None
    assert (maker.home.package, maker.home.version) == ("studio", "1.2.0")
    assert maker.file == "packages/studio/agents/maker.toml"
    for private in ("desk", "studio/desk"):
        with pytest.raises(NotFoundError):
            catalog.public(private)


def test_names_inside_lead_to_what_the_package_has(project: Project) -> None:
    catalog = team(project)
    prompt = catalog.definition("maker").side_a.prompt

    assert prompt.text == "Make. Be kind."
    assert {entry.name: type(entry) for entry in prompt.tools or ()} == {
        "desk": HandoffEntry,
        "pair": SubagentConfig,
        "sub": SubPromptEntry,
    }
    keys = [entry.key for entry in prompt.tools or () if not isinstance(entry, FunctionEntry)]
    assert keys == ["studio/desk", "studio/pair", "studio/sub"]
    assert catalog.definition("studio/desk").name == "studio/desk"
    assert catalog.definition("studio/pair").is_dual
    assert catalog.prompt("studio/sub").text == "Answer."


def test_a_package_knows_its_own_agents_by_their_names_and_no_others(project: Project) -> None:
    catalog = team(project)
    project.write("agents/boss.toml", "")
    catalog = project.refresh()
    maker = catalog.definition("maker")

    assert [one.name for one in catalog.around(maker)] == ["desk", "maker", "pair"]
    assert catalog.key(maker, "desk") == "studio/desk"
    assert catalog.key(maker, "maker") == "maker"
    assert [one.name for one in catalog.around(catalog.definition("boss"))] == ["boss", "maker"]


def test_a_package_cannot_name_what_the_project_has(project: Project) -> None:
    project.write("agents/boss.toml", "exposeAsTool = true\ndescription = 'b'")
    project.write("prompts/tone.md", "Be rude.")
    prompt = "---\ntools: [boss, deploy]\n---\n{{include tone}}"
    package(
        project,
        "studio",
        "maker",
        **{"agents_maker.toml": '[sideA]\nprompt = "main"', "prompts_main.md": prompt},
    )

    told = project.problems(known_tools=["deploy"])

    assert any("include of unknown prompt 'tone'" in one for one in told)
    assert any("there is no tool, prompt or agent 'boss'" in one for one in told)
    assert any("there is no tool, prompt or agent 'deploy'" in one for one in told)
    assert all(one.startswith("packages/studio/") for one in told)


def test_the_project_can_call_an_entry_agent(project: Project) -> None:
    package(project, "studio", "maker", **agent("exposeAsTool = true\ndescription = 'Makes.'"))
    project.write("agents/boss.toml", '[sideA]\nprompt = "boss"')
    project.write("prompts/boss.md", "---\ntools: [maker]\n---\nBoss.")

    boss = project.definition("boss", known_tools=())

    assert [entry.name for entry in boss.side_a.prompt.tools or ()] == ["maker"]


def test_a_name_that_the_project_has_already_is_an_error_that_names_both(project: Project) -> None:
    project.write("agents/maker.toml", 'displayName = "Mine"')
    package(project, "studio", "maker", **agent('displayName = "Theirs"'))

    catalog = project.catalog()

    assert errors(catalog) == [
        "packages/studio/retinue-package.toml: entryAgents[0]: the agent 'maker' already exists, "
        "from agents/maker.toml"
    ]
    assert catalog.public("maker").display_name == "Mine"
    assert catalog.definition("studio/maker").display_name == "Theirs"


def test_a_name_that_another_package_has_already_is_an_error_that_names_both(
    project: Project,
) -> None:
    package(project, "first", "maker", **agent('displayName = "First"'))
    package(project, "second", "maker", **agent('displayName = "Second"'))

    catalog = project.catalog()

    assert errors(catalog) == [
        "packages/second/retinue-package.toml: entryAgents[0]: the agent 'maker' already exists, "
        "from packages/first/retinue-package.toml"
    ]
    assert catalog.public("maker").display_name == "First"


def test_a_package_is_there_once(project: Project) -> None:
    package(project, "studio", "maker", **agent())
    manifest = MANIFEST.format(name="Studio", entry="maker")
    project.write("packages/studio-copy/retinue-package.toml", manifest)

    assert project.problems() == [
        "packages/studio-copy/retinue-package.toml: name: package 'Studio' is in packages/studio "
        "already"
    ]


def test_packages_follow_their_files_and_keep_what_worked(project: Project) -> None:
    package(project, "studio", "maker", **agent('displayName = "One"'))
    catalog = project.catalog()

    project.write("packages/studio/agents/maker.toml", 'displayName = "Two"')
    catalog = project.refresh()
    assert catalog.public("maker").display_name == "Two"

    project.write("packages/studio/agents/maker.toml", "displayName = ")
    catalog = project.refresh()
    assert catalog.public("maker").display_name == "Two"
    (problem,) = catalog.errors()
    assert (problem.file, problem.using_last_good) == ("packages/studio/agents/maker.toml", True)

    project.write("packages/studio/retinue-package.toml", "name = ")
    catalog = project.refresh()
    assert catalog.public("maker").display_name == "Two"

    project.delete("packages/studio/retinue-package.toml")
    catalog = project.refresh()
    assert names(catalog) == ["assistant"]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ('version = "1"\nentryAgents = ["a"]', "name: is required"),
        ('name = "../x"\nversion = "1"\nentryAgents = ["a"]', "name: expected at most 64 letters"),
        ('name = "x"\nversion = "new"\nentryAgents = ["a"]', "version: expected a version"),
        ('name = "x"\nversion = "1"\nentryAgents = []', "entryAgents: expected at least one"),
        ('name = "x"\nversion = "1"\nentryAgents = ["a"]', "entryAgents[0]: unknown agent 'a'"),
        ('name = "x"\nversion = "1"\nentryAgents = ["a"]\nneds = 1', "unknown key 'neds'"),
        (
            'name = "x"\nversion = "1"\nentryAgents = ["a"]\nneeds.tools = ["deploy"]',
            "needs.tools[0]: expected a tool of an MCP server",
        ),
    ],
)
def test_a_manifest_that_is_wrong_says_where(project: Project, manifest: str, told: str) -> None:
    project.write("packages/x/retinue-package.toml", manifest)

    (problem,) = project.problems()
    assert problem.startswith(f"packages/x/retinue-package.toml: {told}") or told in problem


def test_a_folder_without_a_manifest_is_no_package_and_says_so(project: Project) -> None:
    project.write("packages/x/agents/a.toml", "")

    assert project.problems() == [
        "packages/x: there is no retinue-package.toml, so this is no package"
    ]


def test_the_default_agent_is_the_projects_own(project: Project) -> None:
    package(project, "studio", "maker", **agent())
    project.write("agents/zoe.toml", "")

    assert project.catalog().default().name == "zoe"


def test_scripts_of_models_lie_in_the_package(project: Project) -> None:
    package(project, "studio", "maker", **agent('model = "scripted:script.json"'))

    assert project.definition("maker").model == "scripted:packages/studio/script.json"
