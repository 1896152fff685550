"""Vendors' errors as ours, by what the engine should do next."""

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
        "context_length_exceeded",  # OpenAI and most that copy it
        "exceed_context_size_error",  # llama.cpp
        "context_window_exceeded",
        "request_too_large",  # Anthropic, by bytes
    }
)
# Whole phrases of vLLM, llama.cpp, Ollama and LM Studio, which give a bad request no code.
_TOO_LONG = re.compile(
    r"maximum context length is \d+"
    r"|exceeds the available context size"
    r"|input length exceeds the (?:maximum )?context length"
    r"|greater than the context length",
    re.IGNORECASE,
)
_BAD_REQUEST = (400, 413, 422)
_PASSING = frozenset({408, 409, 425})
_SAID = 500


def model_error(
    error: Exception, *, name: str, connection: Connection, has_begun: bool
) -> ModelError:
    """Translate whatever a vendor raised; no other error leaves a model."""
    said = f"{name}: {_said(error, connection)}"
    if _is_too_long(error):
        return ContextTooLongError(said)
    match error:
        case ModelError():
            return error
        case vendor.ModelRateLimitError():
            return RateLimitedError(said, retry_after_seconds=error.retry_after)
        case vendor.ModelQuotaExceededError():
            return ModelError(f"{said} (the account has nothing left to spend)")
        case vendor.ModelAuthenticationError():
            return ModelError(f"{said} (the key was refused: {connection.advice})")
        case vendor.ModelNotFoundError():
            return UnknownModelError(f"{said}{_advice(connection)}")
        case vendor.ModelTimeoutError() | vendor.ModelRequestTimeout():
            return ModelTimeoutError(said)
        case vendor.ModelConnectionError() | httpx2.TransportError():
            return _unreachable(said, connection, has_begun=has_begun)
        case _:
            return _other(error, said)


def _other(error: Exception, said: str) -> ModelError:
    if isinstance(error, vendor.ModelAPIError) and error.retry_after is not None:
        return RateLimitedError(said, retry_after_seconds=error.retry_after)
    match error:
        case vendor.ModelUnavailableError() | vendor.ModelServerError():
            return ModelError(said, is_retryable=True)
        case vendor.ModelRequestRejectedError() | vendor.ContentFilterError():
            return ModelError(said)
        case vendor.ModelHTTPError():
            return ModelError(said, is_retryable=error.status_code in _PASSING)
        case vendor.ModelAPIError() | vendor.UnexpectedModelBehavior():
            return ModelError(said, is_retryable=True)
        case _:
            return ModelError(said)


def _unreachable(said: str, connection: Connection, *, has_begun: bool) -> ModelError:
    if has_begun:
        return StreamCutError(said)
    where = f" at {connection.base_url}" if connection.base_url else ""
    hint = "; is `ollama serve` running?" if connection.kind == "ollama" else ""
    return ModelError(f"{said} (cannot reach {connection.name}{where}{hint})", is_retryable=True)


def _advice(connection: Connection) -> str:
    if connection.kind == "ollama":
        return " (`ollama pull` fetches models, `ollama list` shows them)"
    return f" (is the model's name right, and {connection.base_url or 'the address'}?)"


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
    """Find the part of an error body that says what went wrong; servers nest it or not."""
    if not isinstance(body, dict):
        return {}
    outer = cast("dict[str, Any]", body)
    inner = outer.get("error")
    if isinstance(inner, str):
        return {"message": inner}
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else outer


def _said(error: Exception, connection: Connection) -> str:
    """Quote the provider, shortly and without the key, should it echo that."""
    body = error.body if isinstance(error, vendor.ModelAPIError) else None
    text = _body_message(body) or str(error) or type(error).__name__
    if isinstance(error, vendor.ModelHTTPError):
        text = f"{error.status_code}: {text}"
    if connection.api_key:
        text = text.replace(connection.api_key, "***")
    text = clean_text(text)
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"
