"""Creates the built-in tools from the settings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from retinue.clock import Clock
from retinue.settings.tables import ToolsSettings
from retinue.tools.builtin.file_tools import FILE_TOOLS
from retinue.tools.builtin.shell import Equip, shell_tool
from retinue.tools.builtin.time import time_tool
from retinue.tools.builtin.web_fetch import web_fetch_tool
from retinue.tools.function_tool import FunctionTool


def builtin_tools(
    *, clock: Clock, private: Path, settings: ToolsSettings, equip: Equip | None = None
) -> Sequence[FunctionTool[..., Any]]:
    made = [*FILE_TOOLS, time_tool(clock)]
    if settings.web_fetch.enabled:
        made.append(web_fetch_tool(settings.web_fetch))
    if settings.shell.enabled:
        made.append(shell_tool(settings.shell, private, equip))
    return made
