"""The tools of collaboration as one source of tools."""

from collections.abc import Mapping, Sequence

from retinue.engine.collaboration.background import background_tools
from retinue.engine.collaboration.delegation import delegation_tools
from retinue.engine.collaboration.messaging import messaging_tools
from retinue.engine.collaboration.permanent import permanent_tools
from retinue.engine.collaboration.permissions import permission_tools
from retinue.engine.collaboration.services import Services
from retinue.engine.collaboration.switching import switching_tools
from retinue.problems import LoadProblem
from retinue.tools.port import Tool

COLLABORATION_TOOLS = (
    "send_agent_message",
    "agents_message",
    "agents_list",
    "agents_switch",
    "start_background_agent",
    "create_permanent_agent",
    "list_permanent_agents",
    "delete_permanent_agent",
    "request_permission",
    "request_permission_via_parent",
    "ask_user",
)
"""The names, for definitions that are read before there is an engine."""


class CollaborationToolbox:
    """Implements `Toolbox`; its tools are built once."""

    def __init__(self, services: Services) -> None:
        made = [
            *messaging_tools(services),
            *delegation_tools(services),
            *switching_tools(services),
            *background_tools(services),
            *permanent_tools(services),
            *permission_tools(services),
        ]
        self._tools: Mapping[str, Tool] = {
            function.name: function.as_tool(source="builtin") for function in made
        }

    async def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return ()
