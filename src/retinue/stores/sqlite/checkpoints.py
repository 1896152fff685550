"""Copies the log back into the database file in the background, so that no commit waits for it."""

import sqlite3
import threading
from pathlib import Path

from retinue.stores.sqlite.database_file import connect
from retinue.stores.sqlite.write_operations import Checkpoint
from retinue.stores.sqlite.writer import Writer

_PAUSE_SECONDS = 0.5
_LOG_PAGES = 4096


class Checkpoints:
    """One thread: it does the bulk, and asks the writer to finish when the log is long.

    A checkpoint beside a busy writer never catches up, and the log only starts over when all of it
    is copied: the last few pages are therefore the writer's, between two groups.
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
                continue  # no room: the writer tells whoever writes
            if pages > _LOG_PAGES:
                self._writer.submit(Checkpoint(None))
        if connection is not None:
            connection.close()
