"""Files that go from one agent's tree to another's, under new names of their own.

A copy is made before the commit of the message that names it: a crash in between leaves a file that
nobody knows of, never a message without its file. The same cause gives the same names, so that a
second try leaves nothing behind either.
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
    """What arrived, and in words what did not."""

    def __init__(self) -> None:
        self.files: list[FileReference] = []
        self.problems: list[str] = []


async def copy_files(
    trees: FileTrees, paths: Sequence[str], *, source: AgentId, to: AgentId, cause: str
) -> Copied:
    """Copy each file once; one that is missing, a link, or outside of the tree is a problem."""
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
    """Where the copy goes: its old name, made plain, and a part that no other cause gives."""
    name = PurePosixPath(path)
    stem = _ODD.sub("-", name.stem)[:_LONGEST_STEM].strip("-.") or "file"
    suffix = _ODD.sub("", name.suffix)[:16]
    return f"/attachments/{stem}-{hashlib.sha256(cause.encode()).hexdigest()[:8]}{suffix}"
