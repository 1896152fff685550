"""The conversation through a pipe: lines in, plain answers out."""

import asyncio
import sys

from retinue.agents.fate import FINAL
from retinue.cli.chat.session import Session
from retinue.cli.client import Admission
from retinue.cli.printing import print_json_line, say, tell
from retinue.cli.reading import readable_stdin

_WAIT_SECONDS = 30.0  # of one request; a longer wait is several


async def talk(session: Session, *, is_json: bool) -> int:
    """Answer each line before reading the next; fails when any of them was not answered."""
    code = 0
    lines = readable_stdin()
    while line := await asyncio.to_thread(lines.readline):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        reaction = await session.take(text)
        if reaction.is_leaving:
            break
        for piece in reaction.pieces:
            if piece.kind == "problem":
                code = 1
                tell(f"retinue: {piece.text}")
            elif is_json:
                print_json_line({"notice": piece.text})
            else:
                say(piece.text)
        if reaction.sent is not None and not await _answered(session, reaction.sent, is_json):
            code = 1
    return code


async def _answered(session: Session, sent: Admission, is_json: bool) -> bool:
    while True:
        message = await session.client.message(
            sent.id, agent_id=sent.agent_id, wait_seconds=_WAIT_SECONDS
        )
        if message.fate in FINAL:
            break
    is_answered = message.fate == "answered"
    if is_json:
        print_json_line(message)
    elif is_answered:
        say(message.reply)
    else:
        tell(f"retinue: {message.fate}: {message.reply or message.reason}")
    sys.stdout.flush()
    return is_answered
