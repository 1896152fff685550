"""Commands start fast because what is heavy is imported on first use."""

import subprocess
import sys

import pytest

HEAVY = (
    "anthropic",
    "cryptography",
    "starlette",
    "httpx2",
    "mcp",
    "openai",
    "pydantic_ai",
    "rich",
    "uvicorn",
)


def heavy_modules_after(statement: str) -> list[str]:
    code = f"import sys; {statement}; print(*(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return sorted(done.stdout.split())


def test_the_command_line_imports_nothing_heavy() -> None:
    assert heavy_modules_after("import retinue.cli.main") == []


@pytest.mark.parametrize("port", ["models", "stores", "tools"])
def test_importing_a_port_loads_no_vendor(port: str) -> None:
    assert heavy_modules_after(f"import retinue.{port}, retinue.{port}.port") == []
