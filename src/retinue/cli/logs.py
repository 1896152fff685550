"""Log output as text or JSON."""

import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_COLOURS = {logging.WARNING: "\x1b[33m", logging.ERROR: "\x1b[31m", logging.CRITICAL: "\x1b[31m"}
_RESET = "\x1b[0m"


def _facts(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


class HumanFormatter(logging.Formatter):
    """One line: time, level, logger, message and extra fields."""

    def __init__(self, *, is_coloured: bool) -> None:
        super().__init__()
        self._is_coloured = is_coloured

    def format(self, record: logging.LogRecord) -> str:
        from retinue.cli.output import safe

        at = datetime.fromtimestamp(record.created, UTC).astimezone()
        message = record.getMessage()
        facts = "".join(
            f" {name}={value}"
            for name, value in _facts(record).items()
            if value not in (None, "", False) and str(value) not in message
        )
        where = record.name.removeprefix("retinue.")
        text = f"{record.levelname.lower():<7} {where}: {message}{facts}"
        line = f"{at:%H:%M:%S} {' '.join(safe(text).split(chr(10)))}"
        colour = _COLOURS.get(record.levelno) if self._is_coloured else None
        if colour:
            line = f"{colour}{line}{_RESET}"
        # Only a traceback takes more than one line.
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_facts(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def keep_quiet() -> None:
    """Suppress log output: a command reports problems in its result."""
    logging.getLogger().addHandler(logging.NullHandler())


@contextmanager
def without(name: str) -> Generator[None]:
    """Silence a logger meanwhile, because its messages are reported in another way."""
    logger = logging.getLogger(name)
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def set_up_logs(*, is_json: bool, is_debug: bool) -> None:
    """Send log lines to stderr."""
    import os

    handler = logging.StreamHandler(sys.stderr)
    is_coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    handler.setFormatter(JsonFormatter() if is_json else HumanFormatter(is_coloured=is_coloured))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("retinue").setLevel(logging.DEBUG if is_debug else logging.INFO)
