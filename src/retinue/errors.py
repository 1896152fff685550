"""Every error that Retinue raises on purpose, by what the catcher does next.

RetinueError
├── UsageError               the caller or the settings are wrong; retrying cannot help
│   ├── DefinitionError      a definition, prompt or tool file does not load
│   └── ArgumentsError       the arguments of a tool or an operation do not fit; names the fields
├── NotFoundError            no such thing, or not for this owner
├── ConflictError            the thing exists already, with another content
├── TerminatedError          the agent ended and takes no more messages
├── RefusedError             understood, and not allowed
├── OperationError           an operation of a plugin failed; its author has to look
├── BusyError                somebody else holds it (a port, a data directory)
├── StoreError               the store cannot do it now
│   ├── FencedError          another process owns the agent; drop what you hold
│   ├── StoreFullError       no room or not writable; nothing was stored; try again later
│   └── StoreDamagedError    the file is not readable; see `retinue doctor`
└── ModelError               carries is_retryable
    ├── RateLimitedError     carries retry_after_seconds
    ├── ModelTimeoutError
    ├── StreamCutError       the answer ended without a finish reason
    ├── ContextTooLongError
    └── UnknownModelError
"""

from collections.abc import Mapping


class RetinueError(Exception):
    """The base of all of them; `code` is stable and appears on the wire."""

    code = "error"

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})


class UsageError(RetinueError):
    """The caller or the settings are wrong; retrying cannot help."""

    code = "invalid"


class DefinitionError(UsageError):
    """A file does not load: names the file, the field path and what was expected."""

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
    """The arguments of a tool or an operation do not fit; `details.fields` says which and why."""

    code = "invalid_arguments"


class NotFoundError(RetinueError):
    """There is no such thing, or it belongs to somebody else."""

    code = "not_found"


class ConflictError(RetinueError):
    """The thing exists already, with another content."""

    code = "conflict"


class TerminatedError(RetinueError):
    """The agent ended and takes no more messages."""

    code = "terminated"


class RefusedError(RetinueError):
    """Understood, and not allowed."""

    code = "refused"


class OperationError(RetinueError):
    """An operation of a plugin failed or took too long; the log tells where."""

    code = "operation_failed"


class BusyError(RetinueError):
    """Somebody else holds it: a port, a data directory."""

    code = "busy"


class StoreError(RetinueError):
    """The store cannot do it now."""

    code = "store"


class FencedError(StoreError):
    """Another process owns the agent; drop what you hold."""

    code = "fenced"


class StoreFullError(StoreError):
    """The disk is full or not writable; nothing was stored."""

    code = "store_full"


class StoreDamagedError(StoreError):
    """The database file is not readable."""

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
    """The provider asks for patience."""

    code = "rate_limited"

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message, is_retryable=True)
        self.retry_after_seconds = retry_after_seconds


class ModelTimeoutError(ModelError):
    """No first byte, or silence in the middle of an answer."""

    code = "model_timeout"

    def __init__(self, message: str) -> None:
        super().__init__(message, is_retryable=True)


class StreamCutError(ModelError):
    """The answer ended without a finish reason, so it is not an answer."""

    code = "stream_cut"

    def __init__(self, message: str) -> None:
        super().__init__(message, is_retryable=True)


class ContextTooLongError(ModelError):
    """The provider says that the input exceeds its window."""

    code = "context_too_long"


class UnknownModelError(ModelError):
    """No provider or no such model."""

    code = "unknown_model"


def error_of(code: str, message: str) -> RetinueError:
    """The error that was stored as its code and message, as far as these say what it was."""
    found = _by_code().get(code, RetinueError)
    error = found(message)
    error.code = code
    return error


def _by_code() -> Mapping[str, type[RetinueError]]:
    """The classes that are made of a message alone; the others are stood for by their parents."""
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
