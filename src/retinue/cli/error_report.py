"""Reports errors in one or two lines that say what to do, with a traceback on request."""

import errno
import json
import sys
from collections.abc import Mapping

from retinue.errors import RetinueError

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and try again",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied: check its owner and mode",
    errno.EPERM: "permission denied: check its owner and mode",
    errno.ENOTDIR: "part of the path is a file, not a directory",
    errno.EISDIR: "is a directory",
    errno.ENOENT: "no such file",
    errno.EMFILE: "too many open files: raise `ulimit -n`",
}


def report(error: Exception, *, is_json: bool, is_debug: bool) -> int:
    """Write the error to stderr and return the exit code."""
    if is_debug:
        import traceback

        traceback.print_exception(error)
    code, message, details = describe(error)
    write_error(code, message, details, is_json=is_json)
    return 1


def describe(error: Exception) -> tuple[str, str, Mapping[str, object]]:
    """Return the stable code, the message and the details."""
    match error:
        case RetinueError():
            return error.code, error.message, error.details
        case OSError():
            why = _ADVICE.get(error.errno or 0) or error.strerror or str(error)
            where = str(error.filename) if error.filename else "system error"
            return "system", f"{where}: {why}", {}
        case ModuleNotFoundError():
            message = f"the Python module {error.name!r} is not installed: reinstall Retinue"
            return "installation", message, {}
        case _:
            message = (
                f"unexpected error: {type(error).__name__}: {error}\n"
                "Run the command again with --debug, and report the output."
            )
            return "internal", message, {}


def write_error(code: str, message: str, details: Mapping[str, object], *, is_json: bool) -> None:
    """Write one error as text or JSON."""
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
    """Wrap a line between words if stderr is a terminal."""
    if not sys.stderr.isatty():
        return line
    import shutil
    import textwrap

    columns = shutil.get_terminal_size().columns
    return textwrap.fill(
        line, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
