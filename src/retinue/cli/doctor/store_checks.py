"""Checks of the store, the agents' folders, variables and definitions."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from retinue.cli.client import Client
from retinue.cli.definitions import problem_text
from retinue.cli.doctor.finding import Finding, fail, ok, warn
from retinue.cli.phrases import plural, size
from retinue.errors import StoreError
from retinue.events import AgentView
from retinue.records import decode_record

_PAGE = 200
_COMPARED = 2000  # agents, the most recently active first
_TAIL_BYTES = 1_000_000
_SHOWN = 5


async def store(client: Client) -> list[Finding]:
    """Check the store's health."""
    try:
        facts = (await client.health()).store
    except StoreError as error:
        return [fail("store", error.message, "messages are accepted again once this is fixed")]
    if facts.problems:
        advice = "stop the server and run `retinue serve --rebuild`"
        return [fail("store", problem, advice) for problem in facts.problems]
    open_items = f", {plural(facts.items_open, 'message')} in progress" if facts.items_open else ""
    return [
        ok(
            "store",
            f"healthy: {plural(facts.agents or 0, 'agent')}, "
            f"{size(facts.bytes or 0)}{open_items} ({facts.kind}, schema {facts.schema})",
        )
    ]


async def definitions(client: Client, *, reported: Collection[str] = ()) -> list[Finding]:
    """Report files that fail to load, except problems that were already `reported`."""
    found = await client.definitions()
    problems = [
        (fail if problem.severity == "error" else warn)("definitions", problem_text(problem))
        for problem in found.problems
        if problem.message not in reported
    ]
    return problems or [ok("definitions", f"{plural(len(found.definitions), 'definition')} loaded")]


async def variables(client: Client) -> list[Finding]:
    """Report values that cannot be decrypted, of the account and of recently active agents."""
    agents = (await client.agents(limit=_PAGE)).agents
    places: list[tuple[str, str | None]] = [("your account", None)]
    places += [(f"agent {agent.id}", agent.id) for agent in agents]
    found: list[Finding] = []
    read = 0
    for place, agent_id in places:
        for one in await client.variables(agent_id):
            if agent_id is not None and one.scope != "thread":
                continue  # the account is checked separately, and files are not encrypted
            if one.problem:
                found.append(fail("variables", f"{place}: {one.problem}"))
            elif one.scope is not None:
                read += 1
    return found or ([ok("variables", f"{plural(read, 'value')} readable")] if read else [])


async def mirror(client: Client, data: Path) -> list[Finding]:
    """Check that the folders are complete enough to rebuild the store."""
    await client.settle_folders()
    compared = 0
    behind: list[str] = []
    cursor: str | None = None
    while compared < _COMPARED:
        page = await client.agents(limit=_PAGE, cursor=cursor)
        for agent in page.agents:
            compared += 1
            if not await _is_mirrored(client, agent, data / "agents" / agent.id):
                behind.append(agent.id)
        cursor = page.next_cursor
        if cursor is None:
            break
    if not behind:
        return [ok("folders", f"up to date: {plural(compared, 'agent')}")]
    names = ", ".join(behind[:_SHOWN]) + (" …" if len(behind) > _SHOWN else "")
    advice = "run `retinue serve` to bring them up to date"
    return [warn("folders", f"{plural(len(behind), 'folder')} behind the store: {names}", advice)]


async def _is_mirrored(client: Client, agent: AgentView, folder: Path) -> bool:
    if not (folder / "descriptor.json").is_file() or not (folder / "state.json").is_file():
        return False
    last = await client.recent(agent.id, limit=1)
    return not last or last_seq(folder / "history.jsonl") >= last[-1].seq


def last_seq(file: Path) -> int:
    """Return the number of the last complete record in a history file."""
    try:
        with file.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(stream.tell() - _TAIL_BYTES, 0))
            lines = stream.read().rstrip(b"\n").split(b"\n")
    except OSError:
        return 0
    for line in reversed(lines):
        try:
            return decode_record(line).seq
        except msgspec.DecodeError:
            continue
    return 0
