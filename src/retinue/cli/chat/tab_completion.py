"""Tab completion for slash commands, definitions, conversations and file paths."""

from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from retinue.cli.chat.chat_session import COMMANDS, ChatSession
from retinue.cli.output import one_line

_SHORT_ID = 8


class ChatCompleter(Completer):
    """Completes slash commands and their arguments; plain text is left alone."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        if not line.startswith("/") or "\n" in line:
            return
        name, separator, argument = line[1:].partition(" ")
        if not separator:
            yield from _matching(name, ((each, COMMANDS[each][1]) for each in COMMANDS))
        elif name == "attach":
            yield from self._paths.get_completions(Document(argument), complete_event)
        elif name == "new":
            yield from _matching(argument, self._definitions())
        elif name == "switch":
            yield from _matching(argument, [*self._definitions(), *self._agents()])

    def _definitions(self) -> list[tuple[str, str]]:
        return [(each.name, one_line(each.description, 40)) for each in self._session.definitions]

    def _agents(self) -> list[tuple[str, str]]:
        return [
            (
                one_line(agent.name, 60) if agent.name else agent.id[:_SHORT_ID],
                f"{agent.definition} {one_line(agent.last_snippet or '', 40)}",
            )
            for agent in self._session.others
        ]


def _matching(begun: str, known: Iterable[tuple[str, str]]) -> Iterable[Completion]:
    for text, meta in known:
        if text.casefold().startswith(begun.casefold()):
            yield Completion(text, start_position=-len(begun), display_meta=meta)
