"""The declarations in Python files of a project, and how they are collected."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, get_args

HookKind = Literal[
    "after_thread_created",
    "after_subagent_created",
    "after_system_message",
    "filter_messages",
    "prefilter_llm_history",
    "before_create_message",
    "after_create_message",
    "before_update_message",
    "after_update_message",
    "before_store_tool_result",
    "after_tool_call_success",
    "after_tool_call_failure",
]
HOOK_KINDS: tuple[HookKind, ...] = get_args(HookKind)


LOAD_SECONDS = 30.0
"""The time limit for loading a Python file, so that an endless one does not block every turn."""

NOT_LOADED = "it did not load within {:g} seconds"


class HookBlocked(Exception):  # noqa: N818  a hook's decision, not an error
    """Raised by a `prefilter_llm_history` hook: no model is called, and this text is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A function that observes or changes data at a certain point of a run."""

    kind: HookKind
    id: str
    execute: Callable[..., Any]
    file: str = ""
    line: int | None = None


HookSet = Mapping[HookKind, Sequence[Hook]]
"""The hooks of one side, in the order in which they are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTool:
    """A tool defined outside of `tools/`; the tools layer interprets it."""

    name: str
    tool: object
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One call of `define_agent` or `define_prompt`."""

    kind: Literal["definition", "prompt"]
    fields: Mapping[str, object]
    line: int | None


Declared = Declaration | Hook | DeclaredTool
_collected: ContextVar["list[Declared] | None"] = ContextVar("collected", default=None)


def collect(declared: Declared) -> bool:
    """Hand a declaration to the reader of the current file; False if there is none."""
    collected = _collected.get()
    if collected is None:
        return False
    collected.append(declared)
    return True


@contextmanager
def collecting() -> Generator[list[Declared]]:
    """Collect the declarations of the code that runs in the block."""
    declared: list[Declared] = []
    token = _collected.set(declared)
    try:
        yield declared
    finally:
        _collected.reset(token)
