"""The entry point: finds the command, loads its file, runs it, and words what went wrong.

Neither typer nor anything else that is heavy is imported before a command is chosen: the overview
must appear at once.
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
    """Where a command lives and what the overview says about it."""

    home: str  # "<module>:<function>" inside retinue.cli
    summary: str
    is_passing_on: bool = False  # options that it does not know are somebody else's


GROUPS: Mapping[str, Mapping[str, CommandEntry]] = {
    "Start": {
        "init": CommandEntry("init:init", "write a small ready project"),
        "serve": CommandEntry("serve:serve", "start the server and the web app"),
        "open": CommandEntry("serve:open_link", "print a fresh link into the web app"),
        "doctor": CommandEntry("doctor.checklist:doctor", "check settings, models, disk, store"),
    },
    "Talk": {
        "chat": CommandEntry("chat.chat_command:chat", "talk to an agent in the terminal"),
        "send": CommandEntry("messages:send", "send one message"),
        "why": CommandEntry("messages:why", "tell the life of one message"),
    },
    "Look": {
        "agents": CommandEntry("agents:agents", "list agents"),
        "show": CommandEntry("agents:show", "show one agent"),
        "history": CommandEntry("history:history", "print an agent's history"),
        "definitions": CommandEntry(
            "definitions:definitions", "list definitions and problems, or draw one"
        ),
        "plugins": CommandEntry("plugins:plugins", "list plugins and their operations"),
        "skills": CommandEntry("skills:skills", "list skills and what does not load"),
        "usage": CommandEntry("usage:usage", "sum up tokens and their cost"),
        "schedules": CommandEntry("schedules:schedules", "list schedules; add, pause, run, delete"),
    },
    "Steer": {
        "stop": CommandEntry("agents:stop", "stop the turn that is running"),
        "reset": CommandEntry("agents:reset", "begin the conversation anew"),
        "compact": CommandEntry("agents:compact", "summarise what was said so far"),
        "back": CommandEntry("agents:back", "go back to an agent that switched you"),
        "terminate": CommandEntry("agents:terminate", "end an agent for good"),
    },
    "Decide": {
        "permissions": CommandEntry("permissions:permissions", "list what agents ask you"),
        "allow": CommandEntry("permissions:allow", "allow what an agent asked"),
        "deny": CommandEntry("permissions:deny", "deny what an agent asked"),
        "answer": CommandEntry("permissions:answer", "answer an agent's question"),
        "env": CommandEntry("variables:env", "list, set, unset and give variables"),
    },
    "Keep": {
        "export": CommandEntry("transfer:export", "write agents to an archive"),
        "import": CommandEntry("transfer:import_", "read agents from an archive"),
        "pack": CommandEntry("pack:pack", "pack a definition for other projects"),
    },
    "Prove": {
        "verify": CommandEntry("verification:verify", "kill it at every commit and check"),
        "bench": CommandEntry(
            "verification:bench", "measure speed, growth and memory", is_passing_on=True
        ),
        "version": CommandEntry("version:version", "print the version"),
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
        # The reader left (`| head`): nothing more to say, and nothing may be said at exit either.
        sys.stderr.close()
        code = DONE
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code."""
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
    """Take the command's name out; shared options before it count as if they came after it."""
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
    """What there is, on one screen of sixty columns."""
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
        "Every command takes --dir (the project; else RETINUE_DIR,",
        "else here), --json and --debug.",
        "`retinue COMMAND --help` says more. Plugins have commands of",
        "their own: retinue PLUGIN OPERATION. Begin: retinue serve",
        "",
    ]
    return "\n".join(lines)


def load(name: str) -> "Callable[..., int | None]":
    """Import the function behind a command."""
    module, function = COMMANDS[name].home.split(":")
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
            "ignore_unknown_options": COMMANDS[name].is_passing_on,
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
    except Exception as error:  # noqa: BLE001  (the outermost boundary: every failure gets words)
        return _report(error, arguments)
    # typer turns Ctrl-C into 130; here an interrupted command is one that was not done.
    return FAILED if code == 130 else code or DONE


def _invoke_plugin(name: str, arguments: list[str]) -> int:
    """Run an operation of a plugin, whose commands nobody knows before the project is read."""
    from retinue.plugins.command_line import UNFIT, CommandLineError

    try:
        from retinue.cli.plugins import run_plugin

        done = () if name.startswith("-") else run_plugin(name, arguments)
    except CommandLineError as error:
        return _fail_usage(f"{error}. See: retinue {name} --help", arguments)
    except SystemExit:
        return DONE  # it printed its help
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  (the outermost boundary: every failure gets words)
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
    return f"no {kind} {name!r}.{meant} See: retinue --help"


if __name__ == "__main__":
    main()
