"""Which files belong to a definition, whatever way it names them."""

from pathlib import Path

import pytest

from retinue.assembly import read_project
from retinue.errors import UsageError
from retinue.packaging.package_writer import Packed, pack, write_folder
from tests.acceptance.packing import written

TOOL = 'from retinue import tool\n@tool(effect="pure")\ndef {name}() -> str:\n    """Do it."""\n'


def tool_file(*names: str) -> str:
    return "\n".join(f"{TOOL.format(name=name)}    return ''\n" for name in names)


async def packed(folder: Path, name: str, **files: str) -> Packed:
    """Pack from files by their paths, with `__` for a slash and `_dot_` for a dot."""
    named = {key.replace("__", "/").replace("_dot_", "."): text for key, text in files.items()}
    written(folder, {"retinue.toml": "", **named})
    return pack(await read_project(folder, {}), name)


def files_of(made: Packed) -> list[str]:
    return [file for file in made.files if file != "retinue-package.toml"]


async def loads(made: Packed, folder: Path) -> bool:
    """Whether another project has the agent, with nothing wrong."""
    target = written(folder / "target", {"retinue.toml": ""})
    write_folder(made, target / "packages", replaces=False)
    catalog = (await read_project(target, {})).catalog
    assert [str(problem) for problem in catalog.errors() if problem.is_error] == []
    return catalog.public(made.manifest.entry_agents[0]).home is not None


async def test_agents_that_take_over_come_along_with_those_that_they_hand_over_to(
    tmp_path: Path,
) -> None:
    made = await packed(
        tmp_path,
        "front",
        agents__front_dot_toml='[sideA]\nprompt = "front"',
        agents__back_dot_toml='exposeAsTool = true\ndescription = "b"\n[sideA]\nprompt = "back"',
        agents__other_dot_toml="exposeAsTool = true\ndescription = 'o'",
        prompts__front_dot_md="---\ntools: [back]\n---\nFront.",
        prompts__back_dot_md="---\ntools: [front_again]\n---\nBack.",
        prompts__front_again_dot_md="---\ntools: [back]\n---\nAgain.",
    )

    assert files_of(made) == [
        "agents/back.toml",
        "agents/front.toml",
        "prompts/back.md",
        "prompts/front.md",
        "prompts/front_again.md",
    ]
    assert await loads(made, tmp_path)


async def test_only_the_entries_that_are_needed_leave_a_file_with_several(tmp_path: Path) -> None:
    made = await packed(
        tmp_path,
        "one",
        agents__many_dot_py=(
            "from retinue import define_agent, define_prompt\n"
            "define_agent(name='one', sideA={'prompt': 'p'}, env={'My_Key': 'v'})\n"
            "define_agent(name='two')\n"
            "define_prompt(name='p', prompt='---\\nHello {{My_Key}}', tools=[])\n"
            "define_prompt(name='q', prompt='Bye')\n"
        ),
    )

    assert files_of(made) == ["agents/one.json", "prompts/p.md"]
    assert await loads(made, tmp_path)
    catalog = (await read_project(tmp_path / "target", {})).catalog
    side = catalog.public("one").side_a
    assert side.prompt.text == "---\nHello {{My_Key}}"
    assert catalog.public("one").env == {"My_Key": "v"}


async def test_a_python_file_with_a_hook_or_a_tool_is_taken_whole(tmp_path: Path) -> None:
    made = await packed(
        tmp_path,
        "one",
        agents__many_dot_py=(
            "from retinue import define_agent, define_hook, define_tool\n"
            "define_agent(name='one', systemPrompt='Hi.', hooks=['own'], toolAllowlist=['look'])\n"
            "define_agent(name='two', sideA={'prompt': 'p'})\n"
            "@define_hook(hook='after_system_message')\ndef own(ctx, text):\n    return text\n"
            "@define_tool()\ndef look() -> str:\n    '''Look.'''\n    return ''\n"
        ),
        prompts__p_dot_md="---\ntools: []\n---\nTwo.",
        prompts__q_dot_md="Three.",
    )

    assert files_of(made) == ["agents/many.py", "prompts/p.md"]
    assert await loads(made, tmp_path)


async def test_an_agent_without_a_list_of_tools_has_those_that_its_scope_allows(
    tmp_path: Path,
) -> None:
    made = await packed(
        tmp_path,
        "one",
        agents__one_dot_toml='systemPrompt = "Hi."\ntoolAllowlist = ["shop_*", "time"]',
        tools__shop_dot_py=tool_file("shop_buy", "shop_sell"),
        tools__office_dot_py=tool_file("file_away"),
    )

    assert files_of(made) == ["agents/one.toml", "tools/shop.py"]
    assert made.builtin_tools == ("time",)
    assert await loads(made, tmp_path)


async def test_tools_that_tools_use_come_along(tmp_path: Path) -> None:
    using = (
        "from retinue import define_tool\n"
        "@define_tool(name='first', uses=['second'], variables=['KEY_OF_SHOP'])\n"
        "def first() -> str:\n    '''First.'''\n    return ''\n"
    )
    made = await packed(
        tmp_path,
        "one",
        agents__one_dot_toml='variables = ["STUDIO"]\n[sideA]\nprompt = "p"',
        prompts__p_dot_md="---\ntools: [first, mcp_shop_find]\nmodel: openai:gpt-5\n---\nHi.",
        tools__first_dot_py=using,
        tools__second_dot_py=tool_file("second"),
        tools__third_dot_py=tool_file("third"),
    )

    assert files_of(made)[2:] == ["tools/first.py", "tools/second.py"]
    needs = made.manifest.needs
    assert (needs.models, needs.tools) == (("openai:gpt-5",), ("mcp_shop_find",))
    assert needs.variables == ("KEY_OF_SHOP", "STUDIO")
    assert await loads(made, tmp_path)


async def test_variables_that_the_packed_files_give_a_value_are_not_needed(tmp_path: Path) -> None:
    using = (
        "from retinue import define_tool\n"
        "@define_tool(variables=['SHOP', 'TILL', 'SAFE', 'KEY_OF_SHOP'])\n"
        "def buy() -> str:\n    '''Buy.'''\n    return ''\n"
        "@define_tool(variables=['UNUSED'])\n"
        "def sell() -> str:\n    '''Sell.'''\n    return ''\n"
    )
    made = await packed(
        tmp_path,
        "one",
        agents__one_dot_toml=(
            'variables = ["SHOP", "TILL"]\nenv = {SHOP = "9"}\n'
            'agentAllowlist = ["two"]\n[sideA]\nprompt = "p"'
        ),
        agents__two_dot_toml='description = "Two."\nenv = {SHOP = "7"}\n[sideA]\nprompt = "q"',
        prompts__p_dot_md=(
            "---\ntools: [{name: buy, env: {SAFE: x}}, {name: other, optional: TILL}]\n"
            "env: {TILL: '3'}\n---\nHi."
        ),
        prompts__q_dot_md="---\ntools: [other]\n---\nHi.",
        prompts__other_dot_md="---\ntools: []\nvariables: [SHOP, TILL]\n---\nHi.",
        tools__shop_dot_py=using,
    )

    assert made.manifest.needs.variables == ("KEY_OF_SHOP", "TILL")


async def test_peers_come_along_when_they_are_named(tmp_path: Path) -> None:
    made = await packed(
        tmp_path,
        "one",
        agents__one_dot_toml='toolAllowlist = ["agents_message"]\nagentAllowlist = ["two"]',
        agents__two_dot_toml="toolAllowlist = []",
        agents__three_dot_toml="",
    )

    assert files_of(made) == ["agents/one.toml", "agents/two.toml"]


async def test_a_script_outside_of_the_project_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("[]")
    with pytest.raises(UsageError, match="outside the project"):
        await packed(
            tmp_path / "project",
            "one",
            agents__one_dot_toml='model = "scripted:../secret.json"\ntoolAllowlist = []',
        )


async def test_folders_of_this_machine_are_told(tmp_path: Path) -> None:
    made = await packed(
        tmp_path, "one", agents__one_dot_toml=f'systemPrompt = "{tmp_path}"\ntoolAllowlist = []'
    )

    assert made.warnings == ("agents/one.toml: contains a path of this machine",)
