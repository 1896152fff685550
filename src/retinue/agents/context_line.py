"""The line that a client puts before a person's message: for the model, not for people.

It is a part of the message like any other and gives no rights; whoever types one has written the
same. It is only parsed in order to be left out where people read. Only a line that is such a tag
and nothing else is: no words of a person are hidden with it.
"""

import re

from retinue.ids import is_agent_id

_LINE = re.compile(
    r"""\A<context(?:[ \t]+[A-Za-z][\w-]*="[^"\n]*")*[ \t]*/>[ \t]*(?:\r?\n|\Z)""", re.ASCII
)


def without_context_line(text: str) -> str:
    """The message as people see it."""
    return _LINE.sub("", text, count=1) if text.startswith("<context") else text


def seen_text(text: str, sender: str) -> str:
    """The same, for any sender: agents have no window, so what they write is shown whole."""
    return text if is_agent_id(sender) else without_context_line(text)


def has_context_line(text: str) -> bool:
    return text.startswith("<context") and _LINE.match(text) is not None
