"""Words for what went wrong: one or two lines that say what to do, or a traceback on demand."""

import errno
import json
import sys
from collections.abc import Mapping

from retinue.errors import RetinueError

_ADVICE = {
    errno.ENOSPC: "the disk is full: make room and try again",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "not allowed: check its owner and mode",
    errno.EPERM: "not allowed: check its owner and mode",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.EISDIR: "it is a directory",
    errno.ENOENT: "there is no such file",
    errno.EMFILE: "too many open files: raise `ulimit -n`",
}


def report(error: Exception, *, is_json: bool, is_debug: bool) -> int:
    """Write the error to stderr and give the exit code."""
    if is_debug:
        import traceback

        traceback.print_exception(error)
    code, message, details = describe(error)
    write_error(code, message, details, is_json=is_json)
    return 1


def describe(error: Exception) -> tuple[str, str, Mapping[str, object]]:
    """Give the stable code, the words and the details."""
    match error:
        case RetinueError():
            return error.code, error.message, error.details
        case OSError():
            why = _ADVICE.get(error.errno or 0) or error.strerror or str(error)
            where = str(error.filename) if error.filename else "the system said"
            return "system", f"{where}: {why}", {}
        case ModuleNotFoundError():
            message = f"{error.name!r} is missing from this installation: install Retinue again"
            return "installation", message, {}
        case _:
            message = (
                f"this should not happen: {type(error).__name__}: {error}\n"
                "Run it again with --debug to see where, and report it with that output."
            )
            return "internal", message, {}


def write_error(code: str, message: str, details: Mapping[str, object], *, is_json: bool) -> None:
    """Write one error in the form that was asked for."""
    if is_json:
        body: dict[str, object] = {"code": code, "message": message}
        if details:
            body["details"] = dict(details)
        sys.stderr.write(json.dumps({"error": body}, default=str, ensure_ascii=False) + "\n")
        return
    from retinue.cli.output import safe

    first, *more = safe(message).strip().split("\n")
    lines = [f"retinue: {first}", *(f"  {line}" for line in more)]
    sys.stderr.write("\n".join(map(_folded, lines)) + "\n")


def _folded(line: str) -> str:
    """Break a line between words where a terminal would break it anywhere."""
    if not sys.stderr.isatty():
        return line
    import shutil
    import textwrap

    columns = shutil.get_terminal_size().columns
    return textwrap.fill(
        line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
