"""Runs WAL checkpoints in the background, so that no commit waits for one."""

import sqlite3
import threading
from pathlib import Path

from retinue.stores.sqlite.database_file import connect
from retinue.stores.sqlite.write_operations import Checkpoint
from retinue.stores.sqlite.writer import Writer

_PAUSE_SECONDS = 0.5
_LOG_PAGES = 4096


class Checkpoints:
    """A thread that copies most of the log, and lets the writer finish when the log is long.

    A checkpoint next to a busy writer never catches up, and the log restarts only when all of it is
    copied. Therefore the writer copies the last pages between two groups.
    """

    def __init__(self, data: Path, writer: Writer) -> None:
        self._data = data
        self._writer = writer
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="retinue-checkpoint", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        seen = -1
        while not self._stopped.wait(_PAUSE_SECONDS):
            if self._writer.groups == seen:
                continue
            seen = self._writer.groups
            try:
                connection = connection or connect(self._data, is_writer=False)
                _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            except (sqlite3.Error, OSError):
                continue  # the disk is full: the writer reports it to its callers
            if pages > _LOG_PAGES:
                self._writer.submit(Checkpoint(None))
        if connection is not None:
            connection.close()
