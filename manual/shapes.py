"""Describes tables of files by field: name, type, default and docstring."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from retinue.settings import Secret, Template
from retinue.settings.keys import camel_case
from retinue.settings.table_reader import Shape, nested_shape

_KINDS: Mapping[object, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    object: "anything",
    Secret: "secret",
    Template: "text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a table."""

    name: str
    kind: str
    default: str
    meaning: str
    inner: type[Shape] | None  # of a key that is a table itself
    wrapper: type | None  # `dict` or `tuple` when there are many of those


def fields_of(shape: type[Shape]) -> Iterator[Field]:
    """Return the keys of a table in the order of the code."""
    said = _sayings(shape)
    for name, info in shape.model_fields.items():
        inner, wrapper = nested_shape(info.annotation)
        yield Field(
            name=camel_case(name),
            kind=_kind(info.annotation),
            default="required" if info.is_required() else _default(info),
            meaning=said.get(name, ""),
            inner=inner,
            wrapper=wrapper,
        )


def aliases_of(shape: type[Shape]) -> Sequence[tuple[str, str]]:
    """Return the aliases of fields."""
    both = {**shape.synonyms, **shape.deprecated}
    return [(camel_case(other), camel_case(name)) for other, name in both.items()]


def _sayings(shape: type[Shape]) -> Mapping[str, str]:
    """Return the docstring of each field."""
    said: dict[str, str] = {}
    for base in reversed(shape.__mro__):
        if issubclass(base, Shape) and base is not Shape:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            assert isinstance(tree, ast.ClassDef)
            said.update(_under_fields(tree))
    return said


def _under_fields(tree: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for declared, below in zip(tree.body, tree.body[1:], strict=False):
        match declared, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(text.split())
            case _:
                pass


def _kind(annotation: object) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0])
    if origin in (Union, UnionType):
        kinds = [_kind(argument) for argument in arguments if argument is not type(None)]
        return " or ".join(dict.fromkeys(kinds))
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin is tuple:
        return f"list of {_plural(_kind(arguments[0]))}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "table"
    if nested_shape(annotation)[0] is not None:
        return "table"
    return _KINDS[annotation]


def _plural(kind: str) -> str:
    return {"text": "texts", "table": "tables"}.get(kind, kind)


def _default(info: FieldInfo) -> str:
    value: Any = info.get_default(call_default_factory=True)
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case str() if value:
            return f'`"{value}"`'
        case int() | float():
            return f"`{value}`"
        case _:
            return ""
