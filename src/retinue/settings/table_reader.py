"""Reads tables from files: flexible about spelling, strict about types, with precise errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import (
    Annotated,
    ClassVar,
    Generic,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from retinue.settings.keys import camel_case, did_you_mean, snake_case

Location = tuple[str | int, ...]
Spelling = Mapping[Location, str]
"""The key as written in the file, by location."""
_KEY_ITSELF = "[key]"  # ends pydantic's location if the key itself is invalid, not its value


class Shape(BaseModel):
    """A table in a file. Keys can be written in camelCase or snake_case."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, arbitrary_types_allowed=True
    )

    synonyms: ClassVar[Mapping[str, str]] = {}
    """Alternative names of fields."""
    deprecated: ClassVar[Mapping[str, str]] = {}
    """Old names of fields; accepted with a warning that gives the new name."""
    retired: ClassVar[Mapping[str, str]] = {}
    """Keys that have no effect any more; accepted with a warning that says what to do instead."""
    foreign: ClassVar[Mapping[str, str]] = {}
    """Keys that other systems use; rejected with a hint."""
    shorthand: ClassVar[str | None] = None
    """The field that is set if the table is written as a plain string."""
    is_switch: ClassVar[bool] = False
    """Whether `true` means an empty table and `false` no table."""


ShapeT = TypeVar("ShapeT", bound=Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One problem with one key."""

    path: str
    message: str
    is_missing: bool = False
    """whether the problem is that the key is missing"""


@dataclass(slots=True, kw_only=True)
class Tidied:
    """A normalized table: snake_case keys, no nulls, shorthands expanded."""

    table: dict[str, object] = field(default_factory=dict[str, object])
    spelling: dict[Location, str] = field(default_factory=dict[Location, str])
    unknown: list[Complaint] = field(default_factory=list[Complaint])
    errors: list[Complaint] = field(default_factory=list[Complaint])
    warnings: list[Complaint] = field(default_factory=list[Complaint])


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Generic[ShapeT]):
    """The validated value, or the errors."""

    value: ShapeT | None
    errors: tuple[Complaint, ...]


def path_text(location: Location, spelling: Spelling) -> str:
    """Format a location with the spelling of the file: `agents[0].sideA.prompt`."""
    text = ""
    for at, part in enumerate(location, 1):
        if isinstance(part, int):
            text += f"[{part}]"
        elif part != _KEY_ITSELF:
            text += ("." if text else "") + spelling.get(location[:at], camel_case(part))
    return text


def tidy(shape: type[Shape], table: Mapping[str, object], *, keep_nulls: bool = False) -> Tidied:
    """Normalize a table to the field names of `shape`; templates need nulls to be kept."""
    result = Tidied()
    result.table = _Tidier(result=result, keep_nulls=keep_nulls).table(shape, table, ())
    return result


def check(
    shape: type[ShapeT],
    table: Mapping[str, object],
    spelling: Spelling,
    *,
    context: object = None,
) -> Checked[ShapeT]:
    """Validate a normalized table."""
    try:
        return Checked(value=shape.model_validate(table, context=context), errors=())
    except ValidationError as error:
        return Checked(
            value=None,
            errors=tuple(
                Complaint(
                    path=path_text(details["loc"], spelling),
                    message=expectation_text(details),
                    is_missing=details["type"] == "missing",
                )
                for details in error.errors(include_url=False)
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tidier:
    """Normalizes a table recursively."""

    result: Tidied
    keep_nulls: bool

    def table(
        self, shape: type[Shape], table: Mapping[str, object], location: Location
    ) -> dict[str, object]:
        tidied: dict[str, object] = {}
        # Deprecated names come last, so that the new name wins if both are present.
        for key in sorted(map(str, table), key=lambda key: snake_case(key) in shape.deprecated):
            name = self._field_name(shape, key, location)
            if name is None or (name in tidied and snake_case(key) in shape.deprecated):
                continue
            self.result.spelling.setdefault((*location, name), key)
            if name in tidied:
                path = path_text((*location, name), self.result.spelling)
                message = "is set twice, in different spellings"
                self.result.errors.append(Complaint(path=path, message=message))
                continue
            value = self._value(
                shape.model_fields[name].annotation, table.get(key), (*location, name)
            )
            if value is not None or self.keep_nulls:
                tidied[name] = value
        return tidied

    def _field_name(self, shape: type[Shape], key: str, location: Location) -> str | None:
        name = snake_case(key)
        name = shape.synonyms.get(name, name)
        if name in shape.deprecated:
            name = shape.deprecated[name]
            self._warn(key, location, f"is deprecated: write {camel_case(name)!r}")
        elif name in shape.retired:
            self._warn(key, location, shape.retired[name])
            return None
        elif name not in shape.model_fields:
            self.result.unknown.append(self._unknown(shape, key, location))
            return None
        return name

    def _warn(self, key: str, location: Location, message: str) -> None:
        path = self._path(location, key, key)
        self.result.warnings.append(Complaint(path=path, message=message))

    def _unknown(self, shape: type[Shape], key: str, location: Location) -> Complaint:
        path = self._path(location, key, key)
        hint = shape.foreign.get(snake_case(key))
        if hint:
            return Complaint(path=path, message=f"unknown key {path!r}; {hint}")
        spell = str if "_" in key else camel_case
        known = [self._path(location, name, spell(name)) for name in known_names(shape)]
        return Complaint(path=path, message=f"unknown key {path!r}{did_you_mean(path, known)}")

    def _path(self, location: Location, name: str, written: str) -> str:
        place = (*location, name)
        return path_text(place, {**self.result.spelling, place: written})

    def _value(self, annotation: object, value: object, location: Location) -> object:
        inner, wrapper = nested_shape(annotation)
        if wrapper is dict and isinstance(value, Mapping):
            return self._named(inner, cast("Mapping[str, object]", value), location)
        if inner is not None and wrapper is tuple and isinstance(value, list | tuple):
            items = cast("Sequence[object]", value)
            return [self._one(inner, item, (*location, at)) for at, item in enumerate(items)]
        if inner is not None and wrapper is None:
            return self._one(inner, value, location)
        return value

    def _named(
        self, inner: type[Shape] | None, table: Mapping[str, object], location: Location
    ) -> object:
        self.result.spelling.update({(*location, key): key for key in table})
        if inner is None:
            return table
        return {key: self._one(inner, item, (*location, key)) for key, item in table.items()}

    def _one(self, shape: type[Shape], value: object, location: Location) -> object:
        if shape.is_switch and isinstance(value, bool):
            return {} if value else None
        if shape.shorthand and isinstance(value, str):
            return {shape.shorthand: value}
        if isinstance(value, Mapping):
            return self.table(shape, cast("Mapping[str, object]", value), location)
        return value


def known_names(shape: type[Shape]) -> tuple[str, ...]:
    return (*shape.model_fields, *shape.synonyms)


def nested_shape(annotation: object) -> tuple[type[Shape] | None, type | None]:
    """Return the shape inside an annotation, and `dict` or `tuple` if it is a collection."""
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return nested_shape(arguments[0])
    if origin in (Union, UnionType):
        found = [nested_shape(argument) for argument in arguments if argument is not type(None)]
        return found[0] if len(found) == 1 else (None, None)
    if origin in (dict, Mapping):
        return nested_shape(arguments[1])[0], dict
    if origin is tuple:
        return nested_shape(arguments[0])[0], tuple
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return annotation, None
    return None, None


_EXPECTATIONS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "literal_error": "one of {expected}",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of {ge} or more",
    "less_than_equal": "a number of {le} or less",
    "finite_number": "a finite number",
    "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
}


_SHOWN_LENGTH = 60


def expectation_text(details: ErrorDetails) -> str:
    if details["type"] == "missing":
        return "is required"
    if details["type"] == "value_error":
        return str(details["ctx"]["error"]) if "ctx" in details else details["msg"]
    expected = _EXPECTATIONS.get(details["type"])
    if expected is None:
        return details["msg"]
    text = expected.format(**details.get("ctx", {}))
    return f"expected {text}, got {_shown(details['input'], is_private=text == 'text')}"


def _shown(value: object, *, is_private: bool) -> str:
    """Describe an invalid value; if it may be a secret, only its type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple | set | frozenset):
        return "a list"
    if isinstance(value, int | float) and is_private:
        return "a number"
    text = repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"a {type(value).__name__}"
