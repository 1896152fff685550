"""The target of an MCP server's settings, with secrets resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retinue.settings.tables import McpSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A server that runs as a child process and uses its standard streams."""

    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class McpEndpoint:
    """A server that is reached over streamable HTTP."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


Target = Process | McpEndpoint


def target_of(settings: "McpSettings", project_dir: Path) -> Target:
    """Resolve the settings; raises `UsageError` for a secret that is not set."""
    if settings.url is not None:
        headers = {name: value.reveal() for name, value in settings.headers.items()}
        return McpEndpoint(url=settings.url.reveal(), headers=headers)
    assert settings.command is not None
    return Process(
        command=settings.command.reveal(),
        args=[argument.reveal() for argument in settings.args],
        env={name: value.reveal() for name, value in settings.env.items()},
        cwd=project_dir / settings.cwd if settings.cwd else project_dir,
    )


def without_secrets(text: str, target: Target) -> str:
    """Redact values of the environment and the headers in a text."""
    values = target.env.values() if isinstance(target, Process) else target.headers.values()
    for value in sorted((value for value in values if len(value) > 3), key=len, reverse=True):
        text = text.replace(value, "***")
    return text
