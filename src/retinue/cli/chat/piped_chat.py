"""Chat through a pipe: lines in, plain answers out."""

import asyncio
import contextlib
import sys

from retinue.agents.inbox import FINAL
from retinue.cli.agent_follower import follow
from retinue.cli.chat.chat_session import ChatSession
from retinue.cli.chat.request_answers import decidable, how_to_decide
from retinue.cli.input import readable_stdin
from retinue.cli.output import print_json_line, print_note, say
from retinue.cli.phrases import plural
from retinue.cli.request_text import card
from retinue.cli.transcript import Transcript
from retinue.cli.transcript_pieces import Piece, note_piece
from retinue.clock import SystemClock
from retinue.errors import RetinueError
from retinue.events import RequestView
from retinue.records import NoteRecord, UserRecord
from retinue.server.wire import Admission, MessageAnswer

_LAST_RECORDS = 5  # searched for a switch to another agent
_WAIT_SECONDS = 30.0  # per request; longer waits take several


async def talk(session: ChatSession, *, is_json: bool) -> int:
    """Answer each line before reading the next; return 1 if any was not answered."""
    return await _PipedChat(session, is_json=is_json).run()


class _PipedChat:
    """Reads lines and prints answers; a pending request may be decided by the next line."""

    def __init__(self, session: ChatSession, *, is_json: bool) -> None:
        self._session = session
        self._is_json = is_json
        self._code = 0
        self._unanswered: list[Admission] = []
        self._shown: set[str] = set()
        self._news = asyncio.Event()

    async def run(self) -> int:
        lines = readable_stdin()
        following = asyncio.create_task(self._follow())
        try:
            while line := await asyncio.to_thread(lines.readline):
                text = line.rstrip("\r\n")
                if not text.strip():
                    continue
                reaction = await self._session.take(text)
                if reaction.is_leaving:
                    return self._code
                self._print(reaction.pieces)
                if reaction.is_switched:
                    following = self._follow_again(following)
                if reaction.sent is not None:
                    self._unanswered.append(reaction.sent)
                elif self._open:
                    continue  # still undecided: the next line may decide it
                is_answered = await self._print_answers()
                if is_answered and await self._follow_switch():
                    following = self._follow_again(following)
            await self._print_remaining()
        finally:
            following.cancel()
        return self._code

    @property
    def _open(self) -> list[RequestView]:
        decided = self._session.answers.decided
        return [one for one in self._session.asking if one.id not in decided]

    def _follow_again(self, following: asyncio.Task[None]) -> asyncio.Task[None]:
        following.cancel()
        return asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        """Keep track of pending requests of the agent and of the agents it waits for."""
        transcript = Transcript(decided=self._session.answers.decided)
        with contextlib.suppress(RetinueError):  # the wait for the answer reports it
            async for _ in follow(self._session.client, self._session.agent.id, transcript):
                self._session.asking = decidable(transcript.requests.values())
                self._news.set()

    async def _follow_switch(self) -> bool:
        """Continue with the agent that this one switched the user to, if it did."""
        session = self._session
        for record in reversed(await session.client.recent(session.agent.id, limit=_LAST_RECORDS)):
            if isinstance(record, UserRecord):
                return False
            if isinstance(record, NoteRecord) and record.code == "switched" and record.agent:
                self._print([note_piece(record)])
                await session.go_on_with(record.agent)
                return True
        return False

    async def _print_answers(self) -> bool:
        """Print answers until all have arrived or a new request is pending."""
        is_answered = False
        while self._unanswered:
            answering = asyncio.create_task(self._outcome(self._unanswered[0]))
            asking = asyncio.create_task(self._asked())
            try:
                await asyncio.wait({answering, asking}, return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    self._show(asking.result())
                    return False
                self._unanswered.pop(0)
                self._print_outcome(answering.result())
                is_answered = True
            finally:
                answering.cancel()
                asking.cancel()
        return is_answered

    async def _print_remaining(self) -> None:
        """Print the remaining answers; without a server, pending requests are left for later."""
        while self._unanswered:
            if self._open and not self._session.client.is_remote:
                waiting = plural(len(self._unanswered), "message")
                print_note(
                    f"retinue: {waiting} not answered yet: waiting for your approval. See: "
                    "retinue permissions"
                )
                self._code = 1
                return
            await self._print_answers()

    async def _asked(self) -> RequestView:
        while True:
            for request in self._open:
                if request.id not in self._shown:
                    return request
            self._news.clear()
            await self._news.wait()

    async def _outcome(self, sent: Admission) -> MessageAnswer:
        while True:
            message = await self._session.client.message(
                sent.id, agent_id=sent.agent_id, wait_seconds=_WAIT_SECONDS
            )
            if message.fate in FINAL:
                return message

    def _show(self, request: RequestView) -> None:
        self._shown.add(request.id)
        if self._is_json:
            print_json_line({"request": request})
            return
        verbs = "answer" if request.kind == "question" else "allow|deny"
        fields = " FIELD=VALUE..." if request.kind == "question" else ""
        command = f"From another terminal: retinue {verbs} {request.id}{fields}"
        say("\n".join([*card(request, SystemClock().now()), *how_to_decide(request), command]))
        sys.stdout.flush()

    def _print(self, pieces: list[Piece]) -> None:
        for piece in pieces:
            if piece.kind == "problem":
                self._code = 1
                print_note(f"retinue: {piece.text}")
            elif self._is_json:
                print_json_line({"notice": piece.text})
            else:
                say(piece.text)
        sys.stdout.flush()

    def _print_outcome(self, message: MessageAnswer) -> None:
        is_answered = message.fate == "answered"
        if not is_answered:
            self._code = 1
        if self._is_json:
            print_json_line(message)
        elif is_answered:
            say(message.reply)
        else:
            print_note(f"retinue: {message.fate}: {message.reply or message.reason}")
        sys.stdout.flush()
