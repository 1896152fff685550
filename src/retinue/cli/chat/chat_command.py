"""The command: finds the conversation and runs it in the terminal or through a pipe."""

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
        str | None, typer.Argument(metavar="DEFINITION", help="Definition to chat with.")
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="AGENT", help="Continue with this agent (id, id prefix or name)."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start a new conversation.")] = False,
) -> int:
    """Chat with an agent. Continues your last conversation here; also reads lines from a pipe."""
    if agent and (definition or new):
        raise typer.BadParameter("--agent cannot be combined with DEFINITION or --new")

    async def work(client: "Client") -> int:
        from retinue.cli.chat.chat_session import ChatSession

        session = await ChatSession.begin(client, definition=definition, agent=agent, is_new=new)
        if sys.stdin.isatty() and sys.stdout.isatty() and not common.is_json:
            from retinue.cli.chat.terminal_chat import TerminalChat

            return await TerminalChat(session, common.project).run()
        from retinue.cli.chat.piped_chat import talk

        return await talk(session, is_json=common.is_json)

    return run_with_client(common.project, work, needs_engine=True)
