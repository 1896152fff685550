"""ARCHITECTURE.md names files that exist and layers as import-linter enforces them."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "retinue"


def named_paths() -> list[str]:
    """Paths in backquotes; a bare file name may be in the folder of the path before it."""
    paths: list[str] = []
    for line in PAGE.splitlines():
        folder = ""
        for name in re.findall(r"`([\w./*-]+(?:\.py|/))`", line):
            is_beside = "/" not in name and (PACKAGE / folder / name).exists()
            path = f"{folder}{name}" if is_beside else name
            folder = path[: path.rfind("/") + 1] or folder
            paths.append(path)
    return paths


def test_every_path_exists() -> None:
    paths = named_paths()
    assert len(paths) > 40
    missing = [
        path
        for path in paths
        if "*" not in path and not (PACKAGE / path).exists() and not (ROOT / path).exists()
    ]
    assert missing == []


def test_the_table_of_changes_has_its_rows() -> None:
    table = PAGE.split("## To change X, open Y")[1].split("##")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "open |" not in line]
    assert len(rows) >= 15


def test_the_layers_are_those_that_import_linter_enforces() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    for identity in ("layers", "engine"):
        layers = next(c["layers"] for c in contracts if c["id"] == identity)
        for layer in layers:
            for name in re.findall(r"\w+", re.sub(r"\(.*?\)", "", layer)):
                assert re.search(rf"^(.*[|,] )?{name}\b", PAGE, re.MULTILINE), name
