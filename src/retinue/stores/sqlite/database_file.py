"""The database file: its lock, schema and errors."""

import fcntl
import os
import sqlite3
from pathlib import Path

from retinue.errors import BusyError, ConflictError, StoreDamagedError, StoreError, StoreFullError

DATABASE = "retinue.db"
_APPLICATION_ID = 0x52544E45
_SCHEMA = Path(__file__).with_name("schema")

_NO_ROOM = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def store_error(error: Exception, data: Path) -> StoreError | ConflictError:
    """Convert a database error to an error for the caller."""
    if isinstance(error, OSError):
        return _not_writable(data, str(error))
    code = getattr(error, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    if primary in _NO_ROOM:
        return _not_writable(data, str(error))
    if primary in _DAMAGED:
        return _damaged(data, str(error))
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return ConflictError(f"the store already contains this: {error}")
    return StoreError(f"the store failed: {error}")


def _not_writable(data: Path, why: str) -> StoreFullError:
    return StoreFullError(
        f"nothing was stored, because {data} cannot be written ({why}): "
        "free some space or make it writable, then try again"
    )


def _damaged(data: Path, why: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"{data / DATABASE} is damaged ({why}): run `retinue doctor` to see what is wrong, "
        "or `retinue serve --rebuild` to set it aside and rebuild it from the agents' folders"
    )


class DirectoryLock:
    """Locks a data directory for this process; the kernel releases it when the process ends."""

    def __init__(self, data: Path) -> None:
        self._path = data / "lock"
        self._descriptor: int | None = None

    def take(self) -> None:
        if self._descriptor is not None:
            return
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise BusyError(
                f"{self._path.parent} is in use by process {holder or '(unknown)'}: "
                "stop it first, or use another directory",
                details={"pid": int(holder) if holder.isdigit() else None},
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def make_directory(data: Path) -> None:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o700)


def connect(data: Path, *, is_writer: bool) -> sqlite3.Connection:
    """Open the database; only the connection of the writer thread may change it."""
    path = data / DATABASE
    if is_writer:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(
        path, timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        if is_writer:
            # Small commits touch many pages slightly: half the page size writes half the bytes.
            connection.execute("PRAGMA page_size = 2048")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("PRAGMA cache_size = -16384")
        else:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cache_size = -2048")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def migrations() -> list[tuple[int, str]]:
    files = sorted(_SCHEMA.glob("*.sql"))
    return [(int(file.name.split("_")[0]), file.read_text(encoding="utf-8")) for file in files]


def migrate(connection: sqlite3.Connection, data: Path) -> int:
    """Apply pending migrations, each in a transaction; returns the schema version."""
    known = migrations()
    newest = known[-1][0]
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != _APPLICATION_ID:
        raise _damaged(data, "it is not a Retinue store")
    if version > newest:
        raise StoreError(
            f"{data / DATABASE} was written by a newer Retinue (schema {version}, this version "
            f"supports {newest}): install that version again, or use another directory"
        )
    for number, script in known:
        if number > version:
            connection.executescript(
                f"BEGIN IMMEDIATE; {script} PRAGMA application_id = {_APPLICATION_ID}; "
                f"PRAGMA user_version = {number}; COMMIT;"
            )
    return newest
