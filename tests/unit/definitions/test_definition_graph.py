"""What a definition leads to, as a graph."""

from retinue.definitions.definition_graph import graph_of
from tests.unit.definitions.project import Project, errors

HOOK = """
from retinue import define_hook


@define_hook(hook="before_create_message", id="redact")
def hide(ctx, message):
    return message
"""


def agent(name: str, prompt: str) -> str:
    return (
        f'name = "{name}"\nexposeAsTool = true\nhooks = ["redact"]\n[sideA]\nprompt = "{prompt}"\n'
    )


def test_a_graph_follows_every_entry_once_and_ends_in_circles(project: Project) -> None:
    project.write("hooks/redact.py", HOOK)
    project.write("agents/desk.toml", agent("desk", "desk"))
    project.write("agents/billing.toml", agent("billing", "billing"))
    project.write("prompts/desk.md", "---\ntools: [billing, namer]\n---\nYou receive.")
    project.write("prompts/billing.md", "---\ntools: [desk]\n---\nYou bill.")
    project.write("prompts/namer.md", "---\ntoolDescription: Names.\ntools: []\n---\nYou name.")
    catalog = project.catalog()
    assert errors(catalog) == []

    graph = graph_of(catalog, catalog.definition("desk"))

    assert [one.name for one in graph.definitions] == ["desk", "billing"]
    assert [one.name for one in graph.prompts] == ["namer"]
    (side,) = graph.definitions[0].sides
    assert side.prompt.tools is not None
    assert [(e.kind, e.target) for e in side.prompt.tools] == [
        ("handoff", "billing"),
        ("prompt", "namer"),
    ]
    assert [(h.id, h.kind) for h in graph.definitions[0].hooks] == [
        ("redact", "before_create_message")
    ]
    assert graph.files == {
        *(f"agents/{name}.toml" for name in ("desk", "billing")),
        *(f"prompts/{name}.md" for name in ("desk", "billing", "namer")),
    }


def test_a_graph_tells_the_lists_that_narrow_a_definition(project: Project) -> None:
    project.write(
        "agents/todo.toml",
        'name = "todo"\ntoolAllowlist = ["lists_*"]\ntoolDenylist = ["lists_delete"]\n'
        "agentAllowlist = []\nskillDenylist = []\n",
    )
    catalog = project.catalog()
    assert errors(catalog) == []

    (todo,) = graph_of(catalog, catalog.definition("todo")).definitions

    assert [(one.name, one.patterns) for one in todo.lists] == [
        ("toolAllowlist", ["lists_*"]),
        ("toolDenylist", ["lists_delete"]),
        ("agentAllowlist", []),
    ]
