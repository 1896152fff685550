"""Parses TOML and reports the line of a syntax error."""

import re
import tomllib
from collections.abc import Mapping

_PLACE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


class TomlError(ValueError):
    """The text is not valid TOML; has the reason and the line."""

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def parse_toml(text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        place = _PLACE.search(message)
        if place is None:
            raise TomlError(message, None) from error
        line = int(place["line"]) if place["line"] else len(text.splitlines())
        raise TomlError(message[: place.start()], line) from error
