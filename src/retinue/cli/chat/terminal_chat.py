"""Chat in a terminal: answers stream above a prompt that stays open."""

import asyncio
import os
import shutil
import sys
from collections.abc import Coroutine
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style
from rich.console import Console

from retinue.cli.agent_follower import follow
from retinue.cli.chat.chat_session import ChatSession
from retinue.cli.chat.live_output import live_lines
from retinue.cli.chat.request_answers import decidable, how_to_decide
from retinue.cli.chat.tab_completion import ChatCompleter
from retinue.cli.piece_renderer import drawn
from retinue.cli.shared_options import data_directory
from retinue.cli.transcript import Transcript
from retinue.cli.transcript_pieces import Piece
from retinue.clock import SystemClock
from retinue.errors import RetinueError
from retinue.text import clean_text

_STYLE = Style.from_dict(
    {
        "notice": "ansibrightblack",
        "thinking": "ansibrightblack italic",
        "prompt": "bold",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)
_AGAIN_SECONDS = 2.0
_TICK_SECONDS = 0.125
_ROWS_BELOW = 6  # the prompt, the toolbar and some room to type


class TerminalChat:
    """An interactive chat in one terminal."""

    def __init__(self, session: ChatSession, project: Path) -> None:
        self._session = session
        self._clock = SystemClock()
        self._transcript = Transcript()
        self._screen = Console(highlight=False, emoji=False, markup=False)
        self._hint = ""
        self._pressed_at = float("-inf")
        self._is_stopping = False
        self._is_going_on = False
        self._begun = ""  # text typed when the conversation changed
        self._tasks: set[asyncio.Task[None]] = set()
        self._prompt: PromptSession[str] = PromptSession(
            message=self._message,
            bottom_toolbar=self._toolbar,
            prompt_continuation="  ",
            completer=ChatCompleter(session),
            complete_while_typing=True,
            reserve_space_for_menu=4,
            history=FileHistory(str(_history_file(project))),
            key_bindings=self._bindings(),
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
        )

    async def run(self) -> int:
        """Chat until the user leaves."""
        with patch_stdout(raw=True):
            self._screen = Console(
                file=sys.stdout, force_terminal=True, highlight=False, emoji=False, markup=False
            )
            ticking = asyncio.create_task(self._tick())
            try:
                while await self._converse():
                    pass
            finally:
                ticking.cancel()
        return 0

    async def _converse(self) -> bool:
        """Run one conversation; return true when another follows."""
        self._transcript = Transcript(decided=self._session.answers.decided)
        self._is_going_on = False
        await self._introduce()
        following = asyncio.create_task(self._follow())
        try:
            await self._session.learn_names()
            return await self._read_lines()
        finally:
            following.cancel()

    async def _read_lines(self) -> bool:
        while True:
            try:
                line = await self._prompt.prompt_async(default=self._begun)
            except (EOFError, KeyboardInterrupt):
                return False
            self._hint = self._begun = ""
            going = self._transcript.switched_to if self._is_going_on else None
            if going:
                self._begun = line
                reaction = await self._session.go_on_with(going)
            else:
                reaction = await self._session.take(line.strip())
            self._print(reaction.pieces)
            if reaction.sent is not None:
                self._transcript.own.add(reaction.sent.id)
            if reaction.is_leaving or reaction.is_switched:
                return reaction.is_switched

    async def _introduce(self) -> None:
        agent = self._session.agent
        model = f" · {self._session.model}" if self._session.model else ""
        name = f" · {agent.name}" if agent.name else ""
        title = f"{agent.definition}{model}{name} · {agent.id[:8]}"
        self._print([Piece(kind="rule", text=title)])
        if agent.last_user_activity_at is None:
            text = "New conversation. Type /help for a list of commands."
            self._print([Piece(kind="notice", text=text)])

    async def _follow(self) -> None:
        """Print new pieces, beginning with the last exchange."""
        try:
            async for pieces in follow(
                self._session.client, self._session.agent.id, self._transcript
            ):
                self._print(pieces)
                self._ask()
                self._go_on()
                self._is_stopping = self._is_stopping and self._transcript.is_busy
                self._redraw()
        except RetinueError as error:
            self._print([Piece(kind="problem", text=error.message)])
            self._leave()
            return
        if self._transcript.is_deleted:
            text = "This conversation was deleted. Type /new to start another."
            self._print([Piece(kind="problem", text=text)])

    def _ask(self) -> None:
        """Print how to answer when a new request is pending."""
        session = self._session
        before = session.asked
        session.asking = decidable(self._transcript.requests.values())
        request = session.asked
        if request is not None and (before is None or before.id != request.id):
            self._print([Piece(kind="notice", text="\n".join(how_to_decide(request)))])

    def _go_on(self) -> None:
        """Continue with the agent that the user was switched to, once this one has finished."""
        transcript = self._transcript
        if transcript.switched_to and not transcript.is_busy and not self._is_going_on:
            self._is_going_on = self._prompt.app.is_running
            if self._is_going_on:
                self._prompt.app.exit(result=self._prompt.app.current_buffer.text)

    def _print(self, pieces: list[Piece]) -> None:
        if not pieces:
            return
        # One write, since each write redraws the prompt.
        sys.stdout.write(drawn(self._screen, pieces))
        sys.stdout.flush()

    def _message(self) -> StyleAndTextTuples:
        prompt: StyleAndTextTuples = [("class:prompt", "> ")]
        if get_app().is_done:
            return prompt
        columns, rows = shutil.get_terminal_size()
        lines = live_lines(
            self._transcript,
            now=self._clock.now(),
            seconds=self._clock.monotonic(),
            width=max(columns - 1, 20),
            rows=max(rows - _ROWS_BELOW, 4),
        )
        return [*((style, f"{text}\n") for style, text in lines), *prompt]

    def _toolbar(self) -> str:
        if self._hint:
            return self._hint
        attached = ", ".join(file.name for file in self._session.attachments)
        if attached:
            return f"attached: {attached}"
        return "Ctrl-C to stop" if self._transcript.is_busy else "/help · Ctrl-D to leave"

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        @bindings.add("enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.text = clean_text(event.current_buffer.text)
            if event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self._interrupted(event)

        @bindings.add("c-d")
        def _(event: KeyPressEvent) -> None:
            if not event.current_buffer.text:
                event.app.exit(exception=EOFError())

        return bindings

    def _interrupted(self, event: KeyPressEvent) -> None:
        """Stop the answer, else clear the line, else leave if pressed twice."""
        if self._transcript.is_busy and not self._is_stopping:
            self._is_stopping = True
            self._hint = "stopping…"
            self._start(self._stop())
            return
        if event.current_buffer.text:
            event.current_buffer.reset()
            return
        now = self._clock.monotonic()
        if now - self._pressed_at < _AGAIN_SECONDS:
            event.app.exit(exception=KeyboardInterrupt())
            return
        self._pressed_at = now
        self._hint = "Press Ctrl-C again to leave"

    async def _stop(self) -> None:
        try:
            await self._session.stop()
        except RetinueError as error:
            self._print([Piece(kind="problem", text=error.message)])
        self._hint = ""
        self._redraw()

    async def _tick(self) -> None:
        """Animate the spinner while the agent is busy."""
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            if self._hint and self._clock.monotonic() - self._pressed_at > _AGAIN_SECONDS:
                self._hint = "stopping…" if self._is_stopping else ""
                self._redraw()
            if self._transcript.is_busy:
                self._redraw()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _redraw(self) -> None:
        if self._prompt.app.is_running:
            self._prompt.app.invalidate()

    def _leave(self) -> None:
        if self._prompt.app.is_running:
            self._prompt.app.exit(exception=EOFError())


def _history_file(project: Path) -> Path:
    """Return the input history file, readable only by its owner."""
    file = data_directory(project) / "chat_history"
    file.touch(mode=0o600)
    return file
