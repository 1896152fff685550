"""Browser sessions that were logged out before they expired, remembered across restarts."""

import os
import threading
from pathlib import Path

from retinue.clock import Clock
from retinue.errors import StoreError, StoreFullError


class EndedSessions:
    """A small file of logged-out sessions; those that have expired are dropped."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._ended = self._read()

    def __contains__(self, session: str) -> bool:
        return session in self._ended

    def add(self, session: str) -> None:
        """End a session; blocks until it is on disk."""
        with self._lock:
            now = self._clock.now().timestamp()
            known = self._ended | self._read() | {session}
            self._ended = frozenset(one for one in known if session_end(one) > now)
            try:
                self._write()
            except OSError as error:
                raise StoreFullError(
                    "logged out, but only until a restart, because "
                    f"{self._file} cannot be written ({error.strerror}): free some space"
                ) from error

    def _read(self) -> frozenset[str]:
        try:
            return frozenset(self._file.read_text("utf-8", "replace").split())
        except FileNotFoundError:
            return frozenset()
        except OSError as error:
            raise StoreError(f"cannot read {self._file}: {error.strerror}") from error

    def _write(self) -> None:
        draft = self._file.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(f"{session}\n" for session in sorted(self._ended))
            file.flush()
            os.fsync(descriptor)
        draft.replace(self._file)
        folder = os.open(self._file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def session_end(session: str) -> int:
    """Return when a session expires, in seconds since 1970; 0 for invalid text."""
    ends, _, _ = session.partition(".")
    return int(ends) if ends.isdecimal() else 0
