"""Reads declarations of variables in files and in the code of tools."""

from collections.abc import Mapping
from typing import Any

from retinue.definitions.file_shapes import DefinitionShape, PromptShape, VariableShape
from retinue.definitions.prompt import Variable
from retinue.errors import UsageError
from retinue.settings.table_reader import check, tidy


def declared_variables(shape: PromptShape | DefinitionShape) -> tuple[Variable, ...]:
    return tuple(_variable(one) for one in shape.variables)


def read_variable(declared: str | Variable | Mapping[str, Any]) -> Variable:
    """Read `"NAME"` or `{name, type, required, scoped, description}`. Raises `UsageError`."""
    if isinstance(declared, Variable):
        return declared
    tidied = tidy(VariableShape, {"name": declared} if isinstance(declared, str) else declared)
    checked = check(VariableShape, tidied.table, tidied.spelling)
    wrong = [*tidied.unknown, *tidied.errors, *checked.errors]
    if checked.value is None or wrong:
        raise UsageError(f"{wrong[0].path}: {wrong[0].message}")
    return _variable(checked.value)


def _variable(shape: VariableShape) -> Variable:
    return Variable(
        name=shape.name,
        type=shape.type,
        is_required=shape.required,
        is_scoped=shape.scoped,
        description=shape.description,
    )
