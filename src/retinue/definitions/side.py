"""A side of a conversation: its prompt, and the rules that end its turn or the run."""

from collections.abc import Iterator
from dataclasses import dataclass

from retinue.definitions.prompt import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionToolBinding:
    """A tool whose call ends a run or reports on it."""

    name: str
    message_property: str | None = None
    """argument that contains the text; default: the tool's result"""
    attachments_property: str | None = None
    """argument that contains paths of files"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One AI side: its prompt and its stop rules."""

    prompt: Prompt
    label: str | None = None
    stop_on_response: bool = True
    stop_tool: str | None = None
    stop_tool_response_property: str | None = None
    max_steps: int | None = None
    """per turn"""
    session_stop: SessionToolBinding | None = None
    session_fail: SessionToolBinding | None = None
    session_status: SessionToolBinding | None = None

    @property
    def is_plain(self) -> bool:
        """Whether only a text response ends its turn."""
        return (
            self.stop_on_response
            and self.stop_tool is None
            and self.max_steps is None
            and not self.has_terminal_binding
        )

    @property
    def has_terminal_binding(self) -> bool:
        return self.session_stop is not None or self.session_fail is not None

    def bound_tools(self) -> Iterator[tuple[str, str]]:
        """The tools that the stop rules name, each with the name of its field."""
        if self.stop_tool is not None:
            yield "stop_tool", self.stop_tool
        if self.session_stop is not None:
            yield "session_stop", self.session_stop.name
        if self.session_fail is not None:
            yield "session_fail", self.session_fail.name
        if self.session_status is not None:
            yield "session_status", self.session_status.name
