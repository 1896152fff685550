"""The built-in tools, set up as the operator wants them."""

from collections.abc import Mapping, Sequence

from retinue.clock import Clock
from retinue.tools.builtin.files import FILE_TOOLS
from retinue.tools.builtin.time import time_tool
from retinue.tools.port import Tool


class BuiltinToolbox:
    """Implements `Toolbox`; its tools are built once."""

    def __init__(self, *, clock: Clock) -> None:
        made = [*FILE_TOOLS, time_tool(clock)]
        self._tools: Mapping[str, Tool] = {
            function.name: function.as_tool(source="builtin") for function in made
        }

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[str]:
        return ()
