from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from retinue.agents.state import Turn
from retinue.engine.agent.limits import Limits
from retinue.engine.rules.retrying import GiveUp, TryAgain, after_failure
from retinue.errors import (
    ModelError,
    ModelTimeoutError,
    RateLimitedError,
    StreamCutError,
    UnknownModelError,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = Limits(retry_attempts=4, retry_minimum_seconds=1, retry_maximum_seconds=6)
BUSY = ModelError("busy", is_retryable=True)
WRONG = ModelError("wrong key")


def decide(
    error: ModelError,
    *,
    attempt: int = 0,
    model_index: int = 0,
    models: int = 1,
    jitter: float = 1,
) -> TryAgain | GiveUp:
    turn = Turn(items=[], first_seq=1)
    turn = structs.replace(turn, attempt=attempt, model_index=model_index)
    return after_failure(turn, error, models=models, now=NOW, jitter=jitter, limits=LIMITS)


def again(
    seconds: float, attempt: int, model_index: int = 0, *, is_asked: bool = False
) -> TryAgain:
    at = NOW + timedelta(seconds=seconds)
    return TryAgain(at=at, attempt=attempt, model_index=model_index, is_asked=is_asked)


@pytest.mark.parametrize(("attempt", "seconds"), [(0, 1), (1, 2), (2, 4)])
def test_each_try_waits_twice_as_long(attempt: int, seconds: float) -> None:
    assert decide(BUSY, attempt=attempt) == again(seconds, attempt + 1)


def test_a_wait_never_exceeds_the_longest() -> None:
    limits = Limits(retry_attempts=99, retry_minimum_seconds=1, retry_maximum_seconds=6)
    turn = Turn(items=[], first_seq=1, attempt=50)
    decision = after_failure(turn, BUSY, models=1, now=NOW, jitter=1, limits=limits)
    assert decision == again(6, 51)


@pytest.mark.parametrize(("jitter", "seconds"), [(0, 2), (0.25, 2.5), (0.5, 3), (1, 4)])
def test_jitter_spreads_waits_evenly_over_the_upper_half(jitter: float, seconds: float) -> None:
    assert decide(BUSY, attempt=2, jitter=jitter) == again(seconds, 3)


@given(st.floats(0, 1), st.integers(0, 2))
def test_jitter_takes_away_at_most_half(jitter: float, attempt: int) -> None:
    decision = decide(BUSY, attempt=attempt, jitter=jitter)
    assert isinstance(decision, TryAgain)
    seconds = (decision.at - NOW).total_seconds()
    assert 2**attempt / 2 <= seconds <= 2**attempt


@pytest.mark.parametrize(("asked", "seconds"), [(17, 17), (0, 0), (-3, 0), (86_400, 3600)])
def test_a_provider_that_asks_for_time_gets_it(asked: float, seconds: float) -> None:
    error = RateLimitedError("slow down", retry_after_seconds=asked)
    assert decide(error, jitter=0) == again(seconds, 1, is_asked=True)


def test_a_rate_limit_without_a_time_is_waited_for_like_the_others() -> None:
    assert decide(RateLimitedError("slow down"), attempt=1) == again(2, 2)


@pytest.mark.parametrize("error", [BUSY, ModelTimeoutError("slow"), StreamCutError("cut")])
def test_after_the_last_try_it_gives_up_and_says_how_often_it_tried(error: ModelError) -> None:
    decision = decide(error, attempt=3)
    assert decision == GiveUp(reason=f"{error.message} (after 4 attempts)")


@pytest.mark.parametrize("error", [WRONG, UnknownModelError("no such model")])
def test_an_error_that_will_stay_is_not_tried_again(error: ModelError) -> None:
    assert decide(error) == GiveUp(reason=error.message)


def test_a_fallback_takes_over_at_once_when_the_error_will_stay() -> None:
    assert decide(WRONG, models=3) == again(0, 0, model_index=1)
    assert decide(WRONG, models=3, model_index=1) == again(0, 0, model_index=2)
    assert decide(WRONG, models=3, model_index=2) == GiveUp(reason="wrong key")


def test_a_fallback_takes_over_after_the_second_failure_that_may_pass() -> None:
    assert decide(BUSY, models=2) == again(1, 1)
    assert decide(BUSY, models=2, attempt=1) == again(0, 0, model_index=1)


def test_the_last_fallback_gets_all_tries() -> None:
    assert decide(BUSY, models=2, model_index=1, attempt=2) == again(4, 3, model_index=1)
    assert isinstance(decide(BUSY, models=2, model_index=1, attempt=3), GiveUp)


def test_a_fallback_takes_over_at_once_when_the_provider_asks_for_a_long_wait() -> None:
    assert decide(RateLimitedError("later", retry_after_seconds=900), models=2) == again(
        0, 0, model_index=1
    )
    soon = RateLimitedError("soon", retry_after_seconds=3)
    assert decide(soon, models=2) == again(3, 1, is_asked=True)
