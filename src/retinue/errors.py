"""Every error that Retinue raises on purpose, grouped by how a caller handles it.

RetinueError
├── UsageError               invalid request or settings; a retry does not help
│   ├── DefinitionError      a definition, prompt or tool file fails to load
│   └── ArgumentsError       invalid arguments for a tool or an operation; lists the fields
├── NotFoundError            it does not exist, or belongs to another owner
├── ConflictError            it already exists with different content
├── TerminatedError          the agent has ended and accepts no more messages
├── RefusedError             the request is valid, but not allowed
├── OperationError           a plugin operation failed; the log has the traceback
├── BusyError                in use by another process (a port, a data directory)
├── StoreError               the store is unavailable
│   ├── FencedError          another process owns the agent; discard cached state
│   ├── StoreFullError       disk full or read-only; nothing was stored; retry later
│   └── StoreDamagedError    the database file is corrupt; see `retinue doctor`
└── ModelError               has is_retryable
    ├── RateLimitedError     has retry_after_seconds
    ├── ModelTimeoutError
    ├── StreamCutError       the response ended without a finish reason
    ├── ContextTooLongError
    └── UnknownModelError
"""

from collections.abc import Mapping


class RetinueError(Exception):
    """Base class; `code` is stable and is sent to clients."""

    code = "error"

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})


class UsageError(RetinueError):
    """The request or the settings are invalid; a retry does not help."""

    code = "invalid"


class DefinitionError(UsageError):
    """A file fails to load; has the file, the field path and the reason."""

    code = "definition_invalid"

    def __init__(
        self, message: str, *, file: str, field: str = "", line: int | None = None
    ) -> None:
        where = f"{file}:{line}" if line is not None else file
        super().__init__(
            f"{where}: {field}: {message}" if field else f"{where}: {message}",
            details={"file": file, "field": field, "line": line},
        )
        self.reason = message
        self.file = file
        self.field = field
        self.line = line


class ArgumentsError(UsageError):
    """The arguments of a tool or an operation are invalid; `details.fields` lists each problem."""

    code = "invalid_arguments"


class NotFoundError(RetinueError):
    """The object does not exist, or belongs to another owner."""

    code = "not_found"


class ConflictError(RetinueError):
    """The object already exists with different content."""

    code = "conflict"


class TerminatedError(RetinueError):
    """The agent has ended and accepts no more messages."""

    code = "terminated"


class RefusedError(RetinueError):
    """The request is valid, but not allowed."""

    code = "refused"


class OperationError(RetinueError):
    """A plugin operation failed or timed out; the log has the traceback."""

    code = "operation_failed"


class BusyError(RetinueError):
    """The resource (a port, a data directory) is in use by another process."""

    code = "busy"


class StoreError(RetinueError):
    """The store is unavailable."""

    code = "store"


class FencedError(StoreError):
    """Another process owns the agent; discard cached state."""

    code = "fenced"


class StoreFullError(StoreError):
    """The disk is full or read-only; nothing was stored."""

    code = "store_full"


class StoreDamagedError(StoreError):
    """The database file is corrupt."""

    code = "store_damaged"


class ModelError(RetinueError):
    """A model call failed."""

    code = "model"

    def __init__(
        self,
        message: str,
        *,
        is_retryable: bool = False,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.is_retryable = is_retryable


class RateLimitedError(ModelError):
    """The provider rejected the request because of its rate limit."""

    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message, is_retryable=True)
        self.retry_after_seconds = retry_after_seconds


class ModelTimeoutError(ModelError):
    """The model sent no first event, or its response stalled."""

    code = "model_timeout"

    def __init__(self, message: str) -> None:
        super().__init__(message, is_retryable=True)


class StreamCutError(ModelError):
    """The response ended without a finish reason, so it is incomplete."""

    code = "stream_cut"

    def __init__(self, message: str) -> None:
        super().__init__(message, is_retryable=True)


class ContextTooLongError(ModelError):
    """The input exceeds the model's context window."""

    code = "context_too_long"


class UnknownModelError(ModelError):
    """The provider or the model does not exist."""

    code = "unknown_model"


def error_of(code: str, message: str) -> RetinueError:
    """Recreate an error from its stored code and message, without details."""
    found = _by_code().get(code, RetinueError)
    error = found(message)
    error.code = code
    return error


def _by_code() -> Mapping[str, type[RetinueError]]:
    """Return the classes that need only a message; a parent class represents the others."""
    own: Mapping[str, type[RetinueError]] = {
        kind.code: kind
        for kind in (
            UsageError,
            ArgumentsError,
            NotFoundError,
            ConflictError,
            TerminatedError,
            RefusedError,
            OperationError,
            BusyError,
            StoreError,
            ModelError,
            UnknownModelError,
        )
    }
    return {**own, DefinitionError.code: UsageError}
