"""The numbers that decisions need, taken from the settings once."""

from dataclasses import dataclass

from retinue.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where the engine says no, and how long it waits."""

    context_tokens: int = 200_000
    steps: int = 250
    gather_seconds: float = 0.2
    crash_attempts: int = 3
    retry_attempts: int = 5
    retry_minimum_seconds: float = 1
    retry_maximum_seconds: float = 60
    tool_seconds: float = 60
    hook_seconds: float = 30
    tool_output_characters: int = 30_000
    calls_per_response: int = 64
    message_characters: int = 200_000
    message_hops: int = 40
    delegation_depth: int = 3
    delegation_seconds: float = 300
    permission_seconds: float = 86_400
    pending_requests: int = 20
    subagent_depth: int = 8
    live_children: int = 32
    foreground: int = 256
    background: int = 64
    warm_bytes: int = 256 * 1024 * 1024
    shutdown_seconds: float = 10


def limits_of(settings: Settings) -> Limits:
    limits = settings.limits
    return Limits(
        context_tokens=settings.agents.emergency_context_limit,
        steps=limits.steps_per_run,
        gather_seconds=limits.coalesce_window_ms / 1000,
        crash_attempts=limits.crash_attempts,
        retry_attempts=limits.retry_attempts,
        retry_minimum_seconds=limits.retry_minimum_seconds,
        retry_maximum_seconds=limits.retry_maximum_seconds,
        tool_seconds=limits.tool_time_limit_seconds,
        hook_seconds=limits.hook_time_limit_seconds,
        tool_output_characters=limits.tool_output_limit_chars,
        message_characters=limits.message_chars,
        message_hops=limits.message_hops,
        delegation_depth=limits.delegation_depth,
        delegation_seconds=limits.delegation_timeout_seconds,
        permission_seconds=limits.permission_timeout_seconds,
        pending_requests=limits.pending_requests,
        subagent_depth=limits.subagent_depth,
        live_children=limits.live_children,
        foreground=limits.foreground_concurrency,
        background=limits.background_concurrency,
        warm_bytes=limits.warm_bytes,
    )
