"""Sessions and guesses, without a server."""

from pathlib import Path

import pytest

from retinue.errors import StoreFullError
from retinue.server.browser_sessions import EndedSessions
from retinue.server.error_responses import HttpError
from retinue.server.guard import CODE_SECONDS, SESSION_SECONDS, Gate, Guesses, LoginCodes
from retinue.testing.fake_clock import FakeClock


def gate_of(token: str, folder: Path, clock: FakeClock | None = None) -> Gate:
    clock = clock or FakeClock()
    return Gate(token, clock, ended=EndedSessions(folder / "ended-sessions", clock))


def test_a_new_token_ends_all_sessions_and_renames_the_cookie(tmp_path: Path) -> None:
    old, new = gate_of("old", tmp_path), gate_of("new", tmp_path)
    session = old.login(code=None, token="old", address="")
    assert old.browser(session) is not None
    assert gate_of("old", tmp_path).browser(session) is not None
    assert new.browser(session) is None
    assert old.cookie != new.cookie


@pytest.mark.parametrize("text", ["", "x", "é", "\ud800", "old\x00", "OLD", "old "])
def test_only_the_very_token_is_the_token(text: str, tmp_path: Path) -> None:
    assert not gate_of("old", tmp_path).is_token(text)


def test_codes_are_single_use_expire_and_do_not_pile_up() -> None:
    clock = FakeClock()
    codes = LoginCodes(clock)
    first = codes.issue()
    assert codes.redeem(first) and not codes.redeem(first)
    late = codes.issue()
    clock.advance(CODE_SECONDS)
    assert not codes.redeem(late)
    many = [codes.issue() for _ in range(20)]
    assert [codes.redeem(code) for code in many] == [False] * 4 + [True] * 16


def test_an_address_that_fails_too_often_waits_and_others_do_not() -> None:
    clock = FakeClock()
    guesses = Guesses(clock, burst=3, seconds_each=10)
    for _ in range(3):
        assert guesses.wait_seconds("a") == 0
        guesses.failed("a")
    assert guesses.wait_seconds("a") == pytest.approx(10)
    assert guesses.wait_seconds("b") == 0
    clock.advance(10)
    assert guesses.wait_seconds("a") == 0


def test_a_blocked_address_cannot_try_even_the_right_token_at_login(tmp_path: Path) -> None:
    gate = gate_of("right", tmp_path)
    for _ in range(10):
        with pytest.raises(HttpError):
            gate.login(code=None, token="wrong", address="a")
    with pytest.raises(HttpError) as refused:
        gate.login(code=None, token="right", address="a")
    assert refused.value.status == 429
    assert gate.login(code=None, token="right", address="b")
    assert gate.bearer("right", "a").owner == "local"


def test_ended_sessions_are_forgotten_once_they_have_run_out(tmp_path: Path) -> None:
    clock = FakeClock()
    file = tmp_path / "ended-sessions"
    ended = EndedSessions(file, clock)
    now = int(clock.now().timestamp())
    ended.add(f"{now + SESSION_SECONDS}.early")
    clock.advance(SESSION_SECONDS)
    late = f"{now + 2 * SESSION_SECONDS}.late"
    ended.add(late)
    assert file.read_text() == f"{late}\n"
    assert late in EndedSessions(file, clock)


def test_a_logout_that_cannot_be_kept_is_over_now_and_says_what_is_wrong(tmp_path: Path) -> None:
    clock = FakeClock()
    ended = EndedSessions(tmp_path / "missing" / "ended-sessions", clock)
    session = f"{int(clock.now().timestamp()) + SESSION_SECONDS}.mine"
    with pytest.raises(StoreFullError, match="only until a restart"):
        ended.add(session)
    assert session in ended
