"""Definitions and prompts in Python: `define_agent(...)`, `define_prompt(...)`."""

import os
import sys
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Literal

from retinue.definitions.shapes import DefinitionShape, PromptShape
from retinue.errors import DefinitionError
from retinue.settings.shapes import Shape, tidy

_collected: ContextVar["list[Declaration] | None"] = ContextVar("collected", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One call of `define_agent` or `define_prompt`."""

    kind: Literal["definition", "prompt"]
    fields: Mapping[str, object]
    line: int | None


def define_agent(**fields: object) -> Declaration:
    """Define an agent in a file of `agents/`; fields as in TOML, in either spelling."""
    return _declare("definition", DefinitionShape, fields)


def define_prompt(**fields: object) -> Declaration:
    """Define a prompt in a file of `agents/` or `prompts/`; its text is the field `prompt`."""
    return _declare("prompt", PromptShape, fields)


def run_declarations(source: bytes, path: Path, file: str) -> tuple[Declaration, ...]:
    """Run a Python file and collect what it declares; whatever it raises is a `DefinitionError`."""
    name = f"retinue_project_{blake2b(os.fsencode(path), digest_size=8).hexdigest()}"
    module = ModuleType(name)
    module.__file__ = str(path)
    declarations: list[Declaration] = []
    token = _collected.set(declarations)
    # Classes of the file are looked up by their module's name, so it has to be importable.
    sys.modules[name] = module
    try:
        # Compiled here and not imported: cached bytecode misses two edits within one second.
        exec(compile(source, str(path), "exec"), module.__dict__)
    except DefinitionError as error:
        raise DefinitionError(
            error.reason, file=file, field=error.field, line=error.line
        ) from error
    except (Exception, SystemExit) as error:
        message = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise DefinitionError(message, file=file, line=_line_in(path, error)) from error
    finally:
        _collected.reset(token)
    return tuple(declarations)


def _declare(
    kind: Literal["definition", "prompt"], shape: type[Shape], fields: Mapping[str, object]
) -> Declaration:
    caller = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    file, line = caller.f_code.co_filename, caller.f_lineno
    declaration = Declaration(kind=kind, fields=fields, line=line)
    collected = _collected.get()
    if collected is not None:
        collected.append(declaration)  # whoever reads the file looks at its fields, all of them
        return declaration
    for unknown in tidy(shape, fields).unknown:
        raise DefinitionError(unknown.message, file=file, field=unknown.path, line=line)
    return declaration


def _line_in(path: Path, error: BaseException) -> int | None:
    """Find the line of the file that an error came from, also when it was raised elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
