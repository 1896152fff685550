"""The terminal user's conversations: finds, continues and starts them."""

import getpass
from collections.abc import Sequence

from retinue.cli.agent_lookup import find_agent
from retinue.cli.client import Client
from retinue.errors import NotFoundError, UsageError
from retinue.events import AgentView
from retinue.ids import new_id
from retinue.server.definition_wire import DefinitionEntry
from retinue.server.descriptor_wire import UserPlace

_PAGE = 200


def terminal_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have a number and no name
        return "local"


async def find_target(client: Client, target: str) -> AgentView:
    """Find the target of `send`: a definition's conversation here, or an agent."""
    known = (await client.definitions()).definitions
    if any(definition.name == target for definition in known):
        return await last_conversation(client, target)
    try:
        return await find_agent(client, target)
    except NotFoundError as error:
        raise NotFoundError(unknown_target(target, known)) from error


async def last_conversation(client: Client, definition: str) -> AgentView:
    """Continue the definition's last conversation in this terminal, or start the first."""
    user = terminal_user()
    page = await client.agents(definition=definition, kind="user", limit=_PAGE)
    mine = [
        agent
        for agent in page.agents
        if agent.descriptor.get("connector") == "terminal"
        and agent.descriptor.get("userId") == user
        and agent.lifecycle != "terminated"
    ]
    if mine:
        return max(mine, key=lambda agent: agent.last_user_activity_at or agent.created_at)
    return await client.open_conversation(definition, _place(definition, user))


async def new_conversation(client: Client, definition: str) -> AgentView:
    place = _place(new_id(f"{definition}-"), terminal_user())
    return await client.open_conversation(definition, place)


def _place(channel: str, user: str) -> UserPlace:
    return UserPlace(connector="terminal", user_id=user, channel_id=channel)


def chosen_definition(known: Sequence[DefinitionEntry], wanted: str | None) -> str:
    """Return the named definition, or the project's default."""
    names = [definition.name for definition in known]
    if wanted is None:
        default = next((definition.name for definition in known if definition.is_default), None)
        if default is None:
            raise UsageError("no definitions yet: add one to agents/, or run `retinue init`")
        return default
    if wanted in names:
        return wanted
    raise NotFoundError(unknown_definition(wanted, names))


def unknown_definition(wanted: str, names: Sequence[str]) -> str:
    from retinue.settings.keys import did_you_mean

    hint = did_you_mean(wanted, names)
    return f"no definition {wanted!r}{hint or '.'} Available: {', '.join(names) or 'none'}"


def unknown_target(target: str, known: Sequence[DefinitionEntry]) -> str:
    from retinue.settings.keys import did_you_mean

    names = [definition.name for definition in known]
    hint = did_you_mean(target, names) or "."
    return f"no definition or agent {target!r}{hint} See: retinue definitions, retinue agents"
