"""Asks a user's browser window to open something, and waits briefly for its answer.

The id of a request is derived from the call's key. A window that reconnects without having answered
is asked again, even after a restart of this process and a repeat of the call. A window follows each
id only once, so nothing is lost and nothing opens twice.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from retinue.agents.panel import ARTIFACTS, HEADLESS, Inventory
from retinue.agents.safe_names import name_line
from retinue.engine.lineage.family_tree import ancestors_of
from retinue.engine.panels.windows import Windows
from retinue.errors import NotFoundError, UsageError
from retinue.events import ShowEvent
from retinue.ids import AgentId, OwnerId
from retinue.plugins.artifacts.show_operation import Opened, ShowRequest
from retinue.plugins.port import OperationContext
from retinue.stores.port import Store

PATIENCE_SECONDS = 10.0
"""The time a call waits for its window."""
_LIFE_SECONDS = 60.0  # a window that connects later is not asked any more
_GAP_SECONDS = 1.0  # between two attempts over one connection
_MOST = 200  # requests kept in memory


@dataclass(slots=True, kw_only=True)
class _Request:
    owner: OwnerId
    event: ShowEvent
    until: float
    again_at: float
    holder: object | None = None  # the connection of the last attempt
    how: Literal["opened", "offered"] | None = None
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class WindowOpener:
    """Implements `Opener` with the windows connected to this process."""

    def __init__(
        self, windows: Windows, store: Store, *, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._windows = windows
        self._store = store
        self._patience = patience_seconds
        self._requests: dict[str, _Request] = {}
        self._came = asyncio.Event()
        windows.listen(self._heard)

    async def open(self, ctx: OperationContext, request: ShowRequest) -> Opened:
        show = _id_of(ctx)
        if show not in self._requests:
            window_id = await self._awaited(ctx, request)
            if show not in self._requests:
                self._ask(ctx, request, show, window_id)
        pending = self._requests[show]
        try:
            async with asyncio.timeout(self._patience):
                await pending.answered.wait()
        except TimeoutError:
            pass
        return Opened(window_id=pending.event.window_id, how=pending.how or "asked")

    def _ask(self, ctx: OperationContext, request: ShowRequest, show: str, window_id: str) -> None:
        now = self._windows.clock.monotonic()
        event = ShowEvent(
            show=show,
            window_id=window_id,
            kind=request.kind,
            id=request.id,
            name=request.name,
            panel_id=request.panel_id,
            by=ctx.agent_id,
        )
        self._requests[show] = _Request(
            owner=ctx.owner,
            event=event,
            until=now + _LIFE_SECONDS,
            again_at=now + _GAP_SECONDS,
            holder=self._windows.holder(ctx.owner, window_id),
        )
        if len(self._requests) > _MOST:
            del self._requests[next(iter(self._requests))]
        self._windows.announce(ctx.owner, event)

    def _heard(
        self, owner: OwnerId, window_id: str, inventory: Inventory, holder: object | None
    ) -> None:
        """Settle the requests that a window has followed, and repeat those it missed."""
        self._came.set()
        self._came = asyncio.Event()
        now = self._windows.clock.monotonic()
        followed = {one.show: one for one in inventory.shown}
        for show, request in self._requests.items():
            if request.owner != owner or request.event.window_id != window_id or request.how:
                continue
            if show in followed:
                request.how = followed[show].how
                request.answered.set()
            elif now < request.until and (holder is not request.holder or now >= request.again_at):
                request.holder, request.again_at = holder, now + _GAP_SECONDS
                self._windows.announce(owner, request.event)

    # -- which window

    async def _awaited(self, ctx: OperationContext, request: ShowRequest) -> str:
        """Choose a window; after a restart, wait for open windows to reconnect."""
        family = await self._family(ctx.owner, ctx.agent_id)
        while True:
            came = self._came
            known = self._windows.by_activity(ctx.owner)
            seconds = self._windows.seconds_to_come_back()
            is_there = _talking(known, family) is not None if family else bool(known)
            if seconds <= 0 or is_there:
                return _chosen(known, request, family)
            try:
                async with asyncio.timeout(seconds):
                    await came.wait()
            except TimeoutError:
                pass

    async def _family(self, owner: OwnerId, agent_id: AgentId | None) -> Sequence[AgentId]:
        """The agents that may talk to the user about this: the agent and its ancestors."""
        if agent_id is None:
            return ()
        agent = await self._store.agent(owner, agent_id)
        return [agent_id, *(one.id for one in await ancestors_of(self._store, agent))]


def _chosen(known: Mapping[str, Inventory], request: ShowRequest, family: Sequence[AgentId]) -> str:
    """The named window, else the one with the conversation, else the most recently used."""
    if not known:
        raise NotFoundError(HEADLESS)
    if request.window_id is not None:
        if request.window_id not in known:
            there = ", ".join(map(name_line, known))
            named = name_line(request.window_id)
            raise NotFoundError(f"window_not_found: there is no window {named}; open: {there}")
        known = {request.window_id: known[request.window_id]}
    if request.panel_id is not None:
        known = _with_panel(known, request.panel_id)
    return _talking(known, family) or next(iter(known))


def _with_panel(known: Mapping[str, Inventory], panel_id: str) -> Mapping[str, Inventory]:
    panels = {(key, one.panel_id): one for key, each in known.items() for one in each.panels}
    named = {key: panel for (key, name), panel in panels.items() if name == panel_id}
    if not named:
        raise NotFoundError(
            f"panel_not_found: there is no panel {name_line(panel_id)};"
            " omit panel_id to let the window choose the panel"
        )
    fitting = {key: known[key] for key, panel in named.items() if panel.panel_type == ARTIFACTS}
    if not fitting:
        raise UsageError(f"the panel {name_line(panel_id)} cannot show lists, notes or views")
    return fitting


def _talking(known: Mapping[str, Inventory], family: Sequence[AgentId]) -> str | None:
    """The window that shows the conversation with the agent or one of its ancestors."""
    for agent_id in family:
        for window_id, inventory in known.items():
            if any(_agent_of(panel.binding) == agent_id for panel in inventory.panels):
                return window_id
    return None


def _agent_of(binding: Mapping[str, Any]) -> object:
    return binding.get("agentId")


def _id_of(ctx: OperationContext) -> str:
    return hashlib.sha256(f"{ctx.owner}\n{ctx.idempotency_key}".encode()).hexdigest()[:32]
