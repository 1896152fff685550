"""What follows a failed model call: try again later, try another model, or give up."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from retinue.agents.state import Turn
from retinue.engine.agent.limits import Limits
from retinue.errors import ModelError, RateLimitedError

_LONGEST_PATIENCE_SECONDS = 3600
_TRIES_BEFORE_FALLBACK = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgain:
    """The model call is due again at that time, with that model of the chain."""

    at: datetime
    attempt: int
    model_index: int
    is_asked: bool = False  # by the provider, and not our own guess


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """No model is left that could still answer."""

    reason: str


def after_failure(
    turn: Turn,
    error: ModelError,
    *,
    models: int,
    now: datetime,
    jitter: float,
    limits: Limits,
) -> TryAgain | GiveUp:
    """Decide; `jitter` is a random number from 0 to 1."""
    attempt = turn.attempt + 1
    has_fallback = turn.model_index + 1 < models
    seconds = _delay_seconds(attempt, error, jitter, limits)
    is_long = seconds > limits.retry_maximum_seconds  # only when the provider asks for it
    if has_fallback and (not error.is_retryable or is_long or attempt >= _TRIES_BEFORE_FALLBACK):
        return TryAgain(at=now, attempt=0, model_index=turn.model_index + 1)
    if not error.is_retryable:
        return GiveUp(reason=error.message)
    if attempt >= limits.retry_attempts:
        return GiveUp(reason=f"{error.message} (after {attempt} attempts)")
    return TryAgain(
        at=now + timedelta(seconds=seconds),
        attempt=attempt,
        model_index=turn.model_index,
        is_asked=_asked_seconds(error) is not None,
    )


def _asked_seconds(error: ModelError) -> float | None:
    return error.retry_after_seconds if isinstance(error, RateLimitedError) else None


def _delay_seconds(attempt: int, error: ModelError, jitter: float, limits: Limits) -> float:
    asked = _asked_seconds(error)
    if asked is not None:
        return min(max(asked, 0.0), _LONGEST_PATIENCE_SECONDS)
    longest = min(limits.retry_maximum_seconds, limits.retry_minimum_seconds * 2 ** (attempt - 1))
    return longest * (0.5 + jitter / 2)
