"""The options that every command takes, and where the project is."""

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
    str, typer.Argument(metavar="AGENT", help="An id, the beginning of one, or a name.")
]

_DIRECTORY_VARIABLE = "RETINUE_DIR"
_SHARED: Mapping[str, tuple[Any, object]] = {
    "directory": (
        Annotated[
            Path | None,
            typer.Option("--dir", help="The project directory.  [default: RETINUE_DIR, else here]"),
        ],
        None,
    ),
    "is_json": (Annotated[bool, typer.Option("--json", help="Machine-readable output.")], False),
    "is_debug": (
        Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
        False,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every command is told: the project and the form of the output."""

    project: Path
    is_json: bool


def with_shared_options(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """Give a command that takes `common` first the options behind it."""

    @wraps(command)
    def wrapper(
        *, directory: Path | None, is_json: bool, is_debug: bool, **arguments: Any
    ) -> int | None:
        del is_debug  # read from the command line itself, since parsing may fail too
        common = Common(project=project_directory(directory), is_json=is_json)
        for name, value in arguments.items():
            if isinstance(value, str) and not is_text(value):
                raise typer.BadParameter(f"{name.upper()} is not UTF-8")
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
    """The project: the option, else the variable, else the current directory."""
    return (given or Path(os.environ.get(_DIRECTORY_VARIABLE) or ".")).expanduser().absolute()


def data_directory(project: Path) -> Path:
    """Where the data is; told here too, since importing the settings costs more than a command."""
    return project / ".retinue"


def environment() -> Mapping[str, str]:
    """The variables that settings are read from; where the project is was for us alone."""
    return {name: value for name, value in os.environ.items() if name != _DIRECTORY_VARIABLE}
