"""What each owner's open windows show, in memory for as long as the window is connected."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retinue.agents.panel import Inventory
from retinue.clock import Clock
from retinue.events import LiveEvent
from retinue.ids import OwnerId

LEASE_SECONDS = 60.0
"""How long an inventory sent without a connection is kept."""
MOST_WINDOWS = 32  # for each owner; the one that was quiet for longest is dropped
_RETURN_SECONDS = 10.0  # for windows to reconnect after a crash
_NO_WINDOWS: Mapping[str, Inventory] = {}


@dataclass(frozen=True, slots=True)
class _Window:
    inventory: Inventory
    holder: object | None  # the connection that sent it
    until: float | None  # on the monotonic clock, if there is no connection
    update: int  # a counter over all windows


Listener = Callable[[OwnerId, str, Inventory, object | None], None]
"""Called with each inventory: the owner, the window and the connection it came over."""


def _to_nobody(owner: OwnerId, event: LiveEvent) -> None:
    del owner, event


def _unheard(owner: OwnerId, window_id: str, inventory: Inventory, holder: object | None) -> None:
    del owner, window_id, inventory, holder


class Windows:
    """Inventories by owner and window; one owner never sees another's."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.announce: Callable[[OwnerId, LiveEvent], None] = _to_nobody
        """sends an event to an owner's open windows; set by the engine"""
        self._listener: Listener = _unheard
        self._updates = 0
        self._expected_until = 0.0
        self._windows: dict[OwnerId, dict[str, _Window]] = {}
        self._revision = 0
        self._has_leases = False

    @property
    def revision(self) -> int:
        """Changes whenever the inventories may have changed; leases expire without an event."""
        if self._has_leases:
            self._revision += 1
        return self._revision

    def show(
        self, owner: OwnerId, window_id: str, inventory: Inventory, *, holder: object | None = None
    ) -> None:
        """Store what a window shows; without a holder, only for the length of a lease."""
        until = None if holder is not None else self.clock.monotonic() + LEASE_SECONDS
        self._revision += 1
        self._has_leases = self._has_leases or holder is None
        self._updates += 1
        windows = self._windows.setdefault(owner, {})
        windows[window_id] = _Window(inventory, holder, until, self._updates)
        if len(windows) > MOST_WINDOWS:
            del windows[min(windows, key=lambda key: windows[key].update)]
        self._listener(owner, window_id, inventory, holder)

    def listen(self, listener: Listener) -> None:
        """Call this with every inventory from now on."""
        self._listener = listener

    def expect_back(self) -> None:
        """Expect the windows that were open before a crash to reconnect shortly."""
        self._expected_until = self.clock.monotonic() + _RETURN_SECONDS

    def seconds_to_come_back(self) -> float:
        return self._expected_until - self.clock.monotonic()

    def close(self, owner: OwnerId, window_id: str) -> bool:
        """Remove a window; False if it was unknown."""
        self._revision += 1
        windows = self._windows.get(owner, {})
        was_there = windows.pop(window_id, None) is not None
        if not windows:
            self._windows.pop(owner, None)
        self._has_leases = self._has_leases and bool(self._windows)
        return was_there

    def leave(self, owner: OwnerId, holder: object) -> None:
        """Remove the windows of a connection, except those that have reconnected."""
        for window_id, window in list(self._windows.get(owner, {}).items()):
            if window.holder is holder:
                self.close(owner, window_id)

    def of(self, owner: OwnerId) -> Mapping[str, Inventory]:
        """The owner's windows by id, oldest first."""
        if owner not in self._windows:
            return _NO_WINDOWS
        now = self.clock.monotonic()
        for window_id, window in list(self._windows[owner].items()):
            if window.until is not None and window.until <= now:
                self.close(owner, window_id)
        windows = self._windows.get(owner, {})
        return {window_id: window.inventory for window_id, window in windows.items()}

    def by_activity(self, owner: OwnerId) -> Mapping[str, Inventory]:
        """The owner's windows by id, most recently active first."""
        known = self.of(owner)
        windows = self._windows.get(owner, {})
        return {key: known[key] for key in sorted(known, key=lambda key: -windows[key].update)}

    def holder(self, owner: OwnerId, window_id: str) -> object | None:
        """The connection over which a window sent its inventory."""
        window = self._windows.get(owner, {}).get(window_id)
        return window.holder if window is not None else None
