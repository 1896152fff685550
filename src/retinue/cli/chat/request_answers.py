"""Deciding within a conversation: y or n for permissions and approvals, forms field by field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retinue.cli.client import Client
from retinue.cli.request_text import field_line, typed
from retinue.errors import RetinueError, UsageError
from retinue.events import RequestView

_YES = frozenset({"y", "yes", "allow"})
_NO = frozenset({"n", "no", "deny"})
_HOW = "y allows it, n denies it (words after n are told to the agent); anything else is a message."
_HOW_FORM = "Answer field by field; an empty answer is “-”. /deny declines, /later leaves it open."


def how_to_decide(request: RequestView) -> list[str]:
    """What may be typed now; for a form, also its first field."""
    if request.kind == "question" and request.fields:
        return [_HOW_FORM, field_line(request.fields[0])]
    return [_HOW]


def decidable(requests: Iterable[RequestView]) -> list[RequestView]:
    """Those that a line may decide: values of variables are not for the screen."""
    return [request for request in requests if request.kind != "variables"]


@dataclass(slots=True)
class RequestAnswers:
    """What was filled in so far of the form that is being answered."""

    request_id: str = ""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: int = 0
    put_off: set[str] = field(default_factory=set[str])
    decided: set[str] = field(default_factory=set[str])  # from here, whatever was heard since

    def current(self, pending: Sequence[RequestView]) -> RequestView | None:
        """The request that the next line may be about: the oldest that was not put off."""
        done = self.put_off | self.decided
        waiting = [one for one in pending if one.id not in done]
        return min(waiting, key=lambda one: one.created_at, default=None)

    async def take(self, client: Client, request: RequestView, line: str) -> str | None:
        """Decide by a line; gives what to say, or None when the line is a message."""
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
        """Decide it, and give what became of it."""
        self.decided.add(request.id)  # before: the news of it may come first
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
            return f"{error.message}\nOnce more: {field_line(request.fields[0])}"
