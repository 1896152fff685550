"""Python files of a project: `define_agent`, `define_prompt`, `define_hook`, and tools."""

import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any, Literal

from retinue.definitions.declarations import (
    HOOK_KINDS,
    LOAD_SECONDS,
    NOT_LOADED,
    Declaration,
    Declared,
    Hook,
    collect,
    collecting,
)
from retinue.definitions.file_shapes import DefinitionShape, PromptShape
from retinue.errors import DefinitionError
from retinue.settings.keys import did_you_mean
from retinue.settings.table_reader import Shape, tidy

_HOOK_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")


def define_agent(**fields: object) -> Declaration:
    """Define an agent in a file in `agents/`; fields as in TOML, in either spelling."""
    return _declare("definition", DefinitionShape, fields)


def define_prompt(**fields: object) -> Declaration:
    """Define a prompt in a file in `agents/` or `prompts/`; its text is the field `prompt`."""
    return _declare("prompt", PromptShape, fields)


def define_hook(
    *, hook: str, id: str | None = None, execute: Callable[..., Any] | None = None
) -> Any:
    """Define a hook, with its function or as a decorator; definitions refer to it by its id."""
    line = sys._getframe(1).f_lineno  # pyright: ignore[reportPrivateUsage]

    def define(function: Callable[..., Any]) -> Callable[..., Any]:
        collect(_hook(hook, function.__name__ if id is None else id, function, line))
        return function

    return define if execute is None else define(execute)


def _hook(kind: str, id: str, execute: Callable[..., Any], line: int) -> Hook:
    file = execute.__code__.co_filename if hasattr(execute, "__code__") else "?"
    if kind not in HOOK_KINDS:
        message = f"there is no hook {kind!r}{did_you_mean(kind, HOOK_KINDS)}"
        raise DefinitionError(message, file=file, field="hook", line=line)
    if not _HOOK_ID.fullmatch(id):
        message = f"expected a name in snake_case, got {id!r}"
        raise DefinitionError(message, file=file, field="id", line=line)
    return Hook(kind=kind, id=id, execute=execute, line=line)


def run_declarations(source: bytes, path: Path, file: str) -> tuple[Declared, ...]:
    """Run a Python file and collect its declarations; every error becomes a `DefinitionError`."""
    name = f"retinue_project_{blake2b(os.fsencode(path), digest_size=8).hexdigest()}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # Classes in the file look up their module by name, so it must be importable.
    sys.modules[name] = module
    try:
        # Compiled here instead of imported: cached bytecode misses two edits within one second.
        with collecting() as declared:
            code = compile(source, str(path), "exec")
            _run_bounded(lambda: exec(code, module.__dict__), file)
    except DefinitionError as error:
        raise DefinitionError(
            error.reason, file=file, field=error.field, line=error.line
        ) from error
    except (Exception, SystemExit) as error:
        message = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise DefinitionError(message, file=file, line=_line_in(path, error)) from error
    return tuple(
        one if isinstance(one, Declaration) else replace(one, file=file) for one in declared
    )


def _run_bounded(work: Callable[[], None], file: str) -> None:
    """Run the code of a file; one that never ends is abandoned, so that others can continue."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (raised again in the calling thread)
            raised.append(error)

    context = copy_context()
    thread = Thread(target=context.run, args=(run,), name=f"load {file}", daemon=True)
    thread.start()
    thread.join(LOAD_SECONDS)
    if thread.is_alive():
        raise DefinitionError(NOT_LOADED.format(LOAD_SECONDS), file=file)
    for error in raised:
        raise error


def _declare(
    kind: Literal["definition", "prompt"], shape: type[Shape], fields: Mapping[str, object]
) -> Declaration:
    caller = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    file, line = caller.f_code.co_filename, caller.f_lineno
    declaration = Declaration(kind=kind, fields=fields, line=line)
    if collect(declaration):
        return declaration  # the reader of the file checks all its fields
    for unknown in tidy(shape, fields).unknown:
        raise DefinitionError(unknown.message, file=file, field=unknown.path, line=line)
    return declaration


def _line_in(path: Path, error: BaseException) -> int | None:
    """The line of the file that caused an error, even if it was raised elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
