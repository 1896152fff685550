"""Logs a persistent problem without flooding the log."""

import logging
import time
from collections.abc import Callable

_QUIET_SECONDS = 60.0


class RepeatedLog:
    """Logs a problem when it starts, once a minute while it lasts, and when it is over."""

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
        self._is_logged = False

    def report(self, why: object) -> None:
        """Report a failed attempt; call it each time."""
        now = self._monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET_SECONDS
            self._is_logged = True
            self._logger.error("%s: %s", self._what, why)

    def clear(self) -> None:
        """Report a successful attempt; call it each time."""
        if self._is_logged:
            self._is_logged = False
            self._logger.warning("%s", self._over)
