"""`retinue history`: an agent's records, and new ones as they are added."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.output import console, print_json, print_json_line, print_note
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import AgentReference, Common

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.client import Client
    from retinue.records import AnyRecord, CallPart

_PAGE = 500


def history(
    common: Common,
    agent: AgentReference,
    after: Annotated[int, typer.Option(min=0, help="Only records after this number.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number; without --after, the latest records."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new records as they are added.")
    ] = False,
) -> None:
    """Show an agent's history, oldest first."""

    async def work(client: "Client") -> None:
        await _print_history(client, agent, after, limit, is_follow=follow, is_json=common.is_json)

    run_with_client(common.project, work, needs_engine=follow)


async def _print_history(
    client: "Client",
    reference: str,
    after: int,
    limit: int | None,
    *,
    is_follow: bool,
    is_json: bool,
) -> None:
    from retinue.cli.agent_lookup import find_agent

    agent = await find_agent(client, reference)
    records = await _read(client, agent.id, after, limit)
    if is_json and not is_follow:
        print_json({"agentId": agent.id, "records": [_raw(record) for record in records]})
        return
    if is_json:
        for record in records:
            print_json_line(_raw(record))
    else:
        _print_records(records)
    if is_follow:
        await _follow(client, agent.id, records[-1].seq if records else after, is_json=is_json)


async def _read(
    client: "Client", agent_id: str, after: int, limit: int | None
) -> "list[AnyRecord]":
    if limit is not None and not after:
        return list(await client.recent(agent_id, limit=limit))
    records: list[AnyRecord] = []
    while True:
        wanted = _PAGE if limit is None else min(_PAGE, limit - len(records))
        page: Sequence[AnyRecord] = ()
        if wanted:
            page = await client.history(agent_id, after=after, limit=wanted)
        records += page
        if len(page) < wanted or not page:
            return records
        after = page[-1].seq


def _raw(record: "AnyRecord") -> object:
    import msgspec

    from retinue.records import encode_record

    return msgspec.Raw(encode_record(record))


def _print_records(records: "list[AnyRecord]") -> None:
    from retinue.cli.piece_renderer import show
    from retinue.cli.transcript_pieces import pieces_of
    from retinue.records import AssistantRecord

    screen = console()
    calls: dict[str, CallPart] = {
        call.id: call
        for record in records
        if isinstance(record, AssistantRecord)
        for call in record.calls
    }
    for record in records:
        pieces = pieces_of(record, calls)
        if pieces:
            screen.print(f"{record.seq}  {record.at.astimezone():%d %b %H:%M:%S}", style="dim")
            show(screen, pieces, is_whole=True)


async def _follow(client: "Client", agent_id: str, seen: int, *, is_json: bool) -> None:
    from retinue.cli.transcript import Transcript
    from retinue.events import HelloEvent, RecordEvent
    from retinue.records import decode_record

    transcript = Transcript(last_seq=seen)
    print_note("Following new records. Ctrl-C to stop.")
    try:
        async for event in client.events(agent_id):
            if isinstance(event, HelloEvent):
                # Records committed between reading and subscribing.
                new = await _read(client, agent_id, transcript.last_seq, None)
            elif isinstance(event, RecordEvent):
                new = [decode_record(bytes(event.record))]
            else:
                continue
            new = [record for record in new if record.seq > transcript.last_seq]
            if is_json:
                for record in new:
                    print_json_line(_raw(record))
            else:
                _print_records(new)
            if new:
                transcript.last_seq = new[-1].seq
    except asyncio.CancelledError:
        return
