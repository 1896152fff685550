"""`define_plugin`: operations of functions, or of an object's methods, as one plugin."""

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
    """Put operations together; raises `DefinitionError` with file and line when one is wrong."""
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    file, line = caller.f_code.co_filename, caller.f_lineno
    for one in operations:
        if not isinstance(cast("object", one), FunctionOperation | Operation):
            reason = f"{getattr(one, '__name__', one)!r} is no operation: it lacks @operation"
            raise DefinitionError(reason, file=file, line=line, field="plugin")
    built = [one if isinstance(one, Operation) else one.as_operation(id) for one in operations]
    shown = title or id.replace("-", " ").capitalize()
    try:
        return Plugin(
            id=id, title=shown, description=description or shown, operations=tuple(built), line=line
        )
    except UsageError as error:
        raise DefinitionError(error.message, file=file, line=line, field="plugin") from error
