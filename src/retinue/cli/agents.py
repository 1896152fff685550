"""`retinue agents`, `show`, `stop`, `reset`, `compact`, `back`, `terminate`."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retinue.agents.descriptor import Kind
from retinue.agents.inbox import seen_text
from retinue.cli.agent_tree import tree_lines
from retinue.cli.context_report import print_context
from retinue.cli.output import one_line, print_fields, print_json, print_table, say, styled
from retinue.cli.phrases import ago, descriptor_line, moment, plural, size
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import AgentReference, Common

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rich.text import Text

    from retinue.cli.client import AgentReport, Client
    from retinue.events import AgentView

_PAGE = 200
_SNIPPET = 80
_SHORT_ID = 8
_FILES_SHOWN = 20


def agents(
    common: Common,
    definition: Annotated[str | None, typer.Option(help="Only agents of this definition.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only agents of this kind.")] = None,
    query: Annotated[
        str | None, typer.Option(help="Only names and texts that contain this.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Maximum number of agents.", show_default=True)
    ] = 50,
) -> None:
    """List agents, most recently active first."""

    async def work(client: "Client") -> None:
        found: list[AgentView] = []
        cursor: str | None = None
        while len(found) < limit:
            page = await client.agents(
                definition=definition,
                kind=kind,
                query=query,
                limit=min(_PAGE, limit - len(found)),
                cursor=cursor,
            )
            found += page.agents
            cursor = page.next_cursor
            if cursor is None:
                break
        if common.is_json:
            print_json({"agents": found, "nextCursor": cursor})
        else:
            has_filter = any((definition, kind, query))
            _print_agents(found, client, has_filter=has_filter, has_more=bool(cursor))

    run_with_client(common.project, work)


def _print_agents(
    found: "list[AgentView]", client: "Client", *, has_filter: bool, has_more: bool
) -> None:
    from retinue.clock import SystemClock

    if not found:
        say("No matching agents." if has_filter else "No agents yet. Start with: retinue chat")
        return
    now = SystemClock().now()
    rows = [
        (
            agent.id[:_SHORT_ID],
            agent.definition,
            _status(agent, client),
            agent.lifecycle,
            ago(agent.last_user_activity_at or agent.updated_at, now),
            one_line(agent.name or agent.title or descriptor_line(agent.descriptor), _SNIPPET),
        )
        for agent in found
    ]
    print_table(("ID", "DEFINITION", "STATUS", "LIFECYCLE", "ACTIVE", "CONVERSATION"), rows)
    if not client.is_working and any(agent.status == "running" for agent in found):
        say("No server is running. Interrupted turns resume when it starts.")
    if has_more:
        say("There are more agents. Use --limit, --definition or --query.")


def show(
    common: Common,
    agent: AgentReference,
    context: Annotated[
        bool, typer.Option("--context", help="Show the model's context with token counts.")
    ] = False,
) -> None:
    """Show one agent: its status, queue, tokens, files and family, or its model's context."""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent
        from retinue.clock import SystemClock

        found = await find_agent(client, agent)
        if context:
            view = await client.context(found.id)
            print_json(view) if common.is_json else print_context(view)
            return
        detail = await client.report(found.id)
        tree = await client.tree(detail.id)
        if common.is_json:
            print_json(detail)
        else:
            now = SystemClock().now()
            family = tree_lines(tree, now)
            fields = _fields(detail, client, now)
            print_fields([*fields, ("family", "\n".join(family))] if family else fields)

    run_with_client(common.project, work)


def _status(agent: "AgentView", client: "Client") -> "str | Text":
    """Return the status; without a server, a running turn is one that was interrupted."""
    is_left = agent.status == "running" and not client.is_working
    return "interrupted" if is_left else styled(agent.status)


def _fields(
    detail: "AgentReport", client: "Client", now: datetime
) -> "list[tuple[str, str | Text]]":
    fields: list[tuple[str, str | Text]] = [
        ("agent", detail.id),
        ("name", detail.name or "–"),
        ("descriptor", descriptor_line(detail.descriptor)),
        ("definition", detail.definition),
        ("status", _status(detail, client)),
        ("lifecycle", detail.lifecycle),
        ("created", moment(detail.created_at, now)),
        ("last active", moment(detail.last_user_activity_at or detail.updated_at, now)),
    ]
    if detail.model:
        fields.append(("model", detail.model))
    if detail.pinned_at:
        fields.append(("pinned", moment(detail.pinned_at, now)))
    if detail.retry_at:
        fields.append(("retry at", moment(detail.retry_at, now)))
    queue = [
        f"{item.id}  {item.fate}  {one_line(seen_text(item.text, item.sender.get('id', '')), 60)}"
        for item in detail.messages
    ]
    fields.append(("queue", "\n".join(queue) or "empty"))
    fields.append(("tokens", _tokens(detail)))
    files = [f"{file.path}  {size(file.size)}" for file in detail.files[:_FILES_SHOWN]]
    if len(detail.files) > _FILES_SHOWN:
        files.append(f"and {len(detail.files) - _FILES_SHOWN} more")
    fields.append(("files", "\n".join(files) or "none"))
    return fields


def _tokens(detail: "AgentReport") -> str:
    lines = [
        f"{provider}:{model}".lstrip(":")
        + f"  {plural(stats.calls, 'call')}, {stats.input:,} in, {stats.output:,} out"
        for provider, models in detail.stats.items()
        for model, stats in models.items()
    ]
    if detail.tokens:
        lines.append(f"current context about {detail.tokens.reported or detail.tokens.estimated:,}")
    return "\n".join(lines) or "none"


Act = Literal["stop", "reset", "compact"]
_RESULTS: dict[Act, tuple[str, str]] = {
    "stop": ("Stopped.", "Nothing was running."),
    "reset": ("Conversation reset.", ""),
    "compact": ("Conversation summarised.", "Nothing to summarise yet."),
}


def stop(common: Common, agent: AgentReference) -> None:
    """Stop the running turn; queued messages stay."""
    run_with_client(common.project, _act("stop", agent, common.is_json), needs_engine=True)


def reset(common: Common, agent: AgentReference) -> None:
    """Start the conversation over; earlier messages stay in the history."""
    run_with_client(common.project, _act("reset", agent, common.is_json), needs_engine=True)


def compact(common: Common, agent: AgentReference) -> None:
    """Summarise the conversation to free up the model's context."""
    run_with_client(common.project, _act("compact", agent, common.is_json), needs_engine=True)


def back(
    common: Common,
    agent: AgentReference,
    leaving: Annotated[
        str | None,
        typer.Option("--from", metavar="AGENT", help="The agent to leave, if it is another one."),
    ] = None,
) -> None:
    """Return to an agent that switched you to another; it receives what was said there."""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        home = await find_agent(client, agent)
        left = None if leaving is None else (await find_agent(client, leaving)).id
        applied = await client.switch_back(home.id, leaving=left)
        if common.is_json:
            print_json({"agentId": home.id, "applied": applied})
        else:
            say("Switched back." if applied else "Nothing to do: no other agent has taken over.")

    run_with_client(common.project, work, needs_engine=True)


def terminate(
    common: Common,
    agent: AgentReference,
    reason: Annotated[str, typer.Option(help="Reason to record.")] = "by its owner",
) -> None:
    """End an agent and its children permanently; the history is kept."""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        found = await find_agent(client, agent)
        ended = await client.terminate(found.id, reason)
        if common.is_json:
            print_json({"agentId": found.id, "applied": bool(ended), "ended": list(ended)})
        elif not ended:
            say("Already terminated.")
        else:
            others = len(ended) - 1
            also = f", together with {plural(others, 'background agent')}" if others else ""
            say(f"Terminated{also}. The history is kept.")

    run_with_client(common.project, work, needs_engine=True)


def _act(act: Act, reference: str, is_json: bool) -> "Callable[[Client], Awaitable[None]]":
    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        agent = await find_agent(client, reference)
        applied = await applied_act(client, act, agent.id)
        if is_json:
            print_json({"agentId": agent.id, "applied": applied})
        else:
            say(_RESULTS[act][0 if applied else 1])

    return work


async def applied_act(client: "Client", act: Act, agent_id: str) -> bool:
    """Run the command; return whether it had an effect."""
    match act:
        case "stop":
            return await client.stop(agent_id)
        case "compact":
            return await client.compact(agent_id)
        case "reset":
            await client.reset(agent_id)
            return True
