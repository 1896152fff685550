"""The command: finds the conversation and chooses how to hold it."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.cli.client import Client


def chat(
    common: Common,
    definition: Annotated[
        str | None, typer.Argument(metavar="DEFINITION", help="Whom to talk to.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Go on with this agent (id, prefix, name).")
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False,
) -> int:
    """Talk to an agent. Goes on with your last conversation here; reads lines from a pipe too."""
    if agent and (definition or new):
        raise typer.BadParameter("--agent goes on with one agent: leave DEFINITION and --new out")

    async def work(client: "Client") -> int:
        from retinue.cli.chat.chat_session import ChatSession

        session = await ChatSession.begin(client, definition=definition, agent=agent, is_new=new)
        if sys.stdin.isatty() and sys.stdout.isatty() and not common.is_json:
            from retinue.cli.chat.terminal_chat import TerminalChat

            return await TerminalChat(session, common.project).run()
        from retinue.cli.chat.piped_chat import talk

        return await talk(session, is_json=common.is_json)

    return run_with_client(common.project, work, needs_engine=True)
