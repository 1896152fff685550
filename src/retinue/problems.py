"""What is wrong in a project's files, told by file, field and line."""

from dataclasses import dataclass
from typing import Literal

from retinue.errors import DefinitionError
from retinue.text import clean_text

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProblem:
    """One thing wrong in one file; an error keeps the file's entry from being used as written."""

    message: str
    file: str = ""
    """relative to the project, with forward slashes; nothing when it is in none"""
    field: str = ""
    line: int | None = None
    severity: Severity = "error"
    using_last_good: bool = False
    """whether what the file said before is still in use"""

    def __post_init__(self) -> None:
        # A file name that is not UTF-8 comes as lone surrogates, which no JSON writer takes.
        object.__setattr__(self, "message", clean_text(self.message))

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def as_error(self) -> DefinitionError:
        return DefinitionError(self.message, file=self.file, field=self.field, line=self.line)

    def __str__(self) -> str:
        text = self.as_error().message if self.file else self.message
        return f"{text} (still using the last good version)" if self.using_last_good else text
