"""Every field that is accepted or stored has a reader outside the module that declares it."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "retinue"

# Modules whose classes are looked at, each with those that only copy its fields from a file.
_BUILDERS = (
    "definitions/file_shapes.py",
    "definitions/definition_builder.py",
    "definitions/prompt_builder.py",
)
DECLARING: Mapping[str, tuple[str, ...]] = {
    "settings/tables.py": ("settings/table_reader.py",),
    "engine/agent/limits.py": ("settings/tables.py",),
    "definitions/file_shapes.py": (),
    "definitions/definition.py": _BUILDERS,
    "definitions/model_options.py": _BUILDERS,
    "definitions/prompt.py": _BUILDERS,
    "definitions/side.py": _BUILDERS,
    "definitions/subagent_config.py": _BUILDERS,
    "agents/children.py": (),
    "agents/command.py": (),
    "agents/inbox.py": (),
    "agents/request.py": (),
    "agents/schedule.py": (),
    "agents/state.py": (),
    "models/port.py": (),
    "stores/port.py": (),
}
EXCEPTIONS: Mapping[str, str] = {
    "definitions/file_shapes.py: DefinitionShape.extends": (
        "read from the table, before there is a shape: definitions/templates.py"
    ),
    "stores/port.py: Effects.moved": "stored by iteration over all effects: test_effects.py",
}


@dataclass(frozen=True, slots=True)
class Module:
    """What a module declares and reads."""

    fields: Mapping[str, tuple[str, ...]]  # of its classes
    reads: frozenset[str]  # names of attributes
    names: frozenset[str]  # of functions and other things that it uses without a dot
    within: Mapping[str, frozenset[str]]  # names of attributes that each of its functions reads


def module_of(text: str) -> Module:
    tree = ast.parse(text)
    functions = [
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    within: dict[str, frozenset[str]] = {}
    for function in functions:
        within[function.name] = within.get(function.name, frozenset()) | set(_reads(function))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return Module(
        fields={one.name: tuple(_fields(one)) for one in classes},
        reads=frozenset(_reads(tree)),
        names=frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)),
        within=within,
    )


def _fields(declared: ast.ClassDef) -> Iterator[str]:
    """The annotated names of a class, without class variables and protocols' members."""
    if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in declared.bases):
        return
    for node in declared.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if "ClassVar" not in ast.unparse(node.annotation):
                yield node.target.id


def _reads(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                yield name
            case ast.MatchClass(kwd_attrs=names):
                yield from names
            case _:
                pass


def unread(modules: Mapping[str, Module], declaring: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """The fields that no other module reads, neither by name nor by a function of their own."""
    for path, copying in declaring.items():
        apart = {path, *copying}
        others = [module for name, module in modules.items() if name not in apart]
        outside = frozenset[str]().union(*(module.reads for module in others))
        called = outside.union(*(module.names for module in others))
        declared = modules[path]
        reached = outside.union(
            *(reads for name, reads in declared.within.items() if name in called)
        )
        for kind, names in declared.fields.items():
            yield from (f"{path}: {kind}.{name}" for name in names if name not in reached)


@cache
def product() -> Mapping[str, Module]:
    """The modules of the product, without what tests it."""
    paths = (path for path in SOURCE.rglob("*.py") if "testing" not in path.parts)
    return {path.relative_to(SOURCE).as_posix(): module_of(path.read_text()) for path in paths}


def test_every_field_has_a_reader() -> None:
    assert [one for one in unread(product(), DECLARING) if one not in EXCEPTIONS] == []


def test_every_exception_is_needed() -> None:
    assert set(EXCEPTIONS) <= set(unread(product(), DECLARING))


DECLARED = module_of(
    """
class Settings:
    used: int
    indirect: int
    copied: int
    private: int
    loose: int

    @property
    def shown(self):
        return self.indirect

    def _never_called(self):
        return self.private
"""
)
READING = module_of(
    """
def use(settings):
    settings.loose = 1
    return settings.used + settings.shown
"""
)
COPYING = module_of("def copy(settings): return Settings(copied=settings.copied, loose=0)")


def test_a_field_without_a_reader_is_found() -> None:
    modules = {"a.py": DECLARED, "b.py": READING, "c.py": COPYING}
    assert list(unread(modules, {"a.py": ("c.py",)})) == [
        f"a.py: Settings.{name}" for name in ("copied", "private", "loose")
    ]
    assert list(unread(modules, {"a.py": ()})) == [
        f"a.py: Settings.{name}" for name in ("private", "loose")
    ]
