"""Problems in a project's files, with file, field and line."""

from dataclasses import dataclass
from typing import Literal

from retinue.errors import DefinitionError
from retinue.text import clean_text

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProblem:
    """One problem in one file; with an error, the file's current content is not used."""

    message: str
    file: str = ""
    """relative to the project, with forward slashes; empty if no file is involved"""
    field: str = ""
    line: int | None = None
    severity: Severity = "error"
    using_last_good: bool = False
    """whether the last good version of the file is still in use"""

    def __post_init__(self) -> None:
        # A file name that is not UTF-8 contains lone surrogates, which JSON encoders reject.
        object.__setattr__(self, "message", clean_text(self.message))

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def as_error(self) -> DefinitionError:
        return DefinitionError(self.message, file=self.file, field=self.field, line=self.line)

    def __str__(self) -> str:
        text = self.as_error().message if self.file else self.message
        return f"{text} (still using the last good version)" if self.using_last_good else text
