"""The `operation` decorator: turns a function or a method into an operation of a plugin."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, get_args, overload

from retinue.errors import DefinitionError
from retinue.plugins.port import Operation, OperationContext, OperationEffect
from retinue.tools.docstrings import docstring_of
from retinue.tools.function_tool import Signature, located, option_problem, variables_of

if TYPE_CHECKING:
    from retinue.definitions.prompt import Variable  # its package is slow to import

P = ParamSpec("P")
R = TypeVar("R")

_EFFECTS: tuple[str, ...] = get_args(OperationEffect)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    id: str
    effect: OperationEffect
    capabilities: Sequence[str]
    needs_agent: bool
    timeout_seconds: float | None
    output_limit: int | None
    variables: "Sequence[str | Variable | Mapping[str, Any]]"


class FunctionOperation(Generic[P, R]):
    """A function with the metadata of an operation; it can still be called directly."""

    def __init__(self, function: Callable[P, R], options: _Options) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._options = options
        problem = option_problem(options, _EFFECTS)
        if problem is not None:
            raise self._complaint(problem)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> "FunctionOperation[..., R]":
        """Bind a method to its object."""
        if instance is None:
            return self
        bound: Callable[..., R] = self.function.__get__(instance, owner)
        return FunctionOperation(bound, self._options)

    def as_operation(self, plugin_id: str) -> Operation:
        """Build the operation. Raises `DefinitionError` with file and line if it has no schema."""
        options = self._options
        signature = Signature.of(self.function, self._complaint)
        text = docstring_of(self.function)
        name = f"{plugin_id}_{options.id}".replace("-", "_")
        parameters, validate = signature.schema(
            name, self.function, text.parameters, self._complaint
        )
        description = text.description or options.id.replace("-", " ")

        async def run(ctx: OperationContext, arguments: Mapping[str, Any]) -> Any:
            return await signature.call(self.function, ctx, validate(arguments))

        return Operation(
            id=options.id,
            summary=description.partition("\n")[0],
            description=description,
            parameters=parameters,
            run=run,
            validate=validate,
            effect=options.effect,
            capabilities=tuple(options.capabilities),
            needs_agent=options.needs_agent,
            timeout_seconds=options.timeout_seconds,
            output_limit=options.output_limit,
            variables=variables_of(options.variables, self._complaint),
        )

    def _complaint(self, reason: str) -> DefinitionError:
        return located(reason, self.function, field=f"operation {self._options.id}")


@overload
def operation(function: Callable[P, R], /) -> FunctionOperation[P, R]: ...


@overload
def operation(
    *,
    id: str | None = None,
    effect: OperationEffect = "once",
    capabilities: Sequence[str] = (),
    needs_agent: bool = False,
    timeout_seconds: float | None = None,
    output_limit: int | None = None,
    variables: "Sequence[str | Variable | Mapping[str, Any]]" = (),
) -> Callable[[Callable[P, R]], FunctionOperation[P, R]]: ...


def operation(  # noqa: PLR0913  (keyword options)
    function: Callable[..., Any] | None = None,
    /,
    *,
    id: str | None = None,
    effect: OperationEffect = "once",
    capabilities: Sequence[str] = (),
    needs_agent: bool = False,
    timeout_seconds: float | None = None,
    output_limit: int | None = None,
    variables: "Sequence[str | Variable | Mapping[str, Any]]" = (),
) -> Any:
    """Define an operation. Its schema comes from the type hints, its texts from the docstring.

    The first parameter can be a context (`ctx`). Its id is the function's name with hyphens.
    """

    def decorate(function: Callable[..., Any]) -> FunctionOperation[..., Any]:
        options = _Options(
            id=id or function.__name__.replace("_", "-"),
            effect=effect,
            capabilities=capabilities,
            needs_agent=needs_agent,
            timeout_seconds=timeout_seconds,
            output_limit=output_limit,
            variables=variables,
        )
        return FunctionOperation(function, options)

    return decorate if function is None else decorate(function)


def operations_of(instance: object) -> Sequence[FunctionOperation[..., Any]]:
    """List the operations among an object's methods in the order of their definition."""
    names = [
        name
        for kind in reversed(type(instance).__mro__)
        for name, value in vars(kind).items()
        if isinstance(value, FunctionOperation)
    ]
    return [getattr(instance, name) for name in dict.fromkeys(names)]
