"""Tools for an agent's own files."""

from collections.abc import Sequence
from typing import Any

from retinue.errors import NotFoundError, UsageError
from retinue.records import FileReference
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext, ToolOutput, Verified

_MOST_ENTRIES = 1_000
_MOST_LINES = 2_000


@tool(effect="pure", capabilities=["files.read"])
async def files_list(ctx: ToolContext, path: str = "/", recursive: bool = False) -> str:
    """List the files in a folder of your own file tree, with their sizes.

    Args:
        path: The folder, such as /notes.
        recursive: Also list everything in the folders below it.
    """
    entries = await ctx.files.list(path, recursive=recursive)
    if not entries:
        return f"No files in {path}."
    lines = [_entry(entry) for entry in entries[:_MOST_ENTRIES]]
    if len(entries) > _MOST_ENTRIES:
        lines.append(f"[{len(entries) - _MOST_ENTRIES} more entries; list a subfolder]")
    return "\n".join(lines)


def _entry(entry: FileReference) -> str:
    return f"{entry.path}  {entry.size} bytes  {entry.mime_type}"


@tool(effect="pure", capabilities=["files.read"])
async def files_read(ctx: ToolContext, path: str, offset: int = 1, limit: int = _MOST_LINES) -> str:
    """Read a text file of your own file tree.

    Args:
        path: The file, such as /notes/plan.md.
        offset: The first line to read; 1 is the first of the file.
        limit: Maximum number of lines to read.
    """
    if offset < 1 or limit < 1:
        raise UsageError("'offset' and 'limit' must be 1 or more.")
    text = await _text(ctx, path)
    lines = text.splitlines(keepends=True)
    if not lines:
        return f"{path} is empty."
    if offset > len(lines):
        raise UsageError(f"{path} has {len(lines)} lines; there is no line {offset}.")
    shown = lines[offset - 1 : offset - 1 + limit]
    last = offset - 1 + len(shown)
    if offset == 1 and last == len(lines):
        return text
    return f"{''.join(shown).rstrip(chr(10))}\n[lines {offset} to {last} of {len(lines)}]"


# Keyed rather than pure: repeating it changes nothing, but pure calls may run in parallel.
@tool(effect="keyed", capabilities=["files.write"])
async def files_write(ctx: ToolContext, path: str, content: str) -> str:
    """Write a text file of your own file tree; an existing one is replaced.

    Args:
        path: The file, such as /notes/plan.md; missing folders are created.
        content: The complete text.
    """
    file = await ctx.files.write(path, content.encode())
    return f"Wrote {file.path} ({file.size} bytes)."


@tool(effect="once", capabilities=["files.write"])
async def files_append(ctx: ToolContext, path: str, content: str) -> str:
    """Append text to a file of your own file tree; it is created if it does not exist.

    Args:
        path: The file, such as /notes/log.md.
        content: The text to append, exactly as given; start with a newline if you need one.
    """
    file = await ctx.files.append(path, content.encode())
    return f"Appended to {file.path} ({file.size} bytes in total)."


@tool(effect="verifiable", capabilities=["files.write"])
async def files_edit(ctx: ToolContext, path: str, old: str, new: str) -> str:
    """Replace one piece of text in a file of your own file tree.

    Args:
        path: The file, such as /notes/plan.md.
        old: The text to replace, exactly as in the file; it must occur exactly once.
        new: The replacement; empty to remove the text.
    """
    if not old or old == new:
        raise UsageError("'old' must not be empty, and 'new' must be different.")
    text = await _text(ctx, path)
    count = _occurrences(text, old)
    if count == 0:
        raise UsageError(
            f"'old' does not occur in {path}: read the file and copy the text exactly."
        )
    if count > 1:
        raise UsageError(
            f"'old' occurs {count} times in {path}: include more text so that it is unique."
        )
    file = await ctx.files.write(path, text.replace(old, new).encode())
    return f"Edited {file.path} ({file.size} bytes)."


@files_edit.check
async def _edited(ctx: ToolContext, path: str, old: str, new: str) -> Verified:
    text = await _text(ctx, path)
    if _occurrences(text, old) == 0 and new in text:
        return Verified(happened=True, output=ToolOutput(text=f"Edited {path}."))
    if _occurrences(text, old) == 1 and (not new or new not in text):
        return Verified(happened=False)
    raise UsageError(f"{path} looks the same before and after this edit.")


@tool(effect="verifiable", capabilities=["files.write"])
async def files_delete(ctx: ToolContext, path: str) -> str:
    """Delete a file of your own file tree.

    Args:
        path: The file, such as /notes/old.md.
    """
    await ctx.files.delete(path)
    return f"Deleted {path}."


@files_delete.check
async def _deleted(ctx: ToolContext, path: str) -> Verified:
    try:
        await ctx.files.stat(path)
    except NotFoundError:
        return Verified(happened=True, output=ToolOutput(text=f"Deleted {path}."))
    return Verified(happened=False)


FILE_TOOLS: Sequence[FunctionTool[..., Any]] = (
    files_list,
    files_read,
    files_write,
    files_append,
    files_edit,
    files_delete,
)


async def _text(ctx: ToolContext, path: str) -> str:
    data = await ctx.files.read(path)
    try:
        if b"\x00" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise UsageError(f"{path} is not a text file ({len(data)} bytes).")


def _occurrences(text: str, part: str) -> int:
    """Count occurrences, including overlapping ones: `aa` in `aaa` is ambiguous."""
    count, position = 0, text.find(part)
    while position >= 0 and count < 100:
        count += 1
        position = text.find(part, position + 1)
    return count
