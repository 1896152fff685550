"""`define_plugin`: combines operations into a plugin."""

import sys
from collections.abc import Sequence
from typing import Any, cast

from retinue.errors import DefinitionError, UsageError
from retinue.plugins.operation_function import FunctionOperation
from retinue.plugins.port import Operation, Plugin


def define_plugin(
    *,
    id: str,
    operations: "Sequence[FunctionOperation[..., Any] | Operation]",
    title: str = "",
    description: str = "",
) -> Plugin:
    """Define a plugin. Raises `DefinitionError` with file and line if an operation is invalid."""
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    file, line = caller.f_code.co_filename, caller.f_lineno
    for one in operations:
        if not isinstance(cast("object", one), FunctionOperation | Operation):
            reason = f"{getattr(one, '__name__', one)!r} is not an operation: add @operation"
            raise DefinitionError(reason, file=file, line=line, field="plugin")
    built = [one if isinstance(one, Operation) else one.as_operation(id) for one in operations]
    shown = title or id.replace("-", " ").capitalize()
    try:
        return Plugin(
            id=id, title=shown, description=description or shown, operations=tuple(built), line=line
        )
    except UsageError as error:
        raise DefinitionError(error.message, file=file, line=line, field="plugin") from error
