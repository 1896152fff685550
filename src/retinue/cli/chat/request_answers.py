"""Answers requests within a chat: y or n for permissions and approvals, forms field by field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retinue.cli.client import Client
from retinue.cli.request_text import field_line, typed
from retinue.errors import RetinueError, UsageError
from retinue.events import RequestView

_YES = frozenset({"y", "yes", "allow"})
_NO = frozenset({"n", "no", "deny"})
_HOW = "Type y to allow or n to deny; text after n goes to the agent. Anything else is a message."
_HOW_FORM = "Answer field by field; type - to leave one empty. /deny declines, /later postpones."


def how_to_decide(request: RequestView) -> list[str]:
    """Return instructions for the next line; for a form, also its first field."""
    if request.kind == "question" and request.fields:
        return [_HOW_FORM, field_line(request.fields[0])]
    return [_HOW]


def decidable(requests: Iterable[RequestView]) -> list[RequestView]:
    """Return requests that a line may answer: all but variables, whose values must not be shown."""
    return [request for request in requests if request.kind != "variables"]


@dataclass(slots=True)
class RequestAnswers:
    """The partly answered form, and which requests were postponed or decided."""

    request_id: str = ""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: int = 0
    postponed: set[str] = field(default_factory=set[str])
    decided: set[str] = field(default_factory=set[str])  # in this chat

    def current(self, pending: Sequence[RequestView]) -> RequestView | None:
        """Return the request that the next line may answer: the oldest not postponed."""
        done = self.postponed | self.decided
        waiting = [one for one in pending if one.id not in done]
        return min(waiting, key=lambda one: one.created_at, default=None)

    async def take(self, client: Client, request: RequestView, line: str) -> str | None:
        """Answer the request; return the reply to show, or None if the line is a message."""
        if request.kind == "question":
            return await self._fill_in(client, request, line)
        word, _, rest = line.strip().partition(" ")
        if word.lower() in _YES and not rest:
            return await self.decide(client, request, is_allowed=True)
        if word.lower() in _NO:
            return await self.decide(client, request, is_allowed=False, note=rest.strip())
        return None

    async def decide(
        self,
        client: Client,
        request: RequestView,
        *,
        is_allowed: bool,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> str:
        """Send the decision and return its outcome."""
        self.decided.add(request.id)  # first: its event may arrive before the response
        verdict = "allow" if is_allowed else "deny"
        try:
            settled = await client.decide(request.id, verdict, note=note, values=values)
        except RetinueError:
            self.decided.discard(request.id)
            raise
        return f"{settled.status}: {settled.headline}"

    async def _fill_in(self, client: Client, request: RequestView, line: str) -> str:
        if request.id != self.request_id:
            self.request_id, self.values, self.asked = request.id, {}, 0
        asked = request.fields[self.asked]
        if line.strip() != "-":
            self.values[asked.name] = typed(asked, line)
        self.asked += 1
        if self.asked < len(request.fields):
            return field_line(request.fields[self.asked])
        values, self.request_id = self.values, ""
        try:
            return await self.decide(client, request, is_allowed=True, values=values)
        except RetinueError as error:
            if error.code != UsageError.code:
                raise
            return f"{error.message}\nTry again: {field_line(request.fields[0])}"
