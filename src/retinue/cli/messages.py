"""`retinue send` and `retinue why`: one message and what became of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.input import readable_stdin
from retinue.cli.output import print_json, print_note, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.wire import Admission, MessageAnswer

_LONGEST_WAIT_SECONDS = 2.0  # of one request; in between, people are told what they are asked


def send(
    common: Common,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A definition, or an agent (id, prefix, name).")
    ],
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to say; - reads it from stdin.")
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it.")] = False,
    key: Annotated[
        str | None, typer.Option(help="Sent twice with one key, it is delivered once.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds that --wait waits.", show_default=True)
    ] = 300,
) -> int:
    """Send one message. To a definition: into your conversation with it in this terminal."""
    said = readable_stdin().read() if text == "-" else text
    if not said.strip():
        raise typer.BadParameter("there is nothing to send: the text is empty")

    async def work(client: "Client") -> int:
        from retinue.cli.conversations import find_target

        agent = await find_target(client, target)
        admission = await client.post(agent.id, said, key=key)
        if not wait:
            _tell_admission(admission, client, is_json=common.is_json)
            return 0
        return _tell_outcome(await _outcome(client, admission, timeout), is_json=common.is_json)

    return run_with_client(common.project, work, needs_engine=wait)


async def _outcome(client: "Client", admission: "Admission", seconds: float) -> "MessageAnswer":
    """Wait for the end; without a server not for a decision, which nobody could make meanwhile."""
    import asyncio

    from retinue.agents.inbox import FINAL

    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    told: set[str] = set()
    while True:
        left = max(deadline - loop.time(), 0)
        message = await client.message(
            admission.id,
            agent_id=admission.agent_id,
            wait_seconds=min(left, _LONGEST_WAIT_SECONDS),
        )
        asked = {wait.request for wait in message.waits if wait.request}
        for request in sorted(asked - told):
            print_note(f"It waits for your decision. See: retinue permissions {request}")
        told |= asked
        if message.fate in FINAL or loop.time() >= deadline or (asked and not client.is_remote):
            return message


def _tell_admission(admission: "Admission", client: "Client", *, is_json: bool) -> None:
    if is_json:
        print_json(admission)
        return
    place = f", {admission.position} before it" if admission.position else ""
    say(f"{admission.id} {admission.fate}{place}")
    if not client.is_remote:
        print_note("No server runs here: it is answered when one starts (or send it with --wait).")


def _tell_outcome(message: "MessageAnswer", *, is_json: bool) -> int:
    """Print the answer; anything else than an answer is a failure of the command."""
    from retinue.agents.inbox import FINAL

    if is_json:
        print_json(message)
    elif message.fate == "answered":
        say(message.reply)
    elif message.fate in FINAL:
        print_note(
            f"retinue: {message.fate}: {message.reply or message.reason or 'no reason was given'}"
        )
    else:
        print_note(
            f"retinue: no answer yet; the message is {message.fate}. See: retinue why {message.id}"
        )
    return 0 if message.fate == "answered" else 1


def why(
    common: Common,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The id that `send` printed.")],
) -> None:
    """Tell the life of one message: when it came, what it waits for, how it ended."""

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
