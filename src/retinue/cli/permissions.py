"""`retinue permissions`, `allow`, `deny`, `answer`: lists and decides agents' requests."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.output import one_line, print_json, print_table, safe, say
from retinue.cli.phrases import ago, moment, plural
from retinue.cli.project_connection import run_with_client
from retinue.cli.request_text import card, settled_line
from retinue.cli.shared_options import Common
from retinue.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.client import Client, Decision
    from retinue.events import RequestView

_SHORTEST = 4
_MOST = 200
_HEADLINE = 60

RequestReference = Annotated[
    str, typer.Argument(metavar="REQUEST", help="Request id, or the end of a pending one.")
]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Note for the agent.")]


def permissions(
    common: Common,
    request: Annotated[
        str | None, typer.Argument(metavar="REQUEST", help="Show this request in full.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Include decided requests.")] = False,
) -> None:
    """List pending permissions, approvals and questions of agents."""

    async def work(client: "Client") -> None:
        if request is not None:
            _show(await find_request(client, request), is_json=common.is_json)
            return
        found = await client.requests(status=None if all_ else "pending", limit=_MOST)
        if common.is_json:
            print_json({"requests": found})
        else:
            _print_requests(found)

    run_with_client(common.project, work)


def allow(common: Common, request: RequestReference, note: Note = "") -> None:
    """Allow a request: a permission, or one call with exactly these arguments."""
    _decide(common, request, "allow", note)


def deny(common: Common, request: RequestReference, note: Note = "") -> None:
    """Deny a request, or decline to answer a question."""
    _decide(common, request, "deny", note)


def answer(
    common: Common,
    request: RequestReference,
    values: Annotated[list[str], typer.Argument(metavar="FIELD=VALUE...", help="The answers.")],
) -> None:
    """Answer an agent's question, field by field."""

    async def work(client: "Client") -> None:
        from retinue.cli.request_text import values_of

        asked = await find_request(client, request)
        _refuse_values(asked)
        filled = values_of(asked.fields, values)
        _print(await client.decide(asked.id, "allow", values=filled), is_json=common.is_json)

    run_with_client(common.project, work)


async def find_request(client: "Client", reference: str) -> "RequestView":
    """Find exactly one request by its id or the end of its id."""
    from retinue.errors import NotFoundError, RetinueError, UsageError

    wanted = reference.strip()
    try:
        return await client.request(wanted)
    except RetinueError as error:
        if error.code != NotFoundError.code or len(wanted) < _SHORTEST:
            raise
    pending = await client.requests(status="pending", limit=_MOST)
    found = [one for one in pending if one.id.endswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} requests end with {wanted!r}: use more of the id")
    raise NotFoundError(f"no request {one_line(wanted, 60)!r}. See: retinue permissions")


def _decide(common: Common, reference: str, verdict: "Decision", note: str) -> None:
    async def work(client: "Client") -> None:
        asked = await find_request(client, reference)
        if verdict == "allow":
            _refuse_values(asked)
        _print(await client.decide(asked.id, verdict, note=note), is_json=common.is_json)

    run_with_client(common.project, work)


def _refuse_values(request: "RequestView") -> None:
    """Refuse values as arguments, which every process can see; `env give` asks for them."""
    from retinue.errors import UsageError

    if request.kind == "variables" and request.status == "pending":
        raise UsageError(
            f"this request asks for variables. Provide them with: retinue env give {request.id}"
        )


def _print(request: "RequestView", *, is_json: bool) -> None:
    if is_json:
        print_json(request)
    else:
        say(f"{request.status}: {one_line(request.headline, _HEADLINE)} ({request.id})")


def _show(request: "RequestView", *, is_json: bool) -> None:
    if is_json:
        print_json(request)
        return
    text = "\n".join(card(request, SystemClock().now()))
    if sys.stdout.isatty():
        from pydoc import pager

        pager(safe(text))
    else:
        say(text)


def _print_requests(requests: "Sequence[RequestView]") -> None:
    if not requests:
        say("No pending requests.")
        return
    now = SystemClock().now()
    rows = [
        (
            one.id,
            one.kind,
            one_line(f"{one.requester or one.definition} {one.headline}", _HEADLINE),
            ago(one.created_at, now),
            f"until {moment(one.expires_at, now)}"
            if one.status == "pending"
            else one_line(settled_line(one, now), _HEADLINE),
        )
        for one in requests
    ]
    print_table(("REQUEST", "KIND", "SUMMARY", "ASKED", "STATUS"), rows)
    say(f"\n{plural(len(requests), 'request')}. Show one in full: retinue permissions REQUEST")
