"""Decides requests to the owner, expires them, and answers the agent that asked."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, Literal

from retinue.agents.deferral import endpoint_of
from retinue.agents.form import checked_values
from retinue.agents.inbox import Answer, ItemBody, Sender
from retinue.agents.request import Request
from retinue.agents.visible_text import visible
from retinue.clock import Clock
from retinue.engine.feed.request_views import headline
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.errors import ConflictError, NotFoundError, StoreError, UsageError
from retinue.failpoints import reach
from retinue.ids import OwnerId, RequestId, new_item_id
from retinue.repeated_log import RepeatedLog
from retinue.stores.port import Store
from retinue.stores.request_port import Decision, Notice
from retinue.text import clean_text

logger = logging.getLogger(__name__)

Verdict = Literal["allow", "deny"]
Decided = Literal["allowed", "denied", "answered", "expired"]

_BATCH = 100
_OUTCOMES: Mapping[Decided, str] = {
    "allowed": "The owner allowed",
    "denied": "The owner denied",
    "answered": "The owner answered",
    "expired": "There was no decision in time on",
}
_RETRY_SECONDS = 1.0


class Requests:
    """Decides and expires the requests in the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trouble = RepeatedLog(
            logger,
            "requests expire late",
            over="requests expire on time again",
            monotonic=clock.monotonic,
        )
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._expire())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def look_again(self) -> None:
        """Check again when the next request expires."""
        self._news.set()

    async def decide(
        self,
        owner: OwnerId,
        request_id: RequestId,
        verdict: Verdict,
        *,
        by: str,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> Request:
        """Decide a request of this owner, once. Raises what `RequestStore.settle` raises."""
        request = await self._store.requests.get(owner, request_id)
        if values and (request.kind != "question" or verdict == "deny"):
            raise UsageError("values: only the answer to a question has values")
        if request.kind == "variables" and verdict == "allow":
            endpoint = endpoint_of(request.agent_id, request.id)
            raise UsageError(f"the subagent starts when its values are posted to {endpoint}")
        filled: dict[str, Any] = {}
        status: Decided = "allowed" if verdict == "allow" else "denied"
        if request.kind == "question" and verdict == "allow":
            status = "answered"
            if request.status == "pending":
                filled = checked_values(request.asked.fields, values or {})
        return await self._settle(request, status, by, clean_text(note.strip()), filled)

    async def _settle(
        self, request: Request, status: Decided, by: str, note: str, values: dict[str, Any]
    ) -> Request:
        decision = Decision(
            owner=request.owner,
            request_id=request.id,
            status=status,
            by=by,
            at=self._clock.now(),
            item_id=new_item_id(),
            answer=answer_to(request, status, note, values),
            note=note,
            values=values,
            notice=await self._notice(request, status, note),
        )
        reach("decide:before")
        settled = await self._store.requests.settle(decision)
        reach("decide:after")
        return settled

    async def _notice(self, request: Request, status: Decided, note: str) -> Notice | None:
        """A silent notice to the owner's latest chat about a background agent's request."""
        if not request.asked.is_background:
            return None
        chat = await fetch(self._store, request.owner, "most-recent-foreground")
        if chat is None or chat.id == request.agent_id:
            return None
        name = visible(request.asked.requester) or request.asked.definition
        said = f" They said: {visible(note)}" if note else ""
        text = (
            f"{_OUTCOMES[status]} what the background agent {name!r} ({request.agent_id}) asked: "
            f"it {headline(request)} (request {request.id}). The agent knows.{said}"
        )
        sender = Sender(type="agent", id=request.agent_id)
        body = ItemBody(text=clean_text(text), sender=sender)
        return Notice(to=chat.id, item_id=new_item_id(), body=body)

    async def _expire(self) -> None:
        while True:
            self._news.clear()
            try:
                seconds = await self._expire_due()
                self._trouble.clear()
            except StoreError as error:
                self._trouble.report(error)
                seconds = _RETRY_SECONDS
            sleep = None if seconds is None else asyncio.ensure_future(self._clock.sleep(seconds))
            news = asyncio.ensure_future(self._news.wait())
            waiting = {news} if sleep is None else {news, sleep}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()

    async def _expire_due(self) -> float | None:
        """Expire due requests; returns the seconds until the next one, if any."""
        while due := await self._store.requests.due(self._clock.now(), _BATCH):
            for request in due:
                try:
                    await self._settle(request, "expired", "", "", {})
                except (ConflictError, NotFoundError):
                    continue  # settled meanwhile
        earliest = await self._store.requests.earliest()
        if earliest is None:
            return None
        return max(0.0, (earliest - self._clock.now()).total_seconds())


def answer_to(request: Request, status: Decided, note: str, values: Mapping[str, Any]) -> ItemBody:
    """The result of the call, and a message for an agent whose call no longer waits."""
    result, message = _TEXTS[request.kind](request, status, values)
    if note:
        result, message = f"{result} They said: {note}", f"{message} They said: {note}"
    is_granted = status == "allowed"
    return ItemBody(
        text=message,
        sender=Sender(type="engine"),
        answer=Answer(
            call=request.call,
            request=request.id,
            text=result,
            status="ok" if status in ("allowed", "answered") else _STATUS[status],
            runs=is_granted and request.kind == "approval",
            grants=[request.asked.permission]
            if is_granted and request.kind == "permission"
            else [],
            approves=[request.digest] if is_granted and request.kind == "approval" else [],
        ),
    )


_STATUS: Mapping[str, Literal["refused", "error"]] = {"denied": "refused", "expired": "error"}
_EXPIRED = "Expired: there was no decision in time. It was not denied; ask again if needed."


def _permission(request: Request, status: Decided, values: Mapping[str, Any]) -> tuple[str, str]:
    del values
    tag = request.asked.permission
    about = f"About your request for {tag}:"
    match status:
        case "allowed":
            return f"Granted: you now have {tag}.", f"{about} it was granted; you now have it."
        case "denied":
            return f"Denied by the owner: {tag}.", f"{about} it was denied by the owner."
        case _:
            return _EXPIRED, f"{about} {_EXPIRED}"


def _approval(request: Request, status: Decided, values: Mapping[str, Any]) -> tuple[str, str]:
    del values
    asked = request.asked
    arguments = json.dumps(asked.arguments, ensure_ascii=False)
    about = f"About the call of {asked.tool} that waited for approval (arguments: {arguments}):"
    match status:
        case "allowed":
            again = "call it again with exactly these arguments to run it once"
            return "Approved.", f"{about} it was approved and has not run; {again}."
        case "denied":
            return f"Denied by the owner: {asked.tool} was not run.", f"{about} it was denied."
        case _:
            return f"{asked.tool} was not run. {_EXPIRED}", f"{about} {_EXPIRED}"


def _question(request: Request, status: Decided, values: Mapping[str, Any]) -> tuple[str, str]:
    about = f"About your question {request.asked.title!r}:"
    match status:
        case "answered":
            filled = json.dumps(dict(values), ensure_ascii=False)
            return filled, f"{about} the owner answered {filled}"
        case "expired":
            return _EXPIRED, f"{about} {_EXPIRED}"
        case _:
            return "The owner declined to answer.", f"{about} the owner declined to answer."


def _variables(request: Request, status: Decided, values: Mapping[str, Any]) -> tuple[str, str]:
    del values
    about = f"About the subagent {request.asked.tool!r} that waited for values:"
    match status:
        case "expired":
            return _EXPIRED, f"{about} {_EXPIRED}"
        case _:
            outcome = "the owner did not provide them, and it was not started."
            return outcome, f"{about} {outcome}"


_TEXTS = {
    "permission": _permission,
    "approval": _approval,
    "question": _question,
    "variables": _variables,
}
