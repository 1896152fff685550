"""References to values: `${secret:NAME}` and `${env:NAME}` are resolved only when needed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from retinue.errors import UsageError

_REFERENCE = re.compile(r"\$\{(secret|env):([A-Za-z_][A-Za-z0-9_]*)\}")
_ATTEMPT = re.compile(r"\$\{[^}]*\}?")
_OTHERS_MAY_READ = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Resolves references: from the environment, then from one file per secret."""

    environment: Mapping[str, str] = field(repr=False)
    directory: Path

    def look_up(self, kind: str, name: str) -> str:
        return self.secret(name) if kind == "secret" else self.variable(name)

    def variable(self, name: str) -> str:
        try:
            return self.environment[name]
        except KeyError:
            message = f"environment variable {name!r} is not set"
            raise UsageError(message, details={"variable": name}) from None

    def secret(self, name: str) -> str:
        return self.environment.get(name) or self._from_file(name)

    def _from_file(self, name: str) -> str:
        file = self.directory / name
        details = {"secret": name, "file": str(file)}
        try:
            if file.stat().st_mode & _OTHERS_MAY_READ:
                message = (
                    f"secret {name!r}: {file} is readable by other users; run: chmod 600 {file}"
                )
                raise UsageError(message, details=details)
            return file.read_text("utf-8").rstrip("\r\n")
        except FileNotFoundError:
            message = (
                f"secret {name!r} is not set: set the environment variable {name} or create {file}"
            )
            raise UsageError(message, details=details) from None
        except (OSError, UnicodeDecodeError) as error:
            message = f"secret {name!r}: {file} cannot be read: {error}"
            raise UsageError(message, details=details) from error


class Template:
    """Text that can contain references; its `str` shows the references, not their values."""

    __slots__ = ("_vault", "_written")

    def __init__(self, written: str, vault: Vault) -> None:
        for attempt in _ATTEMPT.findall(written):
            if not _REFERENCE.fullmatch(attempt):
                raise ValueError("invalid reference: write ${secret:NAME} or ${env:NAME}")
        self._written = written
        self._vault = vault

    def reveal(self) -> str:
        """Resolve the references. Raises `UsageError` for the first one that is not set."""
        return _REFERENCE.sub(
            lambda match: self._vault.look_up(match.group(1), match.group(2)), self._written
        )

    @property
    def references(self) -> tuple[str, ...]:
        return tuple(match.group(2) for match in _REFERENCE.finditer(self._written))

    def __str__(self) -> str:
        return self._written

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._written == self._written

    def __hash__(self) -> int:
        return hash(self._written)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source, handler
        return core_schema.with_info_after_validator_function(
            cls._validate,
            core_schema.str_schema(strict=True),
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def _validate(cls, written: str, info: core_schema.ValidationInfo[Any]) -> "Template":
        vault = info.context if isinstance(info.context, Vault) else _EMPTY_VAULT
        return cls(written, vault)


class Secret(Template):
    """Text that is never shown, even if the settings file contains it literally."""

    __slots__ = ()

    def __str__(self) -> str:
        shown = "".join(match.group(0) for match in _REFERENCE.finditer(self._written))
        return shown or "***"


_EMPTY_VAULT = Vault(environment={}, directory=Path("/nonexistent"))
