"""Messages: send them, read their fate, and cancel queued ones."""

import asyncio
import re
from collections.abc import Mapping, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from retinue.agents.inbox import Sender
from retinue.engine.feed.agent_views import item_view, wait_view
from retinue.engine.feed.outcomes import Outcome
from retinue.errors import NotFoundError, RetinueError, UsageError
from retinue.ids import ItemId
from retinue.records import FileReference
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer
from retinue.server.error_responses import too_large
from retinue.server.event_clients import cancelled
from retinue.server.guard import Via
from retinue.server.wire import (
    Admission,
    CommandAnswer,
    MessageAnswer,
    MessageList,
    NewMessage,
    Nothing,
    WaitQuery,
)

_ITEM_ID = re.compile(r"m[0-9a-z]{8,64}")
_CONNECTOR: Mapping[Via, str] = {"token": "http", "browser": "web", "terminal": "terminal"}


async def post(call: RouteCall[Nothing, NewMessage]) -> Response:
    body, agent_id = call.body, call.agent_id
    _check_content(body, call.services.options.message_chars)
    files = await _attached(call) if body.attachments else ()
    receipt = await call.engine.post(
        call.owner,
        agent_id,
        body.content,
        files=files,
        silent=body.silent,
        key=body.key,
        sender=_sender(call),
    )
    item = receipt.item
    return answer(
        Admission(
            id=item.id,
            agent_id=receipt.agent_id,
            fate=item.fate,
            position=receipt.position,
            repeated=receipt.is_repeat,
        ),
        202,
        {"Location": f"/api/agents/{receipt.agent_id}/messages/{item.id}"},
    )


def _check_content(body: NewMessage, limit: int) -> None:
    if not body.content.strip() and not body.attachments:
        raise UsageError("field 'content': is empty", details={"field": "content"})
    if len(body.content) > limit:
        raise too_large(f"field 'content': {len(body.content)} characters; the limit is {limit}")


def _sender(call: RouteCall[Nothing, NewMessage]) -> Sender:
    principal = call.principal
    connector = _CONNECTOR[principal.via] if principal else ""
    return Sender(type="user", id=call.owner, connector=connector)


async def _attached(call: RouteCall[Nothing, NewMessage]) -> Sequence[FileReference]:
    """Find the attachments in the agent's own files."""
    await call.engine.store.agent(call.owner, call.agent_id)
    tree = call.engine.tree(call.agent_id)
    found: list[FileReference] = []
    for number, path in enumerate(call.body.attachments):
        try:
            found.append(await tree.stat(path))
        except NotFoundError:
            missing = NotFoundError(f"the agent has no file {path!r}: upload it first")
            raise _not_attachable(f"attachments[{number}]", missing) from None
        except UsageError as error:
            raise _not_attachable(f"attachments[{number}]", error) from None
    return found


def _not_attachable(field: str, error: RetinueError) -> UsageError:
    return UsageError(f"field {field!r}: {error.message}", details={"field": field})


def message_answer(outcome: Outcome) -> MessageAnswer:
    return MessageAnswer(
        **msgspec.structs.asdict(item_view(outcome.item)),
        position=outcome.position,
        reply=outcome.reply,
        waiting_until=outcome.waiting_until,
        waits=[wait_view(wait) for wait in outcome.waits],
    )


def _item_id(text: str) -> ItemId:
    if _ITEM_ID.fullmatch(text) is None:
        raise NotFoundError(f"no message {text[:64]!r}")
    return ItemId(text)


async def read(call: RouteCall[WaitQuery, Nothing]) -> Response:
    """Return the message's fate once it is final or the wait is over."""
    item_id = _item_id(call.parameter("message_id"))
    if call.query.wait > 0:
        outcome = await _waited(call, item_id, call.query.wait)
    else:
        outcome = await call.engine.outcome(call.owner, item_id)
    if call.request.path_params.get("agent_id", outcome.item.agent_id) != outcome.item.agent_id:
        raise NotFoundError(f"no message {item_id!r} of that agent")
    return answer(message_answer(outcome))


async def withdraw(call: Plain) -> Response:
    """Cancel a queued message; the agent handles this before anything else."""
    item_id = _item_id(call.parameter("message_id"))
    item = (await call.engine.outcome(call.owner, item_id)).item
    if item.agent_id != call.agent_id:
        raise NotFoundError(f"no message {item_id!r} of that agent")
    return answer(CommandAnswer(applied=await call.engine.withdraw(call.owner, item_id)))


async def _waited(call: RouteCall[WaitQuery, Nothing], item_id: ItemId, wait: float) -> Outcome:
    """Wait for a final fate, unless the client disconnects or the server stops."""
    live = call.services.live
    leave = live.join()
    waiting = asyncio.create_task(call.engine.outcome(call.owner, item_id, wait_seconds=wait))
    gone = asyncio.create_task(_gone(call.request))
    leaving = asyncio.create_task(leave.wait())
    try:
        await asyncio.wait({waiting, gone, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            return waiting.result()
        return await call.engine.outcome(call.owner, item_id)
    finally:
        live.left(leave)
        await cancelled(waiting, gone, leaving)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def list_open(call: Plain) -> Response:
    """List messages without a final fate, with their positions in the queue."""
    open_items = await call.engine.store.open_items(call.owner, call.agent_id)
    items = [item for item in open_items if item.kind != "command"]
    before = 0
    messages: list[MessageAnswer] = []
    for item in items:
        fields = msgspec.structs.asdict(item_view(item))
        place = before if item.fate == "queued" else 0
        messages.append(MessageAnswer(**fields, position=place))
        before += not item.silent
    return answer(MessageList(items=messages))


_MESSAGES = "/api/agents/{agent_id}/messages"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="POST",
        path=_MESSAGES,
        summary="Send a message; it is stored before the response",
        run=post,
        query=Nothing,
        body=NewMessage,
        takes="json",
        status=202,
        answer=Admission,
        refuses=(404, 409, 410, 507),
    ),
    Endpoint(
        method="GET",
        path=_MESSAGES,
        summary="List messages without a final fate",
        run=list_open,
        query=Nothing,
        body=Nothing,
        answer=MessageList,
        refuses=(404,),
    ),
    Endpoint(
        method="GET",
        path=f"{_MESSAGES}/{{message_id}}",
        summary="Read a message's fate, optionally waiting until it is final",
        run=read,
        query=WaitQuery,
        body=Nothing,
        answer=MessageAnswer,
        refuses=(404,),
    ),
    Endpoint(
        method="DELETE",
        path=f"{_MESSAGES}/{{message_id}}",
        summary="Cancel a queued message; false if it is no longer queued",
        run=withdraw,
        query=Nothing,
        body=Nothing,
        answer=CommandAnswer,
        refuses=(404, 410, 507),
    ),
    Endpoint(
        method="GET",
        path="/api/messages/{message_id}",
        summary="Read a message's fate without naming its agent",
        run=read,
        query=WaitQuery,
        body=Nothing,
        answer=MessageAnswer,
        refuses=(404,),
    ),
]
