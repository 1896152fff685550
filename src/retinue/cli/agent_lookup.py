"""Finds an agent by id, id prefix or name, or as the only one of a definition."""

from collections.abc import AsyncIterator, Sequence

from retinue.cli.client import Client
from retinue.cli.output import one_line
from retinue.errors import NotFoundError, UsageError
from retinue.events import AgentView
from retinue.ids import is_agent_id

SHORTEST_PREFIX = 4
_PAGE = 200
_SCANNED = 10_000  # agents, most recently active first; older ones need the full id
_SHOWN = 8
_LONGEST = 200  # name that the engine can look up


async def find_agent(client: Client, reference: str) -> AgentView:
    """Find exactly one agent; if several match, the error lists them."""
    wanted = reference.strip()
    if is_agent_id(wanted):
        return await client.agent(wanted)
    found = await _named(client, wanted)
    if not found and len(wanted) >= SHORTEST_PREFIX and wanted.isalnum():
        found = [agent async for agent in _all(client) if agent.id.startswith(wanted.lower())]
    if not found and 0 < len(wanted) <= _LONGEST:
        found = (await client.agents(definition=wanted, limit=_PAGE)).agents
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(_ambiguous(wanted, found), details={"agents": [a.id for a in found]})
    raise NotFoundError(
        f"no agent {one_line(wanted, 60)!r}. Use an id, its first {SHORTEST_PREFIX} or more "
        "characters, or a name. See: retinue agents"
    )


async def _named(client: Client, name: str) -> Sequence[AgentView]:
    """Find agents by name, ignoring case; an exact match wins."""
    if not 0 < len(name) <= _LONGEST:
        return []
    page = await client.agents(query=name, limit=_PAGE)
    alike = [a for a in page.agents if a.name and a.name.casefold() == name.casefold()]
    return [a for a in alike if a.name == name] or alike


async def _all(client: Client) -> AsyncIterator[AgentView]:
    cursor: str | None = None
    for _ in range(_SCANNED // _PAGE):
        page = await client.agents(limit=_PAGE, cursor=cursor)
        for agent in page.agents:
            yield agent
        cursor = page.next_cursor
        if cursor is None:
            return


def _ambiguous(wanted: str, found: Sequence[AgentView]) -> str:
    lines = [f"{wanted!r} matches {len(found)} agents. Use more of the id:"]
    lines += [
        f"{agent.id}  {agent.definition}  {one_line(agent.name or agent.title or '', 40)}"
        for agent in found[:_SHOWN]
    ]
    if len(found) > _SHOWN:
        lines.append(f"and {len(found) - _SHOWN} more")
    return "\n".join(line.rstrip() for line in lines)
