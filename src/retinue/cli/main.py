"""The entry point: finds the command, imports its module, runs it and reports errors.

Heavy modules such as typer are imported only after a command is chosen, so that the overview
appears at once.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from retinue import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

DONE, FAILED, USAGE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command's function and its line in the overview."""

    function: str  # "<module>:<function>" inside retinue.cli
    summary: str
    passes_options: bool = False  # unknown options are passed on as arguments


GROUPS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Get started": {
        "init": CommandEntry("init:init", "Create a project"),
        "serve": CommandEntry("serve:serve", "Start the server and the web app"),
        "open": CommandEntry("serve:open_link", "Print a login link for the web app"),
        "doctor": CommandEntry("doctor.checklist:doctor", "Check settings, models, disk and store"),
    },
    "Chat": {
        "chat": CommandEntry("chat.chat_command:chat", "Chat with an agent in the terminal"),
        "send": CommandEntry("messages:send", "Send one message"),
        "why": CommandEntry("messages:why", "Show what happened to a message"),
    },
    "Inspect": {
        "agents": CommandEntry("agents:agents", "List agents"),
        "show": CommandEntry("agents:show", "Show one agent"),
        "history": CommandEntry("history:history", "Show an agent's history"),
        "definitions": CommandEntry(
            "definitions:definitions", "List definitions and errors, or show one"
        ),
        "plugins": CommandEntry("plugins:plugins", "List plugins and their operations"),
        "skills": CommandEntry("skills:skills", "List skills and errors"),
        "usage": CommandEntry("usage:usage", "Show token usage and cost"),
        "schedules": CommandEntry("schedules:schedules", "List, add, pause, run, delete schedules"),
    },
    "Control": {
        "stop": CommandEntry("agents:stop", "Stop the running turn"),
        "reset": CommandEntry("agents:reset", "Start the conversation over"),
        "compact": CommandEntry("agents:compact", "Summarise the conversation so far"),
        "back": CommandEntry("agents:back", "Return to the agent that switched you"),
        "terminate": CommandEntry("agents:terminate", "End an agent permanently"),
    },
    "Requests and variables": {
        "permissions": CommandEntry("permissions:permissions", "List pending requests"),
        "allow": CommandEntry("permissions:allow", "Allow a request"),
        "deny": CommandEntry("permissions:deny", "Deny a request"),
        "answer": CommandEntry("permissions:answer", "Answer an agent's question"),
        "env": CommandEntry("variables:env", "List, set, unset and give variables"),
    },
    "Import and export": {
        "export": CommandEntry("transfer:export", "Export agents to an archive"),
        "import": CommandEntry("transfer:import_", "Import agents from an archive"),
        "pack": CommandEntry("pack:pack", "Package a definition for other projects"),
    },
    "Diagnostics": {
        "verify": CommandEntry("verification:verify", "Crash-test the engine at every commit"),
        "bench": CommandEntry(
            "verification:bench", "Measure speed, growth and memory", passes_options=True
        ),
        "version": CommandEntry("version:version", "Print the version"),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
_SHARED_FLAGS = ("--json", "--debug")


def main() -> None:
    """Run the command line of this process and exit."""
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe (`| head`); keep Python quiet at exit too.
        sys.stderr.close()
        code = DONE
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    name, rest = split_command(arguments)
    if name in ("--version", "-V"):
        name = "version"
    if name is None or name in ("--help", "-h", "help"):
        if rest[:1] and rest[0] in COMMANDS:
            return run([rest[0], "--help"])
        sys.stdout.write(overview())
        return DONE if arguments else USAGE
    if name not in COMMANDS:
        return _invoke_plugin(name, rest)
    return _invoke(name, rest)


def split_command(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Split off the command's name; shared options before it are moved after it."""
    before: list[str] = []
    rest = list(arguments)
    while rest:
        if rest[0] == "--dir" and len(rest) > 1:
            before += [rest.pop(0), rest.pop(0)]
        elif rest[0] in _SHARED_FLAGS or rest[0].startswith("--dir="):
            before.append(rest.pop(0))
        else:
            return rest[0], before + rest[1:]
    return None, before


def overview() -> str:
    """List all commands, at most sixty columns wide."""
    lines = [
        f"Retinue {__version__}: durable AI agents.",
        "",
        "Usage: retinue COMMAND [OPTIONS] [ARGUMENTS]",
    ]
    for group, commands in GROUPS.items():
        lines += ["", f"{group}:"]
        lines += [f"  {name:<12} {command.summary}" for name, command in commands.items()]
    lines += [
        "",
        "All commands accept --dir (project directory; default:",
        "RETINUE_DIR or the current directory), --json and --debug.",
        "Plugins add commands: retinue PLUGIN OPERATION",
        "",
        "Details: retinue COMMAND --help",
        "First step: retinue serve",
        "",
    ]
    return "\n".join(lines)


def load(name: str) -> "Callable[..., int | None]":
    """Import a command's function."""
    module, function = COMMANDS[name].function.split(":")
    return getattr(import_module(f"retinue.cli.{module}"), function)


def _invoke(name: str, arguments: list[str]) -> int:
    import typer

    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["--help", "-h"],
            "max_content_width": 88,
            "ignore_unknown_options": COMMANDS[name].passes_options,
        },
    )
    try:
        from retinue.cli.shared_options import with_shared_options

        app.command(name)(with_shared_options(load(name)))
        code = app(arguments, prog_name=f"retinue {name}", standalone_mode=False)
    except typer.TyperException as error:
        hint = f"See: retinue {name} --help"
        return _fail_usage(f"{error.format_message().rstrip('.')}. {hint}", arguments)
    except (typer.Abort, KeyboardInterrupt):
        return FAILED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  (outermost boundary: every failure is reported)
        return _report(error, arguments)
    # typer returns 130 on Ctrl-C; an interrupted command counts as failed.
    return FAILED if code == 130 else code or DONE


def _invoke_plugin(name: str, arguments: list[str]) -> int:
    """Run a plugin's operation; plugin commands are known only once the project is read."""
    from retinue.plugins.command_line import UNFIT, CommandLineError

    try:
        from retinue.cli.plugins import run_plugin

        done = () if name.startswith("-") else run_plugin(name, arguments)
    except CommandLineError as error:
        return _fail_usage(f"{error}. See: retinue {name} --help", arguments)
    except SystemExit:
        return DONE  # --help
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  (outermost boundary: every failure is reported)
        code = _report(error, arguments)
        return USAGE if getattr(error, "code", "") == UNFIT else code
    if isinstance(done, int):
        return done
    return _fail_usage("\n".join([_unknown_command(name), *done]), arguments)


def _report(error: Exception, arguments: Sequence[str]) -> int:
    from retinue.cli.error_report import report

    return report(error, is_json=_has(arguments, "--json"), is_debug=_has(arguments, "--debug"))


def _has(arguments: Sequence[str], flag: str) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return flag in options


def _fail_usage(message: str, arguments: Sequence[str]) -> int:
    from retinue.cli.error_report import write_error

    write_error("usage", message, {}, is_json=_has(arguments, "--json"))
    return USAGE


def _unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    kind = "option" if name.startswith("-") else "command"
    return f"unknown {kind} {name!r}.{meant} See: retinue --help"


if __name__ == "__main__":
    main()
