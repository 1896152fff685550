"""`retinue agents`, `show`, `stop`, `reset`, `compact`, `terminate`: see agents and steer them."""

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
    query: Annotated[str | None, typer.Option(help="Only names and texts with this in it.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.", show_default=True)] = 50,
) -> None:
    """List agents, the most recently active first."""

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
        say("No agent fits." if has_filter else "No agents yet. Begin with: retinue chat")
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
    print_table(("ID", "DEFINITION", "STATUS", "LIFE", "ACTIVE", "CONVERSATION"), rows)
    if not client.is_working and any(agent.status == "running" for agent in found):
        say("No server runs: what was interrupted goes on when one starts.")
    if has_more:
        say("There are more: use --limit, --definition or --query.")


def show(
    common: Common,
    agent: AgentReference,
    context: Annotated[
        bool, typer.Option("--context", help="What its model would be sent now, with tokens.")
    ] = False,
) -> None:
    """Show one agent: who it is, what it does, its queue, tokens and files; or its context."""

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
    """Where no server runs nothing is running, whatever the last one left in the store."""
    is_left = agent.status == "running" and not client.is_working
    return "interrupted" if is_left else styled(agent.status)


def _fields(
    detail: "AgentReport", client: "Client", now: datetime
) -> "list[tuple[str, str | Text]]":
    fields: list[tuple[str, str | Text]] = [
        ("agent", detail.id),
        ("name", detail.name or "–"),
        ("stands for", descriptor_line(detail.descriptor)),
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
        fields.append(("tries again", moment(detail.retry_at, now)))
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
        lines.append(f"context now about {detail.tokens.reported or detail.tokens.estimated:,}")
    return "\n".join(lines) or "none used"


Act = Literal["stop", "reset", "compact"]
_WORDS: dict[Act, tuple[str, str]] = {
    "stop": ("Stopped.", "Nothing was running."),
    "reset": ("The conversation begins anew.", ""),
    "compact": ("Summed up.", "There is nothing to sum up yet."),
}


def stop(common: Common, agent: AgentReference) -> None:
    """Stop the turn that is running; what is queued stays."""
    run_with_client(common.project, _act("stop", agent, common.is_json), needs_engine=True)


def reset(common: Common, agent: AgentReference) -> None:
    """Begin the conversation anew; the old part stays in the history."""
    run_with_client(common.project, _act("reset", agent, common.is_json), needs_engine=True)


def compact(common: Common, agent: AgentReference) -> None:
    """Sum up what was said, so that the model has room again."""
    run_with_client(common.project, _act("compact", agent, common.is_json), needs_engine=True)


def back(
    common: Common,
    agent: AgentReference,
    leaving: Annotated[
        str | None,
        typer.Option("--from", metavar="AGENT", help="The one that you leave, if it is another."),
    ] = None,
) -> None:
    """Go back to an agent that switched you to another; it is told what was said there."""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        home = await find_agent(client, agent)
        left = None if leaving is None else (await find_agent(client, leaving)).id
        applied = await client.switch_back(home.id, leaving=left)
        if common.is_json:
            print_json({"agentId": home.id, "applied": applied})
        else:
            say("It answers again." if applied else "No other agent answers instead of it.")

    run_with_client(common.project, work, needs_engine=True)


def terminate(
    common: Common,
    agent: AgentReference,
    reason: Annotated[str, typer.Option(help="Recorded with it.")] = "by its owner",
) -> None:
    """End an agent and its children for good; the history stays."""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        found = await find_agent(client, agent)
        ended = await client.terminate(found.id, reason)
        if common.is_json:
            print_json({"agentId": found.id, "applied": bool(ended), "ended": list(ended)})
        elif not ended:
            say("It had ended before.")
        else:
            others = len(ended) - 1
            with_it = f" With it ended {plural(others, 'background agent')}." if others else ""
            say(f"Terminated. It takes no more messages; its history stays.{with_it}")

    run_with_client(common.project, work, needs_engine=True)


def _act(act: Act, reference: str, is_json: bool) -> "Callable[[Client], Awaitable[None]]":
    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        agent = await find_agent(client, reference)
        applied = await applied_act(client, act, agent.id)
        if is_json:
            print_json({"agentId": agent.id, "applied": applied})
        else:
            say(_WORDS[act][0 if applied else 1])

    return work


async def applied_act(client: "Client", act: Act, agent_id: str) -> bool:
    """Do it, and tell whether there was anything to do."""
    match act:
        case "stop":
            return await client.stop(agent_id)
        case "compact":
            return await client.compact(agent_id)
        case "reset":
            await client.reset(agent_id)
            return True
