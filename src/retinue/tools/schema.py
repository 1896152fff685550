"""Builds JSON schemas from functions, and validates arguments against them.

This module needs pydantic, so it is imported when the first schema is built.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import CodeType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from weakref import ReferenceType, WeakKeyDictionary, ref

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails
from typing_extensions import TypedDict, is_typeddict

from retinue.errors import ArgumentsError

_SHOWN = 80


class UnusableFunctionError(Exception):
    """The function has no JSON schema; the message says why."""


class Accepted(dict[str, Any]):
    """Arguments that were validated and converted to the function's types."""


class Parameters:
    """A tool's parameters: their schema and the validation of arguments, built on first use."""

    def __init__(self, function: Callable[..., Any], source: "_Source") -> None:
        self._function: Callable[..., Any] | None = function  # until the model is built
        self._source = source
        self._tool_name = source.tool_name
        # The model's field -> the function's parameter. The model's own attribute names (`json`,
        # `copy`, ...) are good names of parameters, too.
        self._names = {f"p{number}": one.name for number, one in enumerate(source.parameters)}

    @cached_property
    def _model(self) -> type[BaseModel]:
        assert self._function is not None
        hints = _hints(self._function, self._source.parameters)
        fields: dict[str, Any] = {
            field: _field(parameter, hints, self._source.descriptions)
            for field, parameter in zip(self._names, self._source.parameters, strict=True)
        }
        config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
        with _usable():
            model = create_model("Arguments", __config__=config, **fields)
        self._function = None  # so that its module can be freed when the file is reloaded
        return model

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of an object; raises `UnusableFunctionError` if there is none."""
        model = self._model
        with _usable():
            return _json_schema(model)

    def validate(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments of the function call; raises `ArgumentsError` with every field."""
        if isinstance(arguments, Accepted):
            return arguments
        try:
            checked = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            wrong = [self._complaint(entry) for entry in error.errors(include_url=False)]
            raise ArgumentsError(
                f"Invalid arguments for {self._tool_name!r}: "
                + "; ".join(f"{field!r}: {reason}" for field, reason in wrong),
                details={"fields": dict(wrong)},
            ) from None
        return Accepted(
            {self._names[field]: getattr(checked, field) for field in checked.model_fields_set}
        )

    def _complaint(self, entry: ErrorDetails) -> tuple[str, str]:
        field = ".".join(str(step) for step in entry["loc"])
        if entry["type"] == "extra_forbidden" and len(entry["loc"]) == 1:
            known = ", ".join(repr(name) for name in self._names.values())
            return field, f"unknown parameter; available: {known or 'none'}"
        if entry["type"] == "missing":
            expected = self._expected(entry["loc"])
            return field, f"missing; {expected} is required" if expected else "missing"
        given = repr(entry["input"])
        shown = given if len(given) <= _SHOWN else given[:_SHOWN] + "..."
        return field, f"{entry['msg']}, not {shown}"

    def _expected(self, place: Sequence[int | str]) -> str:
        if len(place) != 1:
            return ""
        described: Mapping[str, Any] = self.schema["properties"].get(str(place[0]), {})
        kind: Any = described.get("type")
        return f"a value of type {kind}" if isinstance(kind, str) else ""


class _PlainSchema(GenerateJsonSchema):
    """A schema without titles, which repeat the names and cost tokens in every request."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_PlainSchema)
    schema.pop("title", None)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    schema.setdefault("properties", {})
    return schema


def parameters_of(
    tool_name: str,
    function: Callable[..., Any],
    parameters: Sequence[inspect.Parameter],
    descriptions: Mapping[str, str],
) -> Parameters:
    """Return the schema of these parameters, without the context.

    It is shared by all functions of one `def`, since each engine in a process creates its own.
    """
    source = _Source(tool_name, parameters, descriptions)
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return Parameters(function, source)
    known = _known.get(code)
    if known is not None and known.code() is code and known.source.is_like(source):
        return known.made
    made = Parameters(function, source)
    _known[code] = _Known(ref(code), source, made)
    return made


class _Source(NamedTuple):
    """The inputs of a schema."""

    tool_name: str
    parameters: Sequence[inspect.Parameter]
    descriptions: Mapping[str, str]

    def is_like(self, other: "_Source") -> bool:
        return (self.tool_name, self.descriptions) == (other.tool_name, other.descriptions) and (
            [_plain(parameter) for parameter in self.parameters]
            == [_plain(parameter) for parameter in other.parameters]
        )


def _plain(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """Return a comparable form of a parameter; metadata of annotations is compared as text."""
    hint = parameter.annotation
    if get_origin(hint) is Annotated:
        hint = (get_args(hint)[0], repr(get_args(hint)[1:]))
    return parameter.name, parameter.kind, parameter.default, hint


class _Known(NamedTuple):
    code: ReferenceType[CodeType]  # another one may be equal to it
    source: _Source
    made: Parameters


_known: WeakKeyDictionary[CodeType, _Known] = WeakKeyDictionary()


class LateSchema(Mapping[str, Any]):
    """A schema that is built on first access, since most built-in ones are never used."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    def __getitem__(self, key: str) -> Any:
        return self._parameters.schema[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters.schema)

    def __len__(self) -> int:
        return len(self._parameters.schema)


def _field(
    parameter: inspect.Parameter, hints: Mapping[str, Any], descriptions: Mapping[str, str]
) -> tuple[Any, Any]:
    """Return the field; the annotation's description takes precedence over the docstring's."""
    name = parameter.name
    hint = hints.get(name, Any)
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    description = _description(hint) or descriptions.get(name)
    return hint, Field(default, alias=name, description=description)


def _description(hint: Any) -> str | None:
    """Return the annotation's description, after `_describable` has turned it into a field."""
    if get_origin(hint) is not Annotated:
        return None
    found = (one.description for one in get_args(hint)[1:] if isinstance(one, FieldInfo))
    return next(filter(None, found), None)


@contextmanager
def _usable() -> Generator[None]:
    try:
        yield
    except Exception as error:  # pydantic raises many kinds for types that it cannot describe
        reason = str(error).strip().split("\n", 1)[0]
        raise UnusableFunctionError(f"its parameters have no JSON schema: {reason}") from error


def _hints(
    function: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> Mapping[str, Any]:
    """Resolve only these annotations: that of a context may be imported for type checking only."""
    annotations = {
        parameter.name: parameter.annotation
        for parameter in parameters
        if parameter.annotation is not inspect.Parameter.empty
    }
    holder = SimpleNamespace(__annotations__=annotations)
    names = getattr(function, "__globals__", {})
    try:
        hints = get_type_hints(holder, globalns=names, include_extras=True)
        return {name: _describable(hint) for name, hint in hints.items()}
    except Exception as error:
        raise UnusableFunctionError(f"an annotation cannot be resolved: {error}") from error


def _describable(hint: Any, outer: tuple[Any, ...] = ()) -> Any:
    """Rewrite annotations that pydantic does not accept as written.

    The text in `Annotated[str, "..."]` becomes the description of a field. A `typing.TypedDict` is
    rebuilt for such texts, and because pydantic refuses it before Python 3.12.
    """
    if is_typeddict(hint) and hint not in outer:
        return _typed_dict(hint, (*outer, hint))
    arguments = get_args(hint)
    if get_origin(hint) is Annotated:
        kind, *notes = arguments
        changed = (_describable(kind, outer), *map(_note, notes))
    elif get_origin(hint) is Literal:
        return hint
    else:
        changed = tuple(_describable(argument, outer) for argument in arguments)
    if changed == arguments:
        return hint
    origin: Any = get_origin(hint)
    return (Union if origin is UnionType else origin)[changed]


def _note(note: Any) -> Any:
    return Field(description=note) if isinstance(note, str) else note


def _typed_dict(hint: Any, outer: tuple[Any, ...]) -> Any:
    fields = {
        name: (Required if name in hint.__required_keys__ else NotRequired)[
            _describable(_unwrapped(kind), outer)
        ]
        for name, kind in get_type_hints(hint, include_extras=True).items()
    }
    make: Any = TypedDict
    made = make(hint.__name__, fields)
    made.__doc__ = hint.__doc__
    return made


def _unwrapped(hint: Any) -> Any:
    """Return a field's type without `Required` and `NotRequired`, which the class records."""
    return get_args(hint)[0] if get_origin(hint) in (Required, NotRequired) else hint
