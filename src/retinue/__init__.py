"""Retinue: durable AI agents that never lose a message and never repeat an action.

Definition and tool files import the names below. Each is loaded on first use, so that
`import retinue` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retinue.definitions.declarations import HookBlocked
    from retinue.definitions.python_definitions import define_agent, define_hook, define_prompt
    from retinue.plugins.operation_function import operation
    from retinue.plugins.plugin_definition import define_plugin
    from retinue.plugins.port import OperationContext
    from retinue.tools.function_tool import tool
    from retinue.tools.port import ToolContext
    from retinue.tools.tool_definition import define_tool

__version__ = "0.1.0"

__all__ = [
    "HookBlocked",
    "OperationContext",
    "ToolContext",
    "__version__",
    "define_agent",
    "define_hook",
    "define_plugin",
    "define_prompt",
    "define_tool",
    "operation",
    "tool",
]

_HOMES = {
    "HookBlocked": "retinue.definitions.declarations",
    "OperationContext": "retinue.plugins.port",
    "ToolContext": "retinue.tools.port",
    "define_agent": "retinue.definitions.python_definitions",
    "define_hook": "retinue.definitions.python_definitions",
    "define_plugin": "retinue.plugins.plugin_definition",
    "define_prompt": "retinue.definitions.python_definitions",
    "define_tool": "retinue.tools.tool_definition",
    "operation": "retinue.plugins.operation_function",
    "tool": "retinue.tools.function_tool",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
