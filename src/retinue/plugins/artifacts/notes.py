"""The operations of the `notes` plugin."""

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from retinue.agents.artifact import ArtifactId, Note, folded
from retinue.errors import NotFoundError, UsageError
from retinue.ids import new_id
from retinue.plugins.artifacts.presentation import brief, check_page, outcome, shown
from retinue.plugins.artifacts.repository import ArtifactDraft, ArtifactRepository
from retinue.plugins.artifacts.show_operation import SHOWING, Opener, open_for
from retinue.plugins.artifacts.undo import history, undo
from retinue.plugins.artifacts.validation import LONGEST_CONTENT, bounded, tags_of, title_of
from retinue.plugins.operation_function import operation
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import Put, Search
from retinue.text import clean_text

READ, WRITE = ["notes.read"], ["notes.write"]
_AROUND = 40  # characters shown on both sides of a match


class Notes:
    """Operations on notes."""

    def __init__(self, repository: ArtifactRepository, opener: Opener) -> None:
        self._repository = repository
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_notes(
        self, ctx: OperationContext, tags: list[str] | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List all notes by title, without their content.

        Args:
            tags: Show only notes that have all of these tags.
            limit: Maximum number of results.
            offset: Number of results to skip.
        """
        wanted = tags_of(tags or ())
        part, info = await self._repository.page(
            ctx.owner, "note", wanted, limit=limit, offset=offset
        )
        return {"notes": [brief(one) for one in part]} | info

    @operation(effect="pure", capabilities=READ)
    async def read(self, ctx: OperationContext, note: str) -> dict[str, Any]:
        """Read a note.

        Args:
            note: The id or title of the note.
        """
        return {"note": shown((await self._repository.note(ctx.owner, note)).stored)}

    @operation(effect="pure", capabilities=READ)
    async def search(self, ctx: OperationContext, query: str, limit: int = 20) -> dict[str, Any]:
        """Search notes by words in titles, content and tags.

        Args:
            query: Words that must all occur, whole or in part.
            limit: Maximum number of results.
        """
        check_page(limit=limit)
        words = query.split()
        search = Search(owner=ctx.owner, words=words, kinds=["note"], limit=limit + 1)
        found = await self._repository.store.search(search)
        notes = [
            brief(one) | {"found": _excerpt(one.artifact.content, words)}
            for one in found[:limit]
            if isinstance(one.artifact, Note)
        ]
        more = {"more": f"only the first {limit} are shown"} if len(found) > limit else {}
        return {"notes": notes} | more

    @operation(effect="keyed", capabilities=[*READ, SHOWING])
    async def show(
        self,
        ctx: OperationContext,
        note: str,
        panel_id: str | None = None,
        window_id: str | None = None,
    ) -> dict[str, Any]:
        """Open a note in the person's window.

        Args:
            note: The id or title of the note.
            panel_id: The panel to use, from panels_list; usually omitted.
            window_id: The window to use; default: the one with this conversation or last active.
        """
        found = await self._repository.note(ctx.owner, note)
        return await open_for(self._opener, ctx, found.one, panel_id, window_id)

    @operation(effect="keyed", capabilities=WRITE)
    async def create(
        self, ctx: OperationContext, title: str, content: str = "", tags: list[str] | None = None
    ) -> dict[str, Any]:
        """Create a note.

        Args:
            title: A unique title.
            content: The content in Markdown.
            tags: Tags of the note.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            return ArtifactDraft(puts=[Put(artifact=_new(title, content, tags or [], now))])

        return outcome(await self._repository.change(ctx, "notes", "notes_create", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def write(
        self, ctx: OperationContext, note: str, content: str, tags: list[str] | None = None
    ) -> dict[str, Any]:
        """Replace the whole content of a note; creates the note if it does not exist.

        Args:
            note: The id or title of the note.
            content: The new content in Markdown.
            tags: The new tags; omit to keep the existing ones.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            try:
                found = await self._repository.note(ctx.owner, note)
            except NotFoundError:
                return ArtifactDraft(puts=[Put(artifact=_new(note, content, tags or [], now))])
            new = replace(
                found.one,
                content=bounded(content, LONGEST_CONTENT, "content"),
                tags=found.one.tags if tags is None else tags_of(tags),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._repository.change(ctx, "notes", "notes_write", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def append(self, ctx: OperationContext, note: str, content: str) -> dict[str, Any]:
        """Append to a note, starting on a new line.

        Args:
            note: The id or title of the note.
            content: The Markdown text to add.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._repository.note(ctx.owner, note)
            before = found.one.content
            gap = "\n" if before and not before.endswith("\n") else ""
            text = bounded(before + gap + content, LONGEST_CONTENT, "content")
            return ArtifactDraft(puts=[found.put(replace(found.one, content=text, updated_at=now))])

        return outcome(await self._repository.change(ctx, "notes", "notes_append", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def edit(self, ctx: OperationContext, note: str, old: str, new: str) -> dict[str, Any]:
        """Replace a text in a note that occurs exactly once.

        Args:
            note: The id or title of the note.
            old: The exact text to replace, with enough context to be unique.
            new: The replacement; empty to delete the text.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._repository.note(ctx.owner, note)
            count = _occurrences(found.one.content, old)
            if count != 1:
                raise UsageError(
                    f"`old` must occur exactly once in the note, but occurs {count} times: "
                    + ("include more context" if count else "read the note and copy the text"),
                    details={"field": "old", "count": count},
                )
            text = found.one.content.replace(old, clean_text(new))
            changed = replace(
                found.one, content=bounded(text, LONGEST_CONTENT, "content"), updated_at=now
            )
            return ArtifactDraft(puts=[found.put(changed)])

        return outcome(await self._repository.change(ctx, "notes", "notes_edit", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def update(
        self,
        ctx: OperationContext,
        note: str,
        title: str | None = None,
        add_tags: list[str] | None = None,
        remove_tags: list[str] | None = None,
    ) -> dict[str, Any]:
        """Rename a note, or add and remove tags.

        Args:
            note: The id or title of the note.
            title: The new title; the id stays the same.
            add_tags: Tags to add.
            remove_tags: Tags to remove.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._repository.note(ctx.owner, note)
            gone = set(tags_of(remove_tags or ()))
            tags = [*(one for one in found.one.tags if one not in gone), *(add_tags or ())]
            new = replace(
                found.one,
                title=found.one.title if title is None else title_of(title),
                tags=tags_of(tags),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._repository.change(ctx, "notes", "notes_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, note: str) -> dict[str, Any]:
        """Delete a note; notes_undo restores it.

        Args:
            note: The id or title of the note.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._repository.note(ctx.owner, note)).removal])

        return outcome(await self._repository.change(ctx, "notes", "notes_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Undo the last change to any note, or a specific change.

        Args:
            change: The id of a change, from its result or from notes_history.
        """
        return await undo(self._repository, ctx, "notes", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, note: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Show the history of changes to notes, newest first.

        Args:
            note: Show only changes to this note.
            limit: Maximum number of changes.
        """
        about = (await self._repository.note(ctx.owner, note)).one.id if note else None
        return await history(self._repository, ctx.owner, "notes", about, limit)


def _new(title: str, content: str, tags: list[str], now: datetime) -> Note:
    return Note(
        id=ArtifactId(new_id("n")),
        title=title_of(title),
        content=bounded(content, LONGEST_CONTENT, "content"),
        tags=tags_of(tags),
        created_at=now,
        updated_at=now,
    )


def _occurrences(text: str, part: str) -> int:
    """Count the occurrences, including overlapping ones."""
    count, at = 0, text.find(part) if part else -1
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


def _excerpt(content: str, words: list[str]) -> str:
    """Return the text around the first word that occurs."""
    plain = folded(content)
    if len(plain) != len(content):  # positions differ, since characters were decomposed
        plain = content.lower()
    for word in map(folded, words):
        at = plain.find(word)
        if at >= 0:
            start, end = max(0, at - _AROUND), at + len(word) + _AROUND
            before, after = "…" if start else "", "…" if end < len(content) else ""
            return before + " ".join(content[start:end].split()) + after
    return ""
