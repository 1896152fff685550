"""Options shared by all commands, and the project directory."""

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from retinue.cli.input import is_text

AgentReference = Annotated[
    str, typer.Argument(metavar="AGENT", help="An agent's id, id prefix or name.")
]

_DIRECTORY_VARIABLE = "RETINUE_DIR"
_SHARED: Mapping[str, tuple[Any, object]] = {
    "directory": (
        Annotated[
            Path | None,
            typer.Option(
                "--dir",
                help="Project directory.  [default: RETINUE_DIR, or the current directory]",
            ),
        ],
        None,
    ),
    "is_json": (Annotated[bool, typer.Option("--json", help="Print JSON.")], False),
    "is_debug": (
        Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")],
        False,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The shared options: project directory and output format."""

    project: Path
    is_json: bool


def with_shared_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Add the shared options to a command whose first parameter is `common`."""

    @wraps(command)
    def wrapper(
        *, directory: Path | None, is_json: bool, is_debug: bool, **arguments: Any
    ) -> int | None:
        del is_debug  # `main` reads it from the arguments, since parsing may fail too
        common = Common(project=project_directory(directory), is_json=is_json)
        for name, value in arguments.items():
            if isinstance(value, str) and not is_text(value):
                raise typer.BadParameter(f"{name.upper()} is not valid UTF-8")
        return command(common, **arguments)

    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "common"]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )
        for name, (annotation, default) in _SHARED.items()
    ]
    every = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own] + shared
    wrapper.__signature__ = signature.replace(parameters=every)  # pyright: ignore[reportAttributeAccessIssue]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return wrapper


def project_directory(given: Path | None) -> Path:
    """Return the project directory: the option, RETINUE_DIR, or the current directory."""
    return (given or Path(os.environ.get(_DIRECTORY_VARIABLE) or ".")).expanduser().absolute()


def data_directory(project: Path) -> Path:
    """Return the data directory; repeated here because importing the settings is slow."""
    return project / ".retinue"


def environment() -> Mapping[str, str]:
    """Return the environment variables that settings are read from: all but RETINUE_DIR."""
    return {name: value for name, value in os.environ.items() if name != _DIRECTORY_VARIABLE}
