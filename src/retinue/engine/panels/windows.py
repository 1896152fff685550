"""What the open windows of each owner show: kept in memory, and gone with whoever told it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retinue.agents.panel import Inventory
from retinue.clock import Clock
from retinue.events import LiveEvent
from retinue.ids import OwnerId

LEASE_SECONDS = 60.0
"""How long an inventory stands that came without a connection, unless it comes again."""
MOST_WINDOWS = 32  # of one owner; the one that was silent for longest has to go
_RETURN_SECONDS = 10.0  # in which windows come back after this process died
_NO_WINDOWS: Mapping[str, Inventory] = {}


@dataclass(frozen=True, slots=True)
class _Window:
    inventory: Inventory
    holder: object | None  # the connection that told it
    until: float | None  # on the monotonic clock, where there is no connection
    told: int  # grows with everything that any window tells


Listener = Callable[[OwnerId, str, Inventory, object | None], None]
"""Told of each inventory: whose, of which window, and over which connection it came."""


def _to_nobody(owner: OwnerId, event: LiveEvent) -> None:
    del owner, event


def _unheard(owner: OwnerId, window_id: str, told: Inventory, holder: object | None) -> None:
    del owner, window_id, told, holder


class Windows:
    """Inventories by owner and window; one owner never sees another's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.announce: Callable[[OwnerId, LiveEvent], None] = _to_nobody
        """tells the open windows of an owner something; the engine says how"""
        self._listener: Listener = _unheard
        self._told = 0
        self._expected_until = 0.0
        self._windows: dict[OwnerId, dict[str, _Window]] = {}
        self._revision = 0
        self._has_leases = False

    @property
    def revision(self) -> int:
        """Changes when what anybody's windows show does, or might: leases run out unseen."""
        if self._has_leases:
            self._revision += 1
        return self._revision

    def show(
        self, owner: OwnerId, window_id: str, inventory: Inventory, *, holder: object | None = None
    ) -> None:
        """Take what a window shows now; without a holder, for as long as a lease lasts."""
        until = None if holder is not None else self.clock.monotonic() + LEASE_SECONDS
        self._revision += 1
        self._has_leases = self._has_leases or holder is None
        self._told += 1
        windows = self._windows.setdefault(owner, {})
        windows[window_id] = _Window(inventory, holder, until, self._told)
        if len(windows) > MOST_WINDOWS:
            del windows[min(windows, key=lambda key: windows[key].told)]
        self._listener(owner, window_id, inventory, holder)

    def listen(self, listener: Listener) -> None:
        """Tell somebody of every inventory from now on."""
        self._listener = listener

    def expect_back(self) -> None:
        """Windows that were open when the last process died will be there again in a moment."""
        self._expected_until = self.clock.monotonic() + _RETURN_SECONDS

    def seconds_to_come_back(self) -> float:
        return self._expected_until - self.clock.monotonic()

    def close(self, owner: OwnerId, window_id: str) -> bool:
        """Forget a window; False when it was not there."""
        self._revision += 1
        windows = self._windows.get(owner, {})
        was_there = windows.pop(window_id, None) is not None
        if not windows:
            self._windows.pop(owner, None)
        self._has_leases = self._has_leases and bool(self._windows)
        return was_there

    def leave(self, owner: OwnerId, holder: object) -> None:
        """Forget the windows that this connection told of last: one may have come back by now."""
        for window_id, window in list(self._windows.get(owner, {}).items()):
            if window.holder is holder:
                self.close(owner, window_id)

    def of(self, owner: OwnerId) -> Mapping[str, Inventory]:
        """The owner's windows by id, the oldest first."""
        if owner not in self._windows:
            return _NO_WINDOWS
        now = self.clock.monotonic()
        for window_id, window in list(self._windows[owner].items()):
            if window.until is not None and window.until <= now:
                self.close(owner, window_id)
        windows = self._windows.get(owner, {})
        return {window_id: window.inventory for window_id, window in windows.items()}

    def by_activity(self, owner: OwnerId) -> Mapping[str, Inventory]:
        """The owner's windows by id, the one that told something last before the others."""
        known = self.of(owner)
        windows = self._windows.get(owner, {})
        return {key: known[key] for key in sorted(known, key=lambda key: -windows[key].told)}

    def holder(self, owner: OwnerId, window_id: str) -> object | None:
        """The connection over which a window told what it shows."""
        window = self._windows.get(owner, {}).get(window_id)
        return window.holder if window is not None else None
