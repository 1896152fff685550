"""Copies files from one agent's tree to another's, under new names.

A copy is made before the commit of the message that refers to it: a crash in between leaves an
unused file, never a message without its file. The same cause gives the same names, so a retry
leaves no extra files.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from retinue.errors import RetinueError, StoreFullError
from retinue.ids import AgentId
from retinue.records import FileReference
from retinue.tools.port import FileTrees

_ODD = re.compile(r"[^\w.-]+")
_LONGEST_STEM = 64


class Copied:
    """The copied files, and the errors of those that could not be copied."""

    def __init__(self) -> None:
        self.files: list[FileReference] = []
        self.problems: list[str] = []


async def copy_files(
    trees: FileTrees, paths: Sequence[str], *, source: AgentId, to: AgentId, cause: str
) -> Copied:
    """Copy each file once; a missing file, a link or a path outside the tree is a problem."""
    copied = Copied()
    for path in dict.fromkeys(paths):
        try:
            data = await trees.tree(source).read(path)
            new = local_path(path, f"{cause}/{source}/{path}")
            copied.files.append(await trees.tree(to).write(new, data))
        except StoreFullError:
            raise
        except RetinueError as error:
            copied.problems.append(error.message)
    return copied


def local_path(path: str, cause: str) -> str:
    """The path of the copy: the sanitized old name with a suffix unique to the cause."""
    name = PurePosixPath(path)
    stem = _ODD.sub("-", name.stem)[:_LONGEST_STEM].strip("-.") or "file"
    suffix = _ODD.sub("", name.suffix)[:16]
    return f"/attachments/{stem}-{hashlib.sha256(cause.encode()).hexdigest()[:8]}{suffix}"
