"""Loads `retinue.toml` and the environment into one frozen `Settings`."""

from collections.abc import Mapping
from pathlib import Path

from retinue.errors import UsageError
from retinue.settings.env_settings import Overlay, overlay
from retinue.settings.secrets import Vault
from retinue.settings.table_reader import Complaint, Tidied, check, path_text, tidy
from retinue.settings.tables import Settings, data_directory
from retinue.settings.toml import TomlError, parse_toml

FILE_NAME = "retinue.toml"


def load_settings(project_dir: Path, env: Mapping[str, str]) -> Settings:
    """Load the settings of a project. Without a file, only defaults and the environment apply."""
    file = project_dir / FILE_NAME
    tidied = tidy(Settings, _read(file))
    overlaid = overlay(Settings, tidied.table, env)
    vault = Vault(environment=env, directory=data_directory(project_dir) / "secrets")
    checked = check(Settings, overlaid.table, tidied.spelling, context=vault)
    errors = [*tidied.errors, *checked.errors]
    if checked.value is None or errors:
        raise _usage_error(file, errors, overlaid, tidied)
    warnings = (
        *(f"{file.name}: {complaint.message}" for complaint in tidied.unknown),
        *(f"{file.name}: {complaint.path}: {complaint.message}" for complaint in tidied.warnings),
        *overlaid.warnings,
    )
    return checked.value.located(project_dir, warnings)


def _read(file: Path) -> Mapping[str, object]:
    try:
        return parse_toml(file.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except TomlError as error:
        where = f"{file}:{error.line}" if error.line else str(file)
        raise UsageError(
            f"{where}: not valid TOML: {error.reason}",
            details={"file": str(file), "line": error.line},
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}", details={"file": str(file)}) from error


def _usage_error(
    file: Path, errors: list[Complaint], overlaid: Overlay, tidied: Tidied
) -> UsageError:
    """Report all invalid keys together, each with the file or variable that set it."""
    variables = {
        path_text(location, tidied.spelling): variable
        for location, variable in overlaid.variables.items()
    }
    lines: list[str] = []
    for complaint in errors:
        variable = variables.get(complaint.path.split("[")[0])
        where = f"environment: {variable}" if variable else str(file)
        lines.append(f"{where}: {complaint.path}: {complaint.message}")
    return UsageError(
        "\n".join(lines),
        details={
            "file": str(file),
            "keys": [complaint.path for complaint in errors],
        },
    )
