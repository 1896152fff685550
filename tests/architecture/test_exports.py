"""The names that definition and tool files import, and what importing the package costs."""

import subprocess
import sys

import retinue
from retinue.definitions.declarations import HookBlocked
from retinue.definitions.python_definitions import define_agent, define_hook, define_prompt
from retinue.plugins.operation_function import operation
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.port import OperationContext
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from retinue.tools.tool_definition import define_tool

PUBLIC = {
    "HookBlocked": HookBlocked,
    "OperationContext": OperationContext,
    "ToolContext": ToolContext,
    "define_agent": define_agent,
    "define_hook": define_hook,
    "define_plugin": define_plugin,
    "define_prompt": define_prompt,
    "define_tool": define_tool,
    "operation": operation,
    "tool": tool,
}


def test_the_package_exports_exactly_the_public_names() -> None:
    assert set(retinue.__all__) == {*PUBLIC, "__version__"}
    assert dir(retinue) == sorted(retinue.__all__)


def test_a_public_name_is_the_one_from_its_home() -> None:
    assert {name: getattr(retinue, name) for name in PUBLIC} == PUBLIC


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(retinue, "no_such_name")


def test_importing_the_package_loads_none_of_its_modules() -> None:
    code = "import sys, retinue; print([m for m in sys.modules if m.startswith('retinue.')])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert loaded.strip() == "[]"
