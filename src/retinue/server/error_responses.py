"""Error responses and their status codes."""

from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from retinue.errors import (
    BusyError,
    ConflictError,
    ModelError,
    NotFoundError,
    RefusedError,
    RetinueError,
    StoreError,
    StoreFullError,
    TerminatedError,
    UnknownModelError,
    UsageError,
)

STATUS: Mapping[type[RetinueError], int] = {
    UsageError: 400,
    UnknownModelError: 400,
    RefusedError: 403,
    NotFoundError: 404,
    ConflictError: 409,
    TerminatedError: 410,
    ModelError: 502,
    BusyError: 503,
    StoreError: 503,
    StoreFullError: 507,
    RetinueError: 500,
}
"""The nearest base class of an error applies."""

RETRY_SECONDS = "5"
_CODES = {404: "not_found", 405: "method_not_allowed"}


class HttpError(RetinueError):
    """An error of the HTTP layer."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, details=details)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def too_large(message: str) -> HttpError:
    # The rest of the body is not read, so the connection cannot be used again.
    return HttpError(413, "too_large", message, headers={"Connection": "close"})


def status_of(error: RetinueError) -> int:
    if isinstance(error, HttpError):
        return error.status
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_json(error: RetinueError) -> bytes:
    body: dict[str, object] = {"code": error.code, "message": error.message}
    details = {key: value for key, value in error.details.items() if value is not None}
    if details:
        body["details"] = details
    return msgspec.json.encode({"error": body}, enc_hook=str)


def error_response(error: RetinueError) -> Response:
    status = status_of(error)
    headers = dict(error.headers) if isinstance(error, HttpError) else {}
    if status in (503, 507):
        headers.setdefault("Retry-After", RETRY_SECONDS)
    return Response(error_json(error), status, headers, "application/json")


def from_starlette(error: HTTPException) -> HttpError:
    """Convert an error of the router."""
    return HttpError(
        error.status_code,
        _CODES.get(error.status_code, "invalid"),
        {
            404: "Not found.",
            405: "Method not allowed.",
        }.get(error.status_code, error.detail),
        headers=error.headers,
    )


def internal_error() -> HttpError:
    return HttpError(500, "internal", "Internal error. See the server's log for details.")
