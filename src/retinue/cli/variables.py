"""`retinue env`: variables of your account and of agents. Values are never shown."""

import sys
from getpass import getpass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retinue.cli.output import one_line, print_json, print_table, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common
from retinue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.client import Client
    from retinue.events import RequestView
    from retinue.server.variable_wire import VariableEntry

Act = Literal["list", "set", "unset", "give"]

_WHERE = {
    "call": "the prompt's tool list",
    "thread": "this agent",
    "account": "your account",
    "instance": "retinue.toml",
    "agent": "the definition",
    "prompt": "the prompt",
}
_DESCRIPTION = 50


def env(
    common: Common,
    act: Annotated[
        Act, typer.Argument(metavar="ACTION", help="list, set, unset or give.")
    ] = "list",
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Variable name; for give, the request (its id or the end of it)."
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT", help="Use this agent's variables.  [default: your account's]"
        ),
    ] = None,
) -> None:
    """List, set and unset variables. Values are read from a prompt or from stdin.

    `give REQUEST` asks for the values that a subagent waits for, and starts it; on stdin, write
    NAME=VALUE lines. Values are stored encrypted and never shown again.
    """
    if act != "list" and name is None:
        what = "REQUEST" if act == "give" else "NAME"
        raise UsageError(f"missing argument. Usage: retinue env {act} {what}")
    if act == "give":
        _give(common, name or "")
        return
    value = _value(name or "") if act == "set" else ""

    async def work(client: "Client") -> None:
        from retinue.cli.agent_lookup import find_agent

        chosen = None if agent is None else (await find_agent(client, agent)).id
        if act == "list" or name is None:
            _print(await client.variables(chosen), is_json=common.is_json)
        elif act == "set":
            await client.set_variable(name, value, agent_id=chosen)
            _done(common, f"{name} is set.")
        else:
            await client.unset_variable(name, agent_id=chosen)
            _done(common, f"{name} is unset.")

    run_with_client(common.project, work, needs_engine=agent is not None and act != "list")


def _value(name: str) -> str:
    """Read the value from a prompt or stdin; every process can see arguments."""
    if sys.stdin.isatty():
        value = getpass(f"Value of {name} (not shown): ")
    else:
        value = sys.stdin.read().removesuffix("\n")
    if not value:
        raise UsageError(
            f"no value. Type it at the prompt, or pipe it: retinue env set {name} < file"
        )
    return value


def _give(common: Common, reference: str) -> None:
    """Give a waiting subagent its values; no connection is open while they are typed."""

    async def look(client: "Client") -> "tuple[RequestView, Sequence[str]]":
        from retinue.cli.permissions import find_request

        request = await find_request(client, reference)
        if request.kind != "variables":
            raise UsageError(
                f"this request does not ask for variables. See: retinue permissions {request.id}"
            )
        return request, await client.missing_variables(request.agent_id, request.id)

    request, missing = run_with_client(common.project, look)
    if sys.stdin.isatty():
        values = {name: _value(name) for name in missing}
    else:
        values = _read_lines(sys.stdin.read())

    async def give(client: "Client") -> str:
        return await client.provide(request.agent_id, request.id, values)

    child = run_with_client(common.project, give, needs_engine=True)
    if common.is_json:
        print_json({"applied": True, "agentId": child})
    else:
        say(f"Started subagent {child}")


def _read_lines(text: str) -> dict[str, str]:
    """Parse NAME=VALUE lines; errors give the line's number, never its text."""
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.partition("=")
        if line.strip() and not equals:
            raise UsageError(f"line {number}: expected NAME=VALUE")
        if equals:
            values[name.strip()] = value
    return values


def _done(common: Common, text: str) -> None:
    if common.is_json:
        print_json({"applied": True})
    else:
        say(text)


def _print(variables: "Sequence[VariableEntry]", *, is_json: bool) -> None:
    if is_json:
        print_json({"variables": variables})
        return
    if not variables:
        say("No variables yet. Set one with: retinue env set NAME")
        return
    rows = [
        (
            one.name,
            one.type if one.is_declared else "",
            _where(one),
            one_line(one.description, _DESCRIPTION),
        )
        for one in variables
    ]
    print_table(("VARIABLE", "TYPE", "SET IN", "DESCRIPTION"), rows)


def _where(one: "VariableEntry") -> str:
    if one.scope is None:
        return "missing" if one.is_required else "not set"
    return f"{_WHERE[one.scope]} (unreadable)" if one.problem else _WHERE[one.scope]
