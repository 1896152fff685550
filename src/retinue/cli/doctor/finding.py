"""The result of a check."""

from typing import Literal

from msgspec import Struct

State = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check; `advice` says how to fix a problem."""

    check: str
    state: State
    text: str
    advice: str = ""


def ok(check: str, text: str) -> Finding:
    return Finding(check=check, state="ok", text=text)


def warn(check: str, text: str, advice: str = "") -> Finding:
    return Finding(check=check, state="warn", text=text, advice=advice)


def fail(check: str, text: str, advice: str = "") -> Finding:
    return Finding(check=check, state="fail", text=text, advice=advice)
