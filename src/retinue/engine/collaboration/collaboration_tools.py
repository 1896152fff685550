"""All tools with which agents reach each other."""

from collections.abc import Sequence
from typing import Any

from retinue.engine.collaboration.agent_messages import messaging_tools
from retinue.engine.collaboration.agent_switch import switching_tools
from retinue.engine.collaboration.background_agents import background_tools
from retinue.engine.collaboration.delegation import delegation_tools
from retinue.engine.collaboration.permanent_agents import permanent_tools
from retinue.engine.collaboration.permission_requests import permission_tools
from retinue.engine.collaboration.services import CollaborationServices
from retinue.tools.function_tool import FunctionTool

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
"""The names, for definitions that load before the engine exists."""


def collaboration_tools(services: CollaborationServices) -> Sequence[FunctionTool[..., Any]]:
    return [
        *messaging_tools(services),
        *delegation_tools(services),
        *switching_tools(services),
        *background_tools(services),
        *permanent_tools(services),
        *permission_tools(services),
    ]
