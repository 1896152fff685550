"""The File fields page: definitions, prompts, tasks and packages."""

from collections.abc import Iterator, Sequence

from manual.markdown import code, page, table
from manual.shapes import aliases_of, fields_of
from retinue.definitions.file_shapes import DefinitionShape, PromptShape
from retinue.definitions.manifest import ManifestShape
from retinue.project.heartbeat_files import TaskShape
from retinue.settings.table_reader import Shape

_INTRODUCTION = """\
All keys of the files in a project. They can be written in camelCase or snake_case.
[Definitions](definitions.md) explains how to use them."""
_FILES: Sequence[tuple[str, type[Shape]]] = (
    ("Definitions: `agents/`", DefinitionShape),
    ("Prompts: `prompts/`", PromptShape),
    ("Heartbeat tasks: `heartbeat/`", TaskShape),
    ("Packages: `retinue-package.toml`", ManifestShape),
)


def files_page() -> str:
    return page("File fields", _INTRODUCTION, *(_file(*file) for file in _FILES))


def _file(title: str, shape: type[Shape]) -> str:
    tables = [f"### {code(name)}\n\n{_fields(inner)}" for name, inner in _tables(shape)]
    return "\n\n".join([f"## {title}", _fields(shape), *tables])


def _tables(shape: type[Shape]) -> Iterator[tuple[str, type[Shape]]]:
    for field in fields_of(shape):
        if field.inner is not None:
            yield field.name, field.inner
            yield from ((f"{field.name}.{name}", inner) for name, inner in _tables(field.inner))


def _fields(shape: type[Shape]) -> str:
    rows = [
        (code(field.name), field.kind, field.default, field.meaning) for field in fields_of(shape)
    ]
    others = "; ".join(f"`{other}` for `{name}`" for other, name in aliases_of(shape))
    also = f"Aliases: {others}." if others else ""
    said = shape.__doc__ or ""
    written = f"Written as {said}" if said.startswith("`") and not said.startswith("`[") else ""
    head = ("key", "type", "default", "description")
    return "\n\n".join(filter(None, (written, table(head, rows), also)))
