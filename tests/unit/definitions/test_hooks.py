"""Hooks that files define, and definitions that name them."""

import pytest

from tests.unit.definitions.project import Project, errors

REDACT = """
from retinue import define_hook


@define_hook(hook="before_create_message", id="redact")
def hide(ctx, message):
    return message


def keep(ctx, messages):
    return messages


define_hook(hook="filter_messages", id="newest", execute=keep)
"""


def test_hooks_come_from_their_folder_and_from_any_other_python_file(project: Project) -> None:
    project.write("hooks/redact.py", REDACT)
    project.write(
        "agents/team.py",
        "from retinue import define_agent, define_hook\n"
        "define_agent(name='a', hooks=['redact', 'own'])\n"
        "@define_hook(hook='after_system_message')\ndef own(ctx, text):\n    return text\n",
    )
    catalog = project.catalog()

    assert errors(catalog) == []
    assert catalog.definition("a").hooks == ("redact", "own")
    assert {hook.id: hook.kind for hook in catalog.hooks().values()} == {
        "redact": "before_create_message",
        "newest": "filter_messages",
        "own": "after_system_message",
    }
    assert catalog.hooks()["redact"].file == "hooks/redact.py"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "agents/a.toml",
            'hooks = ["newest", "redcat"]',
            "agents/a.toml: hooks[1]: unknown hook 'redcat'; did you mean 'redact'?",
        ),
        (
            "prompts/p.md",
            "---\nhooks: [nothing]\n---\nGo.",
            "prompts/p.md: hooks[0]: unknown hook 'nothing'",
        ),
        (
            "hooks/two.py",
            "from retinue import define_hook\ndefine_hook(hook='filter_message', execute=print)",
            "hooks/two.py:2: hook: there is no hook 'filter_message'; did you mean "
            "'filter_messages'?",
        ),
        (
            "hooks/two.py",
            "from retinue import define_hook\n"
            "define_hook(hook='filter_messages', id='TooBig', execute=print)",
            "hooks/two.py:2: id: expected a name in snake_case, got 'TooBig'",
        ),
        (
            "hooks/two.py",
            "from retinue import define_hook\n"
            "define_hook(hook='filter_messages', id='redact', execute=print)",
            "hooks/two.py:2: id: 'redact' is already defined in hooks/redact.py",
        ),
    ],
)
def test_what_is_wrong_with_a_hook_names_file_and_field(
    project: Project, file: str, text: str, expected: str
) -> None:
    project.write("hooks/redact.py", REDACT)
    project.write(file, text)

    assert project.problems() == [expected]


def test_a_file_of_hooks_that_breaks_keeps_its_last_good_version(project: Project) -> None:
    project.write("hooks/redact.py", REDACT)
    project.write("agents/a.toml", 'hooks = ["redact"]')
    catalog = project.catalog()
    project.write("hooks/redact.py", "x = ")
    catalog = project.refresh()

    (error,) = errors(catalog)
    assert error.startswith("hooks/redact.py:1: SyntaxError")
    assert error.endswith("(still using the last good version)")
    assert catalog.definition("a").hooks == ("redact",)
    assert catalog.hooks()["redact"].id == "redact"
