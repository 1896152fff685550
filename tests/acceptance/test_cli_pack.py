"""`retinue pack`, and projects that use what it wrote."""

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.cli import Done, environment, look, retinue
from tests.acceptance.packing import ANSWER, FILES, PACKED, empty, studio, written


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return studio(tmp_path / "studio")


def packed_into(project: Path, target: Path) -> Path:
    """Pack the producer as a folder of another project."""
    done = look("pack", "producer", "--out", target / "packages", project=project)
    assert done.code == 0, done.err
    return target


def ask(target: Path, text: str, *, definition: str = "producer") -> str:
    return look("send", definition, text, "--wait", project=target).out.strip()


def names(done: Done) -> list[str]:
    return [one["name"] for one in done.json()["definitions"]]


def test_a_package_holds_exactly_what_the_agent_needs(project: Path) -> None:
    done = look("pack", "producer", "--json", project=project)

    assert done.code == 0, done.err
    told = done.json()
    assert told["files"] == PACKED
    folder = project / "dist" / "asset-studio"
    assert told["path"] == str(folder)
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == sorted(PACKED)
    assert (folder / "prompts/producer.md").read_text() == FILES["prompts/producer.md"]
    assert tomllib.loads((folder / "retinue-package.toml").read_text()) == {
        "name": "asset-studio",
        "version": "1.2.0",
        "author": "The studio",
        "license": "MIT",
        "description": "Makes things and has them reviewed.",
        "entryAgents": ["producer"],
        "needs": {"variables": ["STUDIO"], "python": ["PyYAML"]},
    }
    assert told["builtinTools"] == ["time"]
    pair = json.loads((folder / "agents/review_pair.json").read_text())
    assert (pair["name"], pair["displayName"]) == ("review_pair", "Review pair")
    assert not any(str(project).encode() in p.read_bytes() for p in folder.rglob("*.*"))


def test_what_went_in_and_what_did_not_is_told(project: Path) -> None:
    done = look("pack", "producer", project=project)

    assert "asset-studio 1.2.0: 13 files in" in done.out
    assert "  tools/_ink.py\n" in done.out
    assert "built-in tools: time" in done.out
    assert "variables: STUDIO" in done.out


def test_packing_twice_gives_the_same_bytes(project: Path, tmp_path: Path) -> None:
    for out in ("one", "two"):
        for form in ([], ["--wheel"]):
            done = look("pack", "producer", *form, "--out", tmp_path / out, project=project)
            assert done.code == 0, done.err

    one, two = tmp_path / "one", tmp_path / "two"
    files = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert len(files) == len(PACKED) + 1
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


def test_an_agent_from_a_folder_works_in_an_empty_project(project: Path, tmp_path: Path) -> None:
    target = packed_into(project, empty(tmp_path / "target"))
    shutil.rmtree(project)

    listed = look("definitions", "--json", project=target)

    assert (listed.code, names(listed)) == (0, ["assistant", "producer"])
    (producer,) = [one for one in listed.json()["definitions"] if one["name"] == "producer"]
    assert producer["package"] == {"name": "asset-studio", "version": "1.2.0"}
    assert "package asset-studio 1.2.0" in look("definitions", project=target).out
    assert ask(target, "make tree") == ANSWER


def test_an_agent_from_a_wheel_works_in_an_empty_project(project: Path, tmp_path: Path) -> None:
    target = empty(tmp_path / "target")
    done = look("pack", "producer", "--wheel", "--out", tmp_path / "wheels", project=project)
    assert done.code == 0, done.err
    shutil.rmtree(project)
    (wheel,) = (tmp_path / "wheels").iterdir()
    assert wheel.name == "asset_studio-1.2.0-py3-none-any.whl"

    installed = tmp_path / "installed"
    subprocess.run(
        [
            *(Path(sys.executable).with_name("uv"), "pip", "install", "--offline", "--no-deps"),
            *("--no-index", "--target", installed, "--python", sys.executable, wheel),
        ],
        env=environment(),
        check=True,
        capture_output=True,
    )
    env = {"PYTHONPATH": str(installed)}
    listed = retinue("definitions", "--json", project=target, env=env)
    assert (listed.code, names(listed)) == (0, ["assistant", "producer"])
    sent = retinue("send", "producer", "make tree", "--wait", project=target, env=env)
    assert sent.out.strip() == ANSWER


def test_a_wheel_says_what_it_is(project: Path, tmp_path: Path) -> None:
    look("pack", "producer", "--wheel", "--out", tmp_path, project=project)
    with zipfile.ZipFile(tmp_path / "asset_studio-1.2.0-py3-none-any.whl") as archive:
        info = "asset_studio-1.2.0.dist-info"
        metadata = archive.read(f"{info}/METADATA").decode()
        points = archive.read(f"{info}/entry_points.txt").decode()
        assert set(archive.namelist()) >= {
            f"retinue_package_asset_studio/{file}" for file in PACKED
        }
    assert points == "[retinue.packages]\nasset-studio = retinue_package_asset_studio\n"
    assert "Requires-Dist: PyYAML\n" in metadata
    assert "License: MIT\n" in metadata


def test_names_inside_stay_inside(project: Path, tmp_path: Path) -> None:
    target = packed_into(project, empty(tmp_path / "target"))
    tools = {path: text for path, text in FILES.items() if path.startswith("tools/")}
    written(target, {**tools, "tools/_ink.py": 'INK = "red"\n'})

    for private in ("review_pair", "asset-studio/review_pair"):
        done = look("send", private, "task", "--wait", project=target)
        assert (done.code, f"no definition or agent {private!r}" in done.err) == (1, True)
    assert look("definitions", "--json", project=target).json()["problems"] == []
    assert ask(target, "make tree") == ANSWER
    assert ask(target, "deploy") == "There is no tool called 'deploy'."
    assert ask(target, "deploy", definition="assistant") == "deployed"


def test_agents_inside_outlive_a_restart(project: Path, tmp_path: Path) -> None:
    target = packed_into(project, empty(tmp_path / "target"))
    ask(target, "make tree")

    agents = look("agents", "--json", project=target).json()["agents"]

    assert {agent["definition"] for agent in agents} >= {"producer", "asset-studio/review_pair"}


def test_a_clash_is_an_error_that_names_both(project: Path, tmp_path: Path) -> None:
    target = packed_into(project, empty(tmp_path / "target"))
    (target / "agents").mkdir()
    (target / "agents/producer.toml").write_text("")

    done = look("definitions", project=target)

    assert done.code == 1
    assert "packages/asset-studio/retinue-package.toml" in done.out
    assert "the agent 'producer' already exists, from agents/producer.toml" in done.out


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ("producr", "there is no definition 'producr'; did you mean 'producer'?"),
        ("broken", "does not load"),
    ],
)
def test_what_cannot_be_packed_is_refused(project: Path, definition: str, told: str) -> None:
    (project / "agents/broken.toml").write_text('[sideA]\nprompt = "nowhere"')

    done = look("pack", definition, project=project)

    assert done.code != 0
    assert told in done.err
    assert not (project / "dist").exists()


def test_the_built_in_agent_and_those_of_packages_are_not_packed_again(
    project: Path, tmp_path: Path
) -> None:
    target = packed_into(project, empty(tmp_path / "target"))

    assert "is built in" in look("pack", "assistant", project=target).err
    assert (
        "is already part of the package 'asset-studio'"
        in look("pack", "producer", project=target).err
    )


def test_nothing_is_overwritten_unless_forced(project: Path) -> None:
    first = look("pack", "producer", project=project)
    again = look("pack", "producer", project=project)
    forced = look("pack", "producer", "--force", project=project)

    assert (first.code, forced.code) == (0, 0)
    assert again.code != 0
    assert "already exists; use --force to replace it" in again.err

    shutil.rmtree(project / "dist/asset-studio")
    (project / "dist/asset-studio").mkdir()
    (project / "dist/asset-studio/mine.txt").write_text("mine")
    assert "is not a package" in look("pack", "producer", "--force", project=project).err
    assert (project / "dist/asset-studio/mine.txt").exists()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('packageName = "../up"', "packageName: expected at most 64 letters"),
        ('version = "new"', "version: expected a version such as 1.2.0"),
    ],
)
def test_a_bad_name_or_version_is_refused(project: Path, line: str, told: str) -> None:
    field = line.partition(" ")[0]
    text = "\n".join(
        line if one.startswith(f"{field} =") else one
        for one in FILES["agents/producer.toml"].splitlines()
    )
    (project / "agents/producer.toml").write_text(text)

    done = look("pack", "producer", project=project)

    assert done.code != 0
    assert f"agents/producer.toml: {told}" in done.err


def test_a_name_and_a_version_are_there_without_being_written(project: Path) -> None:
    (project / "agents/plain.toml").write_text('systemPrompt = "Hi."\ntoolAllowlist = []')

    told = look("pack", "plain", "--json", project=project).json()

    assert (told["name"], told["version"]) == ("plain", "0.1.0")
    assert told["files"] == ["retinue-package.toml", "agents/plain.toml"]


def test_keys_are_not_given_away(project: Path) -> None:
    plain = project / "agents/plain.toml"
    plain.write_text(f'toolAllowlist = []\nenv = {{ KEY = "sk-{"a" * 30}" }}')
    refused = look("pack", "plain", project=project)
    plain.write_text('toolAllowlist = []\nenv = { SHOP_TOKEN = "abc", COLOUR = "red" }')
    warned = look("pack", "plain", "--json", project=project).json()

    assert "agents/plain.toml:2 contains what looks like a key" in refused.err
    assert warned["warnings"] == ["agents: env of 'plain' sets SHOP_TOKEN, and the value is packed"]


def test_doctor_tells_what_a_package_still_needs(project: Path, tmp_path: Path) -> None:
    target = packed_into(project, empty(tmp_path / "other"))
    manifest = target / "packages" / "asset-studio" / "retinue-package.toml"
    needs = (
        'models = ["nobody:nothing"]\nvariables = ["SHOP_KEY"]\npython = ["no-such-thing>=2"]\n'
        'tools = ["mcp_shop_find", "mcp_post_send", "mcp_bank_pay"]'
    )
    settings = target / "retinue.toml"
    servers = '[mcp.shop]\ncommand = "shop"\n[mcp.bank]\ncommand = "bank"\nenabled = false\n'
    settings.write_text((settings.read_text() if settings.exists() else "") + servers)
    text = manifest.read_text()
    manifest.write_text(f"{text[: text.index('[needs]')]}[needs]\n{needs}\n")
    told = look("doctor", project=target).out
    assert "uses variables without a value: SHOP_KEY" in told
    assert "needs Python packages that are not installed: no-such-thing>=2" in told
    assert "needs the model nobody:nothing" in told
    assert "MCP servers that are not configured: mcp_post_send, mcp_bank_pay" in told
    assert retinue("env", "set", "SHOP_KEY", project=target, stdin="a key").code == 0
    assert "SHOP_KEY" not in look("doctor", project=target).out


def test_a_definition_is_drawn_as_a_tree(project: Path) -> None:
    drawn = look("definitions", "producer", project=project)
    assert drawn.code == 0
    lines = [line.strip() for line in drawn.out.splitlines()]
    assert lines[0].startswith("producer  ai_human")
    assert "hook deepen" in drawn.out
    assert "Allowlist" not in drawn.out
    lists = 'toolAllowlist = ["time", "web_*"]\nskillAllowlist = []\nagentDenylist = ["producer"]\n'
    (project / "agents/narrow.toml").write_text(f'description = "Sees little."\n{lists}')
    narrow = [
        line.strip() for line in look("definitions", "narrow", project=project).out.splitlines()
    ]
    told = ["toolAllowlist: time, web_*", "skillAllowlist: nothing", "agentDenylist: producer"]
    assert narrow[2:5] == told
    pair = next(line for line in lines if line.startswith("review_pair  dual_ai"))
    assert "at most 4 turns" in pair
    assert "ends the run with approve" in lines
    assert lines.index("prompt reviewer") > lines.index("prompt worker") > lines.index(pair)
    assert look("definitions", "producer", "--json", project=project).json()["definitions"]
    missing = look("definitions", "nobody", project=project)
    assert (missing.code, "nobody" in missing.err) == (1, True)
