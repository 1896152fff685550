"""Converts vendor errors to `ModelError`s."""

import re
from collections.abc import Mapping
from typing import Any, cast

import httpx2
from pydantic_ai import exceptions as vendor

from retinue.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    RateLimitedError,
    StreamCutError,
    UnknownModelError,
)
from retinue.models.providers.connection import Connection
from retinue.text import clean_text

_TOO_LONG_CODES = frozenset(
    {
        "context_length_exceeded",  # OpenAI and most compatible servers
        "exceed_context_size_error",  # llama.cpp
        "context_window_exceeded",
        "request_too_large",  # Anthropic, by bytes
    }
)
# Messages of vLLM, llama.cpp, Ollama and LM Studio, which send no error code.
_TOO_LONG = re.compile(
    r"maximum context length is \d+"
    r"|exceeds the available context size"
    r"|input length exceeds the (?:maximum )?context length"
    r"|greater than the context length",
    re.IGNORECASE,
)
_BAD_REQUEST = (400, 413, 422)
_RETRYABLE = frozenset({408, 409, 425})
_LONGEST_MESSAGE = 500


def model_error(
    error: Exception, *, name: str, connection: Connection, has_begun: bool
) -> ModelError:
    """Convert any exception of a vendor library."""
    message = f"{name}: {_message_of(error, connection)}"
    if _is_too_long(error):
        return ContextTooLongError(message)
    match error:
        case ModelError():
            return error
        case vendor.ModelRateLimitError():
            return RateLimitedError(message, retry_after_seconds=error.retry_after)
        case vendor.ModelQuotaExceededError():
            return ModelError(f"{message} (the account has no credit left)")
        case vendor.ModelAuthenticationError():
            return ModelError(f"{message} (the provider rejected the key: {connection.advice})")
        case vendor.ModelNotFoundError():
            return UnknownModelError(f"{message}{_advice(connection)}")
        case vendor.ModelTimeoutError() | vendor.ModelRequestTimeout():
            return ModelTimeoutError(message)
        case vendor.ModelConnectionError() | httpx2.TransportError():
            return _unreachable(message, connection, has_begun=has_begun)
        case _:
            return _other(error, message)


def _other(error: Exception, message: str) -> ModelError:
    if isinstance(error, vendor.ModelAPIError) and error.retry_after is not None:
        return RateLimitedError(message, retry_after_seconds=error.retry_after)
    match error:
        case vendor.ModelUnavailableError() | vendor.ModelServerError():
            return ModelError(message, is_retryable=True)
        case vendor.ModelRequestRejectedError() | vendor.ContentFilterError():
            return ModelError(message)
        case vendor.ModelHTTPError():
            return ModelError(message, is_retryable=error.status_code in _RETRYABLE)
        case vendor.ModelAPIError() | vendor.UnexpectedModelBehavior():
            return ModelError(message, is_retryable=True)
        case _:
            return ModelError(message)


def _unreachable(message: str, connection: Connection, *, has_begun: bool) -> ModelError:
    if has_begun:
        return StreamCutError(message)
    where = f" at {connection.base_url}" if connection.base_url else ""
    hint = "; is `ollama serve` running?" if connection.kind == "ollama" else ""
    return ModelError(f"{message} (cannot reach {connection.name}{where}{hint})", is_retryable=True)


def _advice(connection: Connection) -> str:
    if connection.kind == "ollama":
        return " (download it with `ollama pull`; `ollama list` shows installed models)"
    return f" (check the model name and {connection.base_url or 'the base URL'})"


def _is_too_long(error: Exception) -> bool:
    if isinstance(error, vendor.ModelContextWindowExceededError):
        return True
    if not isinstance(error, vendor.ModelHTTPError) or error.status_code not in _BAD_REQUEST:
        return False
    codes = {error.provider_error_code, error.provider_error_type, *_codes(error.body)}
    return bool(codes & _TOO_LONG_CODES) or _TOO_LONG.search(_body_message(error.body)) is not None


def _codes(body: object) -> set[str]:
    reported = _reported(body)
    return {value for key in ("code", "type") if isinstance(value := reported.get(key), str)}


def _body_message(body: object) -> str:
    message = _reported(body).get("message")
    return message if isinstance(message, str) else ""


def _reported(body: object) -> Mapping[str, Any]:
    """Return the error object of a response body, which some servers nest."""
    if not isinstance(body, dict):
        return {}
    outer = cast("dict[str, Any]", body)
    inner = outer.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else outer


def _message_of(error: Exception, connection: Connection) -> str:
    """Return the provider's message, truncated and with the key redacted."""
    body = error.body if isinstance(error, vendor.ModelAPIError) else None
    text = _body_message(body) or str(error) or type(error).__name__
    if isinstance(error, vendor.ModelHTTPError):
        text = f"{error.status_code}: {text}"
    if connection.api_key:
        text = text.replace(connection.api_key, "***")
    text = clean_text(text)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"
