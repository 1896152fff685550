"""Says in the log that something is wrong: at once, then now and then, and when it is over."""

import logging
import time
from collections.abc import Callable

_QUIET_SECONDS = 60.0


class RepeatedLog:
    """One thing that can go wrong for long; whoever tries again each second tells it each time."""

    def __init__(
        self,
        logger: logging.Logger,
        what: str,
        *,
        over: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._what = what
        self._over = over
        self._monotonic = monotonic
        self._quiet_until = float("-inf")
        self._is_told = False

    def tell(self, why: object) -> None:
        """It goes wrong, perhaps still."""
        now = self._monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET_SECONDS
            self._is_told = True
            self._logger.error("%s: %s", self._what, why)

    def end(self) -> None:
        """It went well, perhaps again."""
        if self._is_told:
            self._is_told = False
            self._logger.warning("%s", self._over)
