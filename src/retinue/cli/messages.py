"""`retinue send` and `retinue why`: sends a message, and shows what happened to it."""

from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.input import readable_stdin
from retinue.cli.output import print_json, print_note, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.wire import Admission, MessageAnswer

_LONGEST_WAIT_SECONDS = 2.0  # per request; in between, new requests for approval are reported


def send(
    common: Common,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A definition or an agent (id, prefix, name).")
    ],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="Message text; - reads it from stdin.")
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it.")] = False,
    key: Annotated[
        str | None, typer.Option(help="Messages with the same key are delivered once.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds to wait with --wait.", show_default=True)
    ] = 300,
) -> int:
    """Send one message to an agent, or to your conversation with a definition."""
    content = readable_stdin().read() if text == "-" else text
    if not content.strip():
        raise typer.BadParameter("the message is empty")

    async def work(client: "Client") -> int:
        from retinue.cli.conversations import find_target

        agent = await find_target(client, target)
        admission = await client.post(agent.id, content, key=key)
        if not wait:
            _print_admission(admission, client, is_json=common.is_json)
            return 0
        return _print_outcome(await _outcome(client, admission, timeout), is_json=common.is_json)

    return run_with_client(common.project, work, needs_engine=wait)


async def _outcome(client: "Client", admission: "Admission", seconds: float) -> "MessageAnswer":
    """Wait for the outcome; without a server, not for a decision: nobody could make it."""
    import asyncio

    from retinue.agents.inbox import FINAL

    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    reported: set[str] = set()
    while True:
        left = max(deadline - loop.time(), 0)
        message = await client.message(
            admission.id,
            agent_id=admission.agent_id,
            wait_seconds=min(left, _LONGEST_WAIT_SECONDS),
        )
        asked = {wait.request for wait in message.waits if wait.request}
        for request in sorted(asked - reported):
            print_note(f"Waiting for your approval. See: retinue permissions {request}")
        reported |= asked
        if message.fate in FINAL or loop.time() >= deadline or (asked and not client.is_remote):
            return message


def _print_admission(admission: "Admission", client: "Client", *, is_json: bool) -> None:
    if is_json:
        print_json(admission)
        return
    place = f", {admission.position} ahead of it" if admission.position else ""
    say(f"{admission.id} {admission.fate}{place}")
    if not client.is_remote:
        print_note("No server is running: start one to get an answer, or send with --wait.")


def _print_outcome(message: "MessageAnswer", *, is_json: bool) -> int:
    """Print the outcome; the exit code is 1 unless the message was answered."""
    from retinue.agents.inbox import FINAL

    if is_json:
        print_json(message)
    elif message.fate == "answered":
        say(message.reply)
    elif message.fate in FINAL:
        print_note(
            f"retinue: {message.fate}: {message.reply or message.reason or 'no reason given'}"
        )
    else:
        print_note(
            f"retinue: no answer yet; the message is {message.fate}. See: retinue why {message.id}"
        )
    return 0 if message.fate == "answered" else 1


def why(
    common: Common,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="Message id, as printed by `send`.")
    ],
) -> None:
    """Show what happened to a message: when it arrived, what it waits for, how it ended."""

    async def work(client: "Client") -> None:
        from retinue.cli.message_timeline import timeline_of
        from retinue.clock import SystemClock

        found = await client.message(message)
        if common.is_json:
            print_json(found)
            return
        for line in timeline_of(found, SystemClock().now(), is_working=client.is_working):
            say(line)

    run_with_client(common.project, work)
