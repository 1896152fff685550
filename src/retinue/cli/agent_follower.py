"""Follows one agent from its last exchange on, without a gap between history and live events."""

from collections.abc import AsyncIterator, Sequence

from retinue.cli.client import Client
from retinue.cli.transcript import Transcript
from retinue.cli.transcript_pieces import Piece
from retinue.errors import NotFoundError
from retinue.events import AgentEvent, Event, HelloEvent, ItemEvent, RequestEvent, ResyncEvent
from retinue.records import AnyRecord, UserRecord

_PAGE = 500
_EARLIER = 20  # records searched for the last exchange


async def follow(
    client: Client, agent_id: str, transcript: Transcript
) -> AsyncIterator[list[Piece]]:
    """Yield pieces as they arrive, beginning with the last exchange."""
    async for event in client.events(agent_id):
        if isinstance(event, HelloEvent | ResyncEvent):
            # Read after subscribing, so that nothing is missed; the transcript drops duplicates.
            yield await _catch_up(client, agent_id, transcript)
        elif _concerns(event, agent_id):
            yield transcript.apply(event)
        if transcript.is_deleted:
            return


def _concerns(event: Event, agent_id: str) -> bool:
    """Whether to show an event; of awaited agents, only requests are shown."""
    return isinstance(event, RequestEvent) or getattr(event, "agent_id", agent_id) == agent_id


async def _catch_up(client: Client, agent_id: str, transcript: Transcript) -> list[Piece]:
    is_first = transcript.last_seq == 0
    records: Sequence[AnyRecord] = (
        _last_exchange(await client.recent(agent_id, limit=_EARLIER))
        if is_first
        else await _since(client, agent_id, transcript.last_seq)
    )
    pieces = [piece for record in records for piece in transcript.read(record)]
    if is_first:
        transcript.switched_to = None  # an old switch is not followed again
    try:
        detail = await client.report(agent_id)
    except NotFoundError:
        transcript.is_deleted = True
        return pieces
    transcript.apply(AgentEvent(cursor=0, agent_id=agent_id, agent=detail))
    transcript.items.clear()
    for item in detail.messages:
        pieces += transcript.apply(ItemEvent(cursor=0, agent_id=agent_id, item=item))
    helpers = [wait.agent_id for wait in detail.waits if wait.agent_id is not None]
    for asker in (agent_id, *helpers):
        for request in reversed(await client.requests(status="pending", agent_id=asker)):
            pieces += transcript.apply(RequestEvent(cursor=0, agent_id=asker, request=request))
    return pieces


async def _since(client: Client, agent_id: str, after: int) -> list[AnyRecord]:
    records: list[AnyRecord] = []
    while True:
        page = await client.history(agent_id, after=after, limit=_PAGE)
        records += page
        if len(page) < _PAGE:
            return records
        after = page[-1].seq


def _last_exchange(records: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
    """Return the records from the last user message on, or all if there is none."""
    for index in range(len(records) - 1, -1, -1):
        if isinstance(records[index], UserRecord):
            return records[index:]
    return records
