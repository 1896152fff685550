"""One name, one thing: no two modules or public classes share a name, and modules are nouns."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

SOURCE = Path(__file__).resolve().parents[2] / "src" / "retinue"

FACES = ("server/routes", "stores/sqlite", "testing/verify/parts")
"""Folders whose modules are named after the noun that they serve, store or check."""

# "path" of a module that shares its name → why. The other one of the pair needs no entry.
SHARED_MODULES: dict[str, str] = {}

# "path::Class" that shares its name → why.
SHARED_CLASSES = {
    "server/descriptor_wire.py::NewAgent": "the body of the request that creates one",
    "server/wire.py::Answer": "the body of the request that answers one",
    "server/wire.py::Asked": "what is asked, as it is sent",
    "server/wire.py::Verdict": "the body of the request that decides",
}

PROCESSES = frozenset(
    {"addressing", "committing", "retrying", "scoping", "stopping", "switching", "wiring"}
)
"""Names of what goes on, where the field has no better noun."""

THINGS = frozenset({"finding", "setting", "string"})


def modules() -> list[str]:
    paths = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return sorted(path for path in paths if not path.endswith("__init__.py"))


def public_classes(paths: Iterable[str]) -> list[str]:
    found: list[str] = []
    for path in paths:
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
        found += [f"{path}::{name}" for name in classes if not name.startswith("_")]
    return found


def is_face(path: str, known: frozenset[str]) -> bool:
    """Whether the module is one of the faces of its noun; a command is, beside its endpoint."""
    place = PurePosixPath(path)
    folder = place.parent.as_posix()
    return folder in FACES or (folder == "cli" and f"server/routes/{place.name}" in known)


def shared(named: Iterable[tuple[str, str]], excused: Mapping[str, str]) -> list[str]:
    """Give the names that several of these have, and the excuses that excuse nothing."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for name, whose in named:
        by_name[name].append(whose)
    wrong: list[str] = []
    needed: set[str] = set()
    for name, all_of_them in by_name.items():
        rest = [whose for whose in all_of_them if whose not in excused]
        if len(all_of_them) > 1:
            needed.update(all_of_them)
        if len(rest) > 1:
            wrong.append(f"{name}: {', '.join(rest)}")
    return wrong + [f"{whose} needs no exception" for whose in excused if whose not in needed]


def shared_modules(paths: Iterable[str], excused: Mapping[str, str]) -> list[str]:
    known = frozenset(paths)
    named = [(PurePosixPath(path).stem, path) for path in sorted(known)]
    own = [one for one in named if one[0] != "port" and not is_face(one[1], known)]
    return shared(own, excused)


def shared_classes(classes: Iterable[str], excused: Mapping[str, str]) -> list[str]:
    return shared([(name.rpartition("::")[2], name) for name in classes], excused)


def gerunds(paths: Iterable[str]) -> list[str]:
    stems = [(PurePosixPath(path).stem, path) for path in paths]
    known = PROCESSES | THINGS
    return [
        path
        for stem, path in stems
        if stem.endswith("ing") and "_" not in stem and stem not in known
    ]


def test_no_two_modules_share_a_name() -> None:
    assert shared_modules(modules(), SHARED_MODULES) == []


def test_no_two_public_classes_share_a_name() -> None:
    assert shared_classes(public_classes(modules()), SHARED_CLASSES) == []


def test_modules_are_named_by_nouns() -> None:
    assert gerunds(modules()) == []


def test_a_noun_has_faces_and_one_module_of_its_own() -> None:
    faces = ["server/routes/notes.py", "stores/sqlite/notes.py", "testing/verify/parts/notes.py"]
    assert shared_modules([*faces, "cli/notes.py", "agents/notes.py"], {}) == []
    assert shared_modules([*faces, "agents/notes.py", "engine/notes.py"], {}) == [
        "notes: agents/notes.py, engine/notes.py"
    ]
    assert shared_modules(["cli/notes.py", "agents/notes.py"], {}) == [
        "notes: agents/notes.py, cli/notes.py"
    ]


def test_exceptions_that_are_not_needed_are_found() -> None:
    assert shared_modules(["agents/notes.py"], {"agents/notes.py": "why"}) == [
        "agents/notes.py needs no exception"
    ]
    assert shared_classes(["a.py::Note", "b.py::Note"], {"a.py::Note": "why"}) == []


def test_a_gerund_is_found() -> None:
    assert gerunds(["a/doing.py", "a/string.py", "a/file_listing.py"]) == ["a/doing.py"]
