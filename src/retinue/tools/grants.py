"""Checks grants of tools, and turns granted paths into sandbox binds."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from retinue.agents.permission import Permission, is_held, permissions_of
from retinue.errors import RefusedError
from retinue.tools.port import ToolContext
from retinue.tools.sandbox import Bind


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """The paths that grants make visible to a command."""

    binds: Sequence[Bind]
    hidden: Sequence[str]
    missing: Sequence[str]  # granted, but missing or replaced by a symbolic link


def granted(grants: Sequence[str], private: Path) -> Granted:
    """Turn grants of paths into binds, never including `private`.

    A path that became a symbolic link after it was granted is not followed. A path inside another
    granted one is not bound separately, because a command with write access could replace it.
    """
    secret = Path(os.path.realpath(private))
    asked = [one for one in permissions_of(grants) if one.kind in ("read", "write")]
    binds: list[Bind] = []
    hidden: list[str] = []
    missing: list[str] = []
    for permission in sorted(set(asked), key=lambda one: one.target):
        path = Path(permission.target)
        if _is_in_another(permission, asked) or path.is_relative_to(secret):
            continue
        if os.path.realpath(path) != str(path) or not path.exists():
            missing.append(str(path))
            continue
        binds.append(Bind(source=path, place=str(path), is_writable=permission.kind == "write"))
        if secret.is_relative_to(path) and secret.is_dir():
            hidden.append(str(secret))
    return Granted(binds=binds, hidden=list(dict.fromkeys(hidden)), missing=missing)


def _is_in_another(permission: Permission, asked: Sequence[Permission]) -> bool:
    return is_held(permission, [other.tag for other in asked if other != permission])


def require(ctx: ToolContext, grant: str, to_do: str) -> None:
    """Raise a `RefusedError` that says how to get the grant, unless the agent has it."""
    if grant not in ctx.grants:
        raise RefusedError(
            f"This agent may not {to_do}: it does not have the grant {grant}. Ask its owner with "
            f"request_permission (permission {grant!r} and your reason) if you have that tool; "
            "otherwise tell the owner in your answer.",
            details={"grant": grant},
        )
