"""`retinue init --example`: what it writes, what it keeps, and that installed packages have it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.acceptance.cli import look, retinue

REPOSITORY = Path(__file__).resolve().parents[2]


def test_an_example_is_written_whole_and_loads(tmp_path: Path) -> None:
    done = look("init", tmp_path / "studio", "--example", "asset_studio", "--json").json()
    assert "agents/studio.toml" in done["written"]
    assert ".gitignore" in done["written"]
    assert not any(".retinue" in name or "__pycache__" in name for name in done["written"])
    listed = look("definitions", "--json", project=tmp_path / "studio")
    assert (listed.code, listed.json().get("problems", [])) == (0, [])


def test_an_unknown_example_is_told_with_those_there_are(tmp_path: Path) -> None:
    done = look("init", tmp_path / "new", "--example", "castle")
    assert done.code == 1
    assert "no example 'castle'. Available: asset_studio, " in done.err
    assert not (tmp_path / "new").exists()


def test_an_example_writes_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "retinue.toml").write_text('model = "ollama:mine"\n')
    done = look("init", tmp_path, "--example", "asset_studio", "--json").json()
    assert done["kept"] == ["retinue.toml"]
    assert (tmp_path / "retinue.toml").read_text() == 'model = "ollama:mine"\n'


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of a wheel; the web app in it is the one that is built already."""
    if not (REPOSITORY / "src/retinue/server/static/index.html").is_file():
        pytest.skip("the web app is not built: make web")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    without_npm = {**os.environ, "PATH": str(folder)}
    subprocess.run(command, cwd=REPOSITORY, env=without_npm, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_an_installed_package_has_the_examples(installed: Path, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(installed)}
    done = retinue("init", tmp_path / "studio", "--example", "asset_studio", env=env)
    assert done.code == 0, done.err
    assert (installed / "retinue/examples/asset_studio/tools/assets.py").is_file()
    written = (tmp_path / "studio" / "tools" / "assets.py").read_bytes()
    assert written == (REPOSITORY / "examples/asset_studio/tools/assets.py").read_bytes()
