"""Permission tags: parsing, and which permissions include others."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from retinue.agents.visible_text import is_plain
from retinue.errors import UsageError

NETWORK = "@network"
LONGEST_PATH = 4096
_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission; `target` is a path or the name of a tool."""

    kind: Literal["network", "read", "write", "tool"]
    target: str = ""

    @property
    def tag(self) -> str:
        return NETWORK if self.kind == "network" else f"@{self.kind}:{self.target}"

    def __str__(self) -> str:
        match self.kind:
            case "network":
                return "access the network from shell commands and web fetches"
            case "read":
                return f"read {self.target} and everything in it"
            case "write":
                return f"read and change {self.target} and everything in it"
            case "tool":
                return f"run the tool {self.target} without approval for each call"


def parse_permission(text: str) -> Permission:
    """Parse a tag. Raises `UsageError` with the reason."""
    if text == NETWORK:
        return Permission("network")
    kind, colon, target = text.partition(":")
    match kind:
        case "@read" | "@write" if colon:
            return Permission("read" if kind == "@read" else "write", _path(target))
        case "@tool" if colon:
            if not target or len(target) > _LONGEST_NAME or not is_plain(target):
                raise UsageError(f"permission: invalid tool name {target[:_LONGEST_NAME]!r}")
            return Permission("tool", target)
        case _:
            raise UsageError(
                f"permission: {text[:200]!r} is not one of @network, @read:<absolute path>, "
                "@write:<absolute path>, @tool:<name>"
            )


def is_held(permission: Permission, grants: Iterable[str]) -> bool:
    """Whether the grants include a permission: write includes read, a folder its content."""
    return any(_includes(held, permission) for held in permissions_of(grants))


def permissions_of(grants: Iterable[str]) -> list[Permission]:
    """Parse grants; unknown ones are ignored."""
    found: list[Permission] = []
    for grant in grants:
        try:
            found.append(parse_permission(grant))
        except UsageError:
            continue
    return found


def _includes(held: Permission, asked: Permission) -> bool:
    if asked.kind in ("network", "tool"):
        return held == asked
    if held.kind != "write" and held.kind != asked.kind:
        return False
    if held.kind not in ("read", "write"):
        return False
    return PurePosixPath(asked.target).is_relative_to(held.target)


def _path(text: str) -> str:
    if len(text) > LONGEST_PATH:
        raise UsageError(f"permission: the path is longer than {LONGEST_PATH} characters")
    if not is_plain(text):
        raise UsageError("permission: the path contains control or invisible characters")
    if not text.startswith("/"):
        raise UsageError(f"permission: {text!r} is a relative path; use an absolute path")
    path = PurePosixPath("/" + text.lstrip("/"))
    if ".." in path.parts:
        raise UsageError(f"permission: {text!r} contains '..'; use the resolved path")
    return str(path)
