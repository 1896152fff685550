"""The SQL of the embedded store, by name."""

from pathlib import Path


def read_queries(file: str) -> dict[str, str]:
    """Read the statements of a file, each named by its `-- name:` line."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    _, *sections = text.split("-- name: ")
    named = (section.partition("\n") for section in sections)
    return {name.strip(): body.strip().removesuffix(";") for name, _, body in named}


_FILES = ("schedules.sql", "requests.sql", "variables.sql", "artifacts.sql", "usage.sql")
_BOTH = {name: sql for file in _FILES for name, sql in read_queries(file).items()}
READING = read_queries("reading.sql") | _BOTH
WRITING = read_queries("writing.sql") | _BOTH
