"""The Settings page."""

from collections.abc import Iterator
from dataclasses import dataclass

from manual.markdown import code, page, table
from manual.shapes import Field, fields_of
from retinue.settings import Settings
from retinue.settings.env_settings import PREFIX
from retinue.settings.keys import snake_case
from retinue.settings.table_reader import Shape

_INTRODUCTION = """\
All settings of `retinue.toml`, and the environment variable for each. The environment wins.
Keys can be written in camelCase or snake_case; an unknown key is a warning that suggests the
nearest known one. Lists and tables in environment variables are JSON.

Write a *secret* as a reference: `${secret:NAME}` reads the variable `NAME`, or else the file
`.retinue/secrets/NAME`; `${env:NAME}` reads only the variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The position of a table in the file, and the prefix of its variables."""

    shape: type[Shape]
    heading: str
    path: str = ""
    variables: str | None = PREFIX  # None: the environment does not reach it


def settings_page() -> str:
    sections = [_section(place) for place in _places(_Place(shape=Settings, heading="Top level"))]
    return page("Settings", _INTRODUCTION, *sections)


def _places(place: _Place) -> Iterator[_Place]:
    yield place
    for field in fields_of(place.shape):
        if field.inner is None:
            continue
        path = f"{place.path}.{field.name}".lstrip(".")
        variables = f"{place.variables}{snake_case(field.name).upper()}__"
        if field.wrapper is dict:
            path, variables = f"{path}.<name>", f"{variables}<NAME>__"
        is_reached = place.variables is not None and field.wrapper is not tuple
        yield from _places(
            _Place(
                shape=field.inner,
                heading=f"`[[{path}]]`" if field.wrapper is tuple else f"`[{path}]`",
                path=path,
                variables=variables if is_reached else None,
            )
        )


def _section(place: _Place) -> str:
    own = [field for field in fields_of(place.shape) if field.inner is None]
    rows = [
        (code(field.name), field.kind, field.default, field.meaning, _variable(place, field))
        for field in own
    ]
    head = ("key", "type", "default", "description", "variable")
    about = (place.shape.__doc__ or "").rpartition("`: ")[2]
    paragraphs = (f"## {place.heading}", about[:1].upper() + about[1:], table(head, rows))
    return "\n\n".join(filter(None, paragraphs))


def _variable(place: _Place, field: Field) -> str:
    if place.variables is None:
        return ""
    variable = place.variables + snake_case(field.name).upper()
    return code(f"{variable}__<NAME>" if field.wrapper is dict else variable)
