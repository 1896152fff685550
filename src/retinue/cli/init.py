"""`retinue init`: creates a project and suggests a model."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from retinue.cli.output import one_line, print_json, say
from retinue.cli.shared_options import Common, project_directory
from retinue.errors import UsageError

_TEMPLATE = Path(__file__).parent / "project"
_PACKAGE = Path(__file__).parents[1]
_EXAMPLES = (_PACKAGE / "examples", _PACKAGE.parents[1] / "examples")  # installed, or a checkout
_GITIGNORE = Path("gitignore")
_RENAMED = {_GITIGNORE.name: ".gitignore"}
_OFFLINE_LINE = 'model = "offline"'
_OLLAMA = ("127.0.0.1", 11434)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A model that this machine can use, and why it is offered."""

    model: str
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The files that `init` created, and those that already existed."""

    written: list[str]
    kept: list[str]


def init(
    common: Common,
    target: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Project directory.  [default: --dir]"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model for retinue.toml, as provider:model.")
    ] = None,
    example: Annotated[
        str | None, typer.Option(metavar="NAME", help="Start from an example, such as household.")
    ] = None,
) -> None:
    """Create a small project; existing files are kept."""
    project = project_directory(target) if target else common.project
    if model is not None and not _is_model_name(model):
        raise UsageError(
            f"invalid model {model!r}: use provider:model (such as openai:gpt-5) or offline"
        )
    template = _TEMPLATE if example is None else example_folder(example)
    choices = found_models()
    is_asking = model is None and choices and not common.is_json and _is_terminal()
    if is_asking and not (project / "retinue.toml").exists():
        model = _ask(choices)
    result = write_project(project, model or "offline", template)
    if common.is_json:
        print_json(
            {
                "directory": str(project),
                "written": result.written,
                "kept": result.kept,
                "model": _model_of(project),
                "found": [choice.model for choice in choices],
            }
        )
    else:
        _report(project, result, choices)


def found_models() -> list[Choice]:
    """Find models by API keys in the environment and by a local Ollama."""
    choices: list[Choice] = []
    for variables, model in (
        (("OPENAI_API_KEY",), "openai:gpt-5"),
        (("ANTHROPIC_API_KEY",), "anthropic:claude-sonnet-4-5"),
        (("GEMINI_API_KEY", "GOOGLE_API_KEY"), "google:gemini-2.5-flash"),
    ):
        variable = next((name for name in variables if os.environ.get(name)), None)
        if variable:
            choices.append(Choice(model=model, because=f"{variable} is set"))
    return choices + _ollama_models()


def _ollama_models() -> list[Choice]:
    """Return the models of a local Ollama, if one is running."""
    import http.client
    import json

    connection = http.client.HTTPConnection(*_OLLAMA, timeout=0.3)
    try:
        connection.request("GET", "/api/tags")
        listed = json.loads(connection.getresponse().read(1_000_000))
        names = [str(entry["name"]) for entry in listed["models"]]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return []
    finally:
        connection.close()
    because = f"Ollama is running on port {_OLLAMA[1]}"
    return [Choice(model=f"ollama:{one_line(name, 80)}", because=because) for name in names[:3]]


def write_project(project: Path, model: str, template: Path = _TEMPLATE) -> Written:
    """Copy a template; existing files are kept."""
    result = Written(written=[], kept=[])
    sources = {source.relative_to(template): source for source in template.rglob("*")}
    sources.setdefault(_GITIGNORE, _TEMPLATE / _GITIGNORE)
    for relative, source in sorted(sources.items()):
        if not source.is_file() or any(_is_generated(part) for part in relative.parts):
            continue
        relative = relative.with_name(_RENAMED.get(relative.name, relative.name))
        text = source.read_text("utf-8")
        if relative.name == "retinue.toml":
            text = text.replace(_OFFLINE_LINE, f'model = "{model}"')
        is_new = _write_new(project / relative, text)
        (result.written if is_new else result.kept).append(relative.as_posix())
    return result


def _is_generated(name: str) -> bool:
    """Whether a file or folder is data or bytecode from running the template."""
    return name.startswith(".") or name == "__pycache__"


def _write_new(path: Path, text: str) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _is_model_name(model: str) -> bool:
    provider, separator, name = model.partition(":")
    is_plain = model.isprintable() and not set(model) & set('"\\ ')
    return is_plain and (model == "offline" or bool(provider and separator and name))


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(choices: list[Choice]) -> str:
    options = [*choices, Choice(model="offline", because="built in, needs no API key")]
    say("Which model should the project use?")
    for number, choice in enumerate(options, 1):
        say(f"  {number}  {choice.model:<30} {choice.because}")
    while True:
        answer = str(typer.prompt("Number or provider:model", default="1")).strip()
        if answer.isdecimal() and 1 <= int(answer) <= len(options):
            return options[int(answer) - 1].model
        if _is_model_name(answer):
            return answer
        say(f"  {answer!r} is not valid: enter one of the numbers, or provider:model.")


def _model_of(project: Path) -> str:
    """Return the model in the project's settings, which may have existed before."""
    from retinue.cli.shared_options import environment
    from retinue.settings import load_settings

    return load_settings(project, environment()).model


def _report(project: Path, result: Written, choices: list[Choice]) -> None:
    here = project == Path.cwd()
    say(f"Project in {project}")
    for name in result.written:
        say(f"  created  {name}")
    for name in result.kept:
        say(f"  kept     {name}")
    model = _model_of(project)
    say()
    if model == "offline":
        say("Model: offline (built in, needs no API key, follows simple rules)")
        if choices:
            found = choices[0]
            say(f'To use {found.model} ({found.because}), set model = "{found.model}"')
            say("in retinue.toml.")
        else:
            say("To use an AI model, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY,")
            say('and model = "provider:model" in retinue.toml.')
    else:
        say(f"Model: {model}")
    option = "" if here else f" --dir {project}"
    say(f"Next: retinue serve{option}")


def example_names() -> Sequence[str]:
    """Return the names that `retinue init --example` accepts."""
    return sorted(
        folder.name for home in _EXAMPLES for folder in home.glob("*/") if _is_example(folder)
    )


def example_folder(name: str) -> Path:
    """Find an example; the error lists the available ones."""
    names = example_names()
    if name not in names:
        raise UsageError(
            f"no example {name!r}. Available: {', '.join(names)}",
            details={"examples": list(names)},
        )
    return next(home / name for home in _EXAMPLES if _is_example(home / name))


def _is_example(folder: Path) -> bool:
    return (folder / "retinue.toml").is_file()
