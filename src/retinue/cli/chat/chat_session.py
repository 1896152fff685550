"""A chat session: sends messages, runs slash commands and answers requests."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from retinue.cli.agent_lookup import find_agent
from retinue.cli.chat.request_answers import RequestAnswers
from retinue.cli.client import Client
from retinue.cli.conversations import chosen_definition, last_conversation, new_conversation
from retinue.cli.message_timeline import timeline_of
from retinue.cli.output import one_line
from retinue.cli.phrases import plural, size
from retinue.cli.transcript_pieces import Piece, PieceKind
from retinue.clock import SystemClock
from retinue.errors import RetinueError, UsageError
from retinue.events import AgentView, RequestView
from retinue.records import FileReference
from retinue.server.definition_wire import DefinitionEntry
from retinue.server.wire import Admission

_NAMES = 200
_LARGEST_ATTACHMENT = 50_000_000

COMMANDS: Mapping[str, tuple[str, str]] = {
    "allow": ("[NOTE]", "allow the agent's request (also y)"),
    "attach": ("PATH", "send a file with the next message"),
    "back": ("", "return to the agent that switched you here"),
    "compact": ("", "summarise the conversation so far"),
    "context": ("", "show how full the model's context is"),
    "deny": ("[NOTE]", "deny the agent's request (also n)"),
    "help": ("", "show this list"),
    "later": ("", "decide about the request later"),
    "new": ("[DEFINITION]", "start a new conversation"),
    "quit": ("", "leave (also Ctrl-D)"),
    "reset": ("", "start this conversation over"),
    "stop": ("", "stop the answer (also Ctrl-C)"),
    "switch": ("[AGENT]", "switch to another conversation"),
    "why": ("[MESSAGE]", "show what happened to a message"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """The result of one line of input."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    sent: Admission | None = None
    is_leaving: bool = False
    is_switched: bool = False


def _reaction(kind: PieceKind, *lines: str) -> Reaction:
    return Reaction(pieces=[Piece(kind=kind, text="\n".join(lines))])


@dataclass(slots=True, kw_only=True)
class ChatSession:
    """The current conversation, and those it can switch to."""

    client: Client
    agent: AgentView
    definitions: list[DefinitionEntry]
    others: Sequence[AgentView] = ()
    attachments: list[FileReference] = field(default_factory=list[FileReference])
    last_message: str | None = None
    asking: list[RequestView] = field(default_factory=list[RequestView])  # pending, of this agent
    came_from: dict[str, str] = field(
        default_factory=dict[str, str]
    )  # agent: the one that switched the user to it
    answers: RequestAnswers = field(default_factory=RequestAnswers)

    @classmethod
    async def begin(
        cls, client: Client, *, definition: str | None, agent: str | None, is_new: bool
    ) -> "ChatSession":
        """Find or start the conversation."""
        known = (await client.definitions()).definitions
        if agent is not None:
            found = await find_agent(client, agent)
        else:
            name = chosen_definition(known, definition)
            found = await (new_conversation if is_new else last_conversation)(client, name)
        return cls(client=client, agent=found, definitions=known)

    @property
    def asked(self) -> RequestView | None:
        """The request that the next line may answer."""
        return self.answers.current(self.asking)

    @property
    def model(self) -> str:
        """The agent's model, if it or its definition names one."""
        chosen = self.agent.model
        named = {definition.name: definition.model for definition in self.definitions}
        return chosen or named.get(self.agent.definition) or ""

    async def learn_names(self) -> None:
        """Load the conversations for tab completion."""
        self.others = (await self.client.agents(limit=_NAMES)).agents

    async def take(self, line: str) -> Reaction:
        """Handle one line; errors are returned as pieces."""
        try:
            if line.startswith("/") and not line.startswith("//"):
                name, _, argument = line[1:].partition(" ")
                return await self._command(name.strip(), argument.strip())
            return await self._send(line[1:] if line.startswith("//") else line)
        except (RetinueError, OSError) as error:
            from retinue.cli.error_report import describe

            return _reaction("problem", describe(error)[1])

    async def stop(self) -> bool:
        return await self.client.stop(self.agent.id)

    async def _send(self, text: str) -> Reaction:
        if not text.strip():
            return Reaction()
        request = self.asked
        reply = await self.answers.take(self.client, request, text) if request else None
        if reply is not None:
            return _reaction("notice", reply)
        sent = await self.client.post(self.agent.id, text, files=self.attachments)
        self.attachments = []
        self.last_message = sent.id
        return Reaction(sent=sent)

    async def _command(self, name: str, argument: str) -> Reaction:
        commands: Mapping[str, Callable[[str], Awaitable[Reaction]]] = {
            "allow": self._allow,
            "attach": self._attach,
            "back": self._back,
            "compact": self._compact,
            "deny": self._deny,
            "later": self._later,
            "context": self._context,
            "help": self._help,
            "new": self._new,
            "quit": self._quit,
            "exit": self._quit,
            "reset": self._reset,
            "stop": self._stop,
            "switch": self._switch,
            "why": self._why,
        }
        run = commands.get(name)
        if run is None:
            from retinue.settings.keys import did_you_mean

            hint = did_you_mean(name, COMMANDS) or "."
            return _reaction(
                "problem",
                f"Unknown command /{one_line(name, 40)}{hint} Type /help for a list. "
                "To send a message that starts with a slash, type two slashes.",
            )
        return await run(argument)

    async def _help(self, argument: str) -> Reaction:
        del argument
        lines = [
            f"/{name} {hint}".ljust(20) + f" {summary}"
            for name, (hint, summary) in COMMANDS.items()
        ]
        return _reaction(
            "notice", "Send a message at any time to steer. Alt-Enter: new line.", *lines
        )

    async def _allow(self, argument: str) -> Reaction:
        return await self._decide(argument, is_allowed=True)

    async def _deny(self, argument: str) -> Reaction:
        return await self._decide(argument, is_allowed=False)

    async def _decide(self, note: str, *, is_allowed: bool) -> Reaction:
        request = self.asked
        if request is None:
            return _reaction("notice", "No pending requests in this conversation.")
        reply = await self.answers.decide(self.client, request, is_allowed=is_allowed, note=note)
        return _reaction("notice", reply)

    async def _later(self, argument: str) -> Reaction:
        del argument
        request = self.asked
        if request is not None:
            self.answers.postponed.add(request.id)
        return _reaction("notice", "The request stays pending. See: retinue permissions")

    async def _quit(self, argument: str) -> Reaction:
        del argument
        return Reaction(is_leaving=True)

    async def _stop(self, argument: str) -> Reaction:
        del argument
        return Reaction() if await self.stop() else _reaction("notice", "Nothing is running.")

    async def _reset(self, argument: str) -> Reaction:
        del argument
        await self.client.reset(self.agent.id)
        return Reaction()  # the history's own record of it is printed

    async def _compact(self, argument: str) -> Reaction:
        del argument
        if await self.client.compact(self.agent.id):
            return Reaction()
        return _reaction("notice", "Nothing to summarise yet.")

    async def _context(self, argument: str) -> Reaction:
        del argument
        detail = await self.client.agent(self.agent.id)
        used = detail.tokens
        calls = sum(stats.calls for models in detail.stats.values() for stats in models.values())
        if used is None:
            return _reaction("notice", "The context is empty: the model has not been called yet.")
        tokens = used.reported or used.estimated
        return _reaction(
            "notice",
            f"The last call to {used.model} used {tokens:,} tokens "
            f"({plural(calls, 'call')} so far). /compact frees up space.",
        )

    async def _why(self, argument: str) -> Reaction:
        message_id = argument or self.last_message
        if message_id is None:
            return _reaction("notice", "No message sent yet. Usage: /why MESSAGE")
        agent_id = None if argument else self.agent.id
        message = await self.client.message(message_id, agent_id=agent_id)
        return _reaction("notice", *timeline_of(message, SystemClock().now()))

    async def _new(self, argument: str) -> Reaction:
        name = chosen_definition(self.definitions, argument or self.agent.definition)
        self.agent = await new_conversation(self.client, name)
        return self._switched()

    async def _switch(self, argument: str) -> Reaction:
        if argument:
            self.agent = await self._other(argument)
            return self._switched()
        await self.learn_names()
        lines = [
            f"{other.id[:8]}  {other.definition}  " + one_line(other.name or other.title or "", 50)
            for other in self.others[:10]
        ]
        return _reaction("notice", "Usage: /switch AGENT. Recent conversations:", *lines)

    async def go_on_with(self, agent_id: str) -> Reaction:
        """Continue with the agent that the current one switched the user to."""
        self.came_from[agent_id] = self.agent.id
        return await self._switch(agent_id)

    async def _back(self, argument: str) -> Reaction:
        del argument
        home = self.came_from.pop(self.agent.id, None)
        if home is None:
            return _reaction("notice", "No agent switched you here. Use /switch AGENT instead.")
        await self.client.switch_back(home, leaving=self.agent.id)
        self.agent = await self.client.agent(home)
        return self._switched()

    async def _other(self, reference: str) -> AgentView:
        if any(definition.name == reference for definition in self.definitions):
            return await last_conversation(self.client, reference)
        return await find_agent(self.client, reference)

    def _switched(self) -> Reaction:
        self.attachments = []
        self.last_message = None
        self.asking = []
        return Reaction(is_switched=True)

    async def _attach(self, argument: str) -> Reaction:
        import asyncio

        if not argument:
            return _reaction("notice", "Usage: /attach PATH")
        name, data = await asyncio.to_thread(_read_file, argument)
        file = await self.client.upload(self.agent.id, f"/attachments/{name}", data)
        self.attachments.append(file)
        return _reaction("notice", f"Attached to the next message: {file.name} ({size(file.size)})")


def _read_file(written: str) -> tuple[str, bytes]:
    path = Path(written).expanduser()
    if not path.is_file():
        raise UsageError(f"{path} is not a file")
    if path.stat().st_size > _LARGEST_ATTACHMENT:
        raise UsageError(f"{path} is larger than {size(_LARGEST_ATTACHMENT)}")
    return path.name, path.read_bytes()
