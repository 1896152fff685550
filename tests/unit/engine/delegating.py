"""What tests of delegation share: a team, a model that does as it is told, and what came of it."""

import json
from typing import Any

from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.records import ToolRecord
from retinue.stores.port import Agent, AgentQuery, Receipt
from retinue.testing.kit import Kit
from tests.unit.engine.support import last_said, until


def definition(name: str, **options: str) -> str:
    lines = [f'name = "{name}"', f'displayName = "The {name}"', f'description = "Does {name}."']
    return "\n".join([*lines, *(f"{key} = {value}" for key, value in options.items()), ""])


NAMES = ("general", "todo", "journal", "notes", "lists")
TEAM = {f"{name}.toml": definition(name) for name in NAMES}


def asks(agent: str, content: str = "work", **more: object) -> Reply:
    return Reply(calls=[ask(agent, content, **more)])


def ask(agent: str, content: str = "work", **more: object) -> Call:
    arguments = {"agentId": agent, "content": content, **more}
    return Call(name="agents_message", arguments=arguments)


class Play:
    """A model for all of them: does what its last line says, and says what it was told."""

    def __init__(self, **replies: Answer) -> None:
        self.replies = replies

    def __call__(self, request: ModelRequest) -> Answer:
        text = last_said(request)
        if text in self.replies:
            return self.replies[text]
        return f"heard {text}"


async def results(kit: Kit, agent: Agent) -> list[dict[str, Any]]:
    """The results of its delegations, in order."""
    return [
        json.loads(record.text) if record.text.startswith("{") else {"error": record.text}
        for record in await kit.records(agent)
        if isinstance(record, ToolRecord)
    ]


async def result(kit: Kit, agent: Agent) -> dict[str, Any]:
    (only,) = await results(kit, agent)
    return only


async def sessions(kit: Kit, name: str) -> list[Agent]:
    page = await kit.store.agents(AgentQuery(owner=LOCAL_OWNER, definition=name))
    return list(page.agents)


async def the_session(kit: Kit, name: str) -> Agent:
    (only,) = await sessions(kit, name)
    return only


async def notices(kit: Kit, agent: Agent) -> list[str]:
    return [kind for kind in await kit.kinds(agent) if kind.startswith("system ")]


async def fate(kit: Kit, receipt: Receipt) -> tuple[str, str]:
    item, _ = await kit.store.item(LOCAL_OWNER, receipt.item.id)
    return item.fate, item.reason


async def is_quiet(kit: Kit) -> bool:
    facts = await kit.store.facts()
    page = await kit.store.agents(AgentQuery(owner=LOCAL_OWNER))
    return not facts.items_open and all(agent.state.turn is None for agent in page.agents)


async def quiet(kit: Kit) -> None:
    await until(lambda: is_quiet(kit))
