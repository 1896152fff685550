"""The `tool` decorator, which turns a function into a tool."""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, get_args, overload

from retinue.errors import DefinitionError, UsageError
from retinue.tools.docstrings import docstring_of
from retinue.tools.execution import output_of
from retinue.tools.port import Check, Effect, Pending, Tool, ToolContext, ToolOutput, Verified
from retinue.tools.threads import in_thread

if TYPE_CHECKING:
    from retinue.definitions.prompt import Variable  # its package is slow to import

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

RESERVED_PREFIX = "system_"
"""The prefix of the engine's own tools, which every allowlist permits."""

Complaint = Callable[[str], DefinitionError]
"""Creates an error that names the function's file and line."""

Validate = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns the arguments of the function call; raises `ArgumentsError`."""

_OURS = "retinue."
_CONTEXTS = ("ToolContext", "OperationContext")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_EFFECTS: tuple[str, ...] = get_args(Effect)


def name_problem(name: str) -> str | None:
    """Return why a tool cannot have this name, or None."""
    if _NAME.fullmatch(name) is None:
        return f"{name!r} is not a valid tool name: use 1 to 64 of A-Z a-z 0-9 _ . -"
    if name.startswith(RESERVED_PREFIX):
        return f"{name!r} is reserved: choose a name that does not start with {RESERVED_PREFIX!r}"
    return None


def located(reason: str, function: Callable[..., Any], *, field: str) -> DefinitionError:
    """Create an error with the function's file and line."""
    code = getattr(function, "__code__", None)
    return DefinitionError(
        reason,
        file=code.co_filename if code else "?",
        line=code.co_firstlineno if code else None,
        field=field,
    )


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called: with or without a context, in the loop or in a thread."""

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
                raise complaint(f"parameter {str(parameter)!r} cannot be passed by name")
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
        """Return the parameters' JSON schema and the validation of arguments.

        Raises the complaint if there is no schema. Those of built-in functions are built on
        first use.
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
        # A function without `async`, such as a wrapper, may still return an awaitable.
        return await value if inspect.isawaitable(value) else value


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    written = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name == "ctx" or written.strip("'\"").rpartition(".")[2] in _CONTEXTS


class Options(Protocol):
    """Options that tools and operations share."""

    @property
    def effect(self) -> str: ...

    @property
    def capabilities(self) -> Sequence[str]: ...

    @property
    def timeout_seconds(self) -> float | None: ...

    @property
    def output_limit(self) -> int | None: ...


def option_problem(options: Options, effects: Sequence[str]) -> str | None:
    """Return what is wrong with the options of a tool or an operation, or None."""
    if options.effect not in effects:
        return f"unknown effect {options.effect!r}: use one of {', '.join(effects)}"
    if isinstance(options.capabilities, str):
        return "capabilities must be a list of names, not a string"
    if options.timeout_seconds is not None and options.timeout_seconds <= 0:
        return "timeout_seconds must be greater than 0"
    if options.output_limit is not None and options.output_limit <= 0:
        return "output_limit must be greater than 0"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    name: str
    effect: Effect
    capabilities: Sequence[str]
    timeout_seconds: float | None
    output_limit: int | None
    variables: "Sequence[str | Variable | Mapping[str, Any]]"


class FunctionTool(Generic[P, R]):
    """A function with its tool options; it can still be called directly."""

    def __init__(self, function: Callable[P, R], options: _Options) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = options.name
        self._options = options
        self._check: Callable[..., Any] | None = None
        problem = name_problem(options.name) or option_problem(options, _EFFECTS)
        if problem is not None:
            raise self._complaint(problem)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def check(self, function: F) -> F:
        """Decorate the function that checks whether a call with a lost outcome happened.

        It takes some or all of the tool's parameters and returns a `Verified` or a bool. If it
        raises, the outcome stays unknown.
        """
        self._check = function
        return function

    def as_tool(self, *, source: str = "project") -> Tool:
        """Build the tool; raises `DefinitionError` with file and line if it has no schema."""
        options = self._options
        signature = Signature.of(self.function, self._complaint)
        text = docstring_of(self.function)
        parameters, validate = signature.schema(
            self.name, self.function, text.parameters, self._complaint
        )

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput | Pending:
            value = await signature.call(self.function, ctx, validate(arguments))
            if isinstance(value, Pending):
                return value
            return await output_of(ctx, value, tool_name=self.name)

        return Tool(
            name=self.name,
            description=text.description or self.name.replace("_", " "),
            parameters=parameters,
            invoke=invoke,
            validate=validate,
            effect=options.effect,
            check=self._port_check(signature, validate),
            capabilities=tuple(options.capabilities),
            timeout_seconds=options.timeout_seconds,
            output_limit=options.output_limit,
            variables=variables_of(options.variables, self._complaint),
            source=source,
        )

    def _port_check(
        self,
        signature: Signature,
        validate: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    ) -> Check | None:
        if self._check is None:
            if self._options.effect == "verifiable":
                raise self._complaint(
                    f"effect 'verifiable' needs a check: decorate one with @{self._spelled}.check"
                )
            return None
        function = self._check
        wanted = Signature.of(function, self._complaint)
        names = {parameter.name for parameter in wanted.parameters}
        foreign = sorted(names - {parameter.name for parameter in signature.parameters})
        if foreign:
            raise self._complaint(
                f"its check has parameters that the tool does not: {', '.join(foreign)}"
            )

        async def check(ctx: ToolContext, arguments: Mapping[str, Any]) -> Verified:
            given = {name: v for name, v in validate(arguments).items() if name in names}
            value = await wanted.call(function, ctx, given)
            match value:
                case Verified():
                    return value
                case bool():
                    return Verified(happened=value)
                case _:
                    raise TypeError(f"the check of {self.name!r} must return a Verified or a bool")

        return check

    @property
    def _spelled(self) -> str:
        return getattr(self.function, "__name__", self.name)

    def _complaint(self, reason: str) -> DefinitionError:
        return located(reason, self.function, field=f"tool {self._spelled}")


def builtin_listing(functions: Iterable[FunctionTool[..., Any]]) -> Mapping[str, Tool]:
    """The tools of functions that come with Retinue, by name."""
    return {function.name: function.as_tool(source="builtin") for function in functions}


def variables_of(
    declared: "Sequence[str | Variable | Mapping[str, Any]]", complaint: Complaint
) -> "tuple[Variable, ...]":
    """Read the declared variables of a function; raises the complaint if one is invalid."""
    if not declared:
        return ()
    from retinue.definitions.variable_declarations import (  # noqa: PLC0415  (pydantic is slow to import)
        read_variable,
    )

    try:
        return tuple(read_variable(one) for one in declared)
    except UsageError as error:
        raise complaint(f"variables: {error.message}") from error


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    effect: Effect = "once",
    capabilities: Sequence[str] = (),
    timeout_seconds: float | None = None,
    output_limit: int | None = None,
    variables: "Sequence[str | Variable | Mapping[str, Any]]" = (),
    check: Callable[..., Any] | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(  # noqa: PLR0913  (keyword options)
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    effect: Effect = "once",
    capabilities: Sequence[str] = (),
    timeout_seconds: float | None = None,
    output_limit: int | None = None,
    variables: "Sequence[str | Variable | Mapping[str, Any]]" = (),
    check: Callable[..., Any] | None = None,
) -> Any:
    """Turn a function into a tool; types give its schema, the docstring its descriptions."""

    def decorate(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        options = _Options(
            name=function.__name__ if name is None else name,
            effect=effect,
            capabilities=capabilities,
            timeout_seconds=timeout_seconds,
            output_limit=output_limit,
            variables=variables,
        )
        made = FunctionTool(function, options)
        if check is not None:
            made.check(check)
        return made

    return decorate if function is None else decorate(function)
