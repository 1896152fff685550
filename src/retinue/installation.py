"""Which extras are installed, and the command that adds a missing one."""

import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit
from urllib.request import url2pathname

Extra = Literal["anthropic", "google", "mcp", "openai"]

EXTRA_MODULES: Mapping[Extra, tuple[str, ...]] = {
    "anthropic": ("pydantic_ai", "anthropic"),
    "google": ("pydantic_ai", "google.genai"),
    "mcp": ("mcp",),
    "openai": ("pydantic_ai", "openai"),
}


@cache
def is_installed(extra: Extra) -> bool:
    """Check whether the packages of an extra can be imported, without importing them."""
    return all(_can_import(module) for module in EXTRA_MODULES[extra])


def missing_extra(extra: Extra, *, used_for: str) -> str | None:
    """Return a message with the install command, or None if the extra is installed."""
    if is_installed(extra):
        return None
    return f"support for {used_for} is not installed. Run: {install_command(extra)}"


def install_command(extra: Extra) -> str:
    """Return the command that adds an extra and keeps the installed ones."""
    extras = ",".join(name for name in get_args(Extra) if name == extra or is_installed(name))
    source = _source()
    url: str = source.get("url", "")
    if source.get("dir_info", {}).get("editable"):
        return f"pip install --editable '{url2pathname(urlsplit(url).path)}[{extras}]'"
    installer = "uv tool" if (Path(sys.prefix) / "uv-receipt.toml").is_file() else "pip"
    return f"{installer} install 'retinue[{extras}]{f' @ {url}' if url else ''}'"


def _can_import(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


def _source() -> Mapping[str, Any]:
    """Return where Retinue was installed from, if not from a package index (PEP 610)."""
    try:
        text = distribution("retinue").read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    return json.loads(text) if text else {}
