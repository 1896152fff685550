"""How a function is called, and what it takes."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from retinue.errors import DefinitionError
from retinue.tools.threads import in_thread

Complaint = Callable[[str], DefinitionError]
"""Makes the error that names the function's file and line."""

Validate = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Gives what a function is called with; raises `ArgumentsError`."""

_OURS = "retinue."
_CONTEXTS = ("ToolContext", "OperationContext")


def located(reason: str, function: Callable[..., Any], *, field: str) -> DefinitionError:
    """The error with the place where the function is written."""
    code = getattr(function, "__code__", None)
    return DefinitionError(
        reason,
        file=code.co_filename if code else "?",
        line=code.co_firstlineno if code else None,
        field=field,
    )


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called: with a context or without, in the loop or in a thread."""

    parameters: Sequence[inspect.Parameter]
    takes_context: bool
    is_async: bool

    @classmethod
    def of(cls, function: Callable[..., Any], complaint: Complaint) -> "Signature":
        parameters = list(inspect.signature(function).parameters.values())
        takes_context = bool(parameters) and _is_context(parameters[0])
        rest = parameters[1:] if takes_context else parameters
        for parameter in rest:
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise complaint(f"parameter {str(parameter)!r} has no name that a model could use")
            if _is_context(parameter):
                raise complaint("the context must be the first parameter")
        return cls(rest, takes_context, inspect.iscoroutinefunction(function))

    def schema(
        self,
        name: str,
        function: Callable[..., Any],
        descriptions: Mapping[str, str],
        complaint: Complaint,
    ) -> "tuple[Mapping[str, Any], Validate]":
        """Describe the parameters to a model, and give the check of what it gives.

        Raises the complaint where that cannot be done. Of our own functions it can, so that their
        descriptions are made when somebody needs them.
        """
        from retinue.tools.schema import (  # noqa: PLC0415  (pydantic is slow to import)
            LateSchema,
            UnusableFunctionError,
            parameters_of,
        )

        parameters = parameters_of(name, function, self.parameters, descriptions)
        if (getattr(function, "__module__", None) or "").startswith(_OURS):
            return LateSchema(parameters), parameters.validate
        try:
            return parameters.schema, parameters.validate
        except UnusableFunctionError as error:
            raise complaint(str(error)) from error

    async def call(
        self, function: Callable[..., Any], ctx: object, arguments: Mapping[str, Any]
    ) -> Any:
        call = functools.partial(function, *([ctx] if self.takes_context else []), **arguments)
        value: Any = await call() if self.is_async else await in_thread(call, name="tool")
        # A function without `async` may give an awaitable all the same, such as a wrapped one.
        return await value if inspect.isawaitable(value) else value


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == "ctx" or written.strip("'\"").rpartition(".")[2] in _CONTEXTS
