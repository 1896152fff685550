"""The built-in tools, set up as the operator wants them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from retinue.clock import Clock
from retinue.problems import LoadProblem
from retinue.settings.sections import ToolsSettings
from retinue.tools.builtin.files import FILE_TOOLS
from retinue.tools.builtin.shell import Equip, shell_tool
from retinue.tools.builtin.time import time_tool
from retinue.tools.builtin.web_fetch import web_fetch_tool
from retinue.tools.port import Tool


class BuiltinToolbox:
    """Implements `Toolbox`; its tools are built once."""

    def __init__(
        self,
        *,
        clock: Clock,
        private: Path,
        settings: ToolsSettings | None = None,
        equip: Equip | None = None,
    ) -> None:
        settings = settings or ToolsSettings()
        made = [*FILE_TOOLS, time_tool(clock)]
        if settings.web_fetch.enabled:
            made.append(web_fetch_tool(settings.web_fetch))
        if settings.shell.enabled:
            made.append(shell_tool(settings.shell, private, equip))
        self._tools: Mapping[str, Tool] = {
            function.name: function.as_tool(source="builtin") for function in made
        }

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()
