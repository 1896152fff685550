"""The projects that `retinue init --example` writes: in the package, or beside it in a checkout."""

from collections.abc import Sequence
from pathlib import Path

from retinue.errors import UsageError

_PACKAGE = Path(__file__).parents[1]
_HOMES = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")


def example_names() -> Sequence[str]:
    return sorted(folder.name for home in _HOMES for folder in home.glob("*/") if _is_one(folder))


def example_folder(name: str) -> Path:
    """Find an example, or tell which there are."""
    names = example_names()
    if name not in names:
        raise UsageError(
            f"there is no example {name!r}; there are: {', '.join(names)}",
            details={"examples": list(names)},
        )
    return next(home / name for home in _HOMES if _is_one(home / name))


def _is_one(folder: Path) -> bool:
    return (folder / "retinue.toml").is_file()
