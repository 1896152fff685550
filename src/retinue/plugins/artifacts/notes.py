"""The plugin `notes`: texts in Markdown, with ids, tags, appending and exact edits."""

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
_AROUND = 40  # characters shown on either side of what was found


class Notes:
    """Operations on notes."""

    def __init__(self, desk: ArtifactRepository, opener: Opener) -> None:
        self._desk = desk
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_notes(
        self, ctx: OperationContext, tags: list[str] | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List the notes there are by title, without their texts.

        Args:
            tags: Only notes with all of these tags.
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        wanted = tags_of(tags or ())
        part, told = await self._desk.page(ctx.owner, "note", wanted, limit=limit, offset=offset)
        return {"notes": [brief(one) for one in part]} | told

    @operation(effect="pure", capabilities=READ)
    async def read(self, ctx: OperationContext, note: str) -> dict[str, Any]:
        """Read a note.

        Args:
            note: Its id or its title.
        """
        return {"note": shown((await self._desk.note(ctx.owner, note)).stored)}

    @operation(effect="pure", capabilities=READ)
    async def search(self, ctx: OperationContext, query: str, limit: int = 20) -> dict[str, Any]:
        """Find notes by words in their titles, texts and tags.

        Args:
            query: The words; each must be there, as a whole or as a part.
            limit: How many at most.
        """
        check_page(limit=limit)
        words = query.split()
        search = Search(owner=ctx.owner, words=words, kinds=["note"], limit=limit + 1)
        found = await self._desk.store.search(search)
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
        """Open a note in the person's window, so that they see it.

        Args:
            note: Its id or its title.
            panel_id: In which panel, as panels_list tells it; usually left out.
            window_id: In which window; the one with this conversation, or the last used one.
        """
        found = await self._desk.note(ctx.owner, note)
        return await open_for(self._opener, ctx, found.one, panel_id, window_id)

    @operation(effect="keyed", capabilities=WRITE)
    async def create(
        self, ctx: OperationContext, title: str, content: str = "", tags: list[str] | None = None
    ) -> dict[str, Any]:
        """Make a new note.

        Args:
            title: What it is called; no other note may be called the same.
            content: Its text, in Markdown.
            tags: Its tags.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            return ArtifactDraft(puts=[Put(artifact=_new(title, content, tags or [], now))])

        return outcome(await self._desk.change(ctx, "notes", "notes_create", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def write(
        self, ctx: OperationContext, note: str, content: str, tags: list[str] | None = None
    ) -> dict[str, Any]:
        """Write the whole text of a note anew; one of that title is made if there is none.

        Args:
            note: Its id or its title.
            content: Its text from now on, in Markdown.
            tags: All of its tags from now on; as they are if left out.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            try:
                found = await self._desk.note(ctx.owner, note)
            except NotFoundError:
                return ArtifactDraft(puts=[Put(artifact=_new(note, content, tags or [], now))])
            new = replace(
                found.one,
                content=bounded(content, LONGEST_CONTENT, "content"),
                tags=found.one.tags if tags is None else tags_of(tags),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._desk.change(ctx, "notes", "notes_write", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def append(self, ctx: OperationContext, note: str, content: str) -> dict[str, Any]:
        """Add to the end of a note, on a line of its own.

        Args:
            note: Its id or its title.
            content: What to add, in Markdown.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._desk.note(ctx.owner, note)
            before = found.one.content
            gap = "\n" if before and not before.endswith("\n") else ""
            text = bounded(before + gap + content, LONGEST_CONTENT, "content")
            return ArtifactDraft(puts=[found.put(replace(found.one, content=text, updated_at=now))])

        return outcome(await self._desk.change(ctx, "notes", "notes_append", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def edit(self, ctx: OperationContext, note: str, old: str, new: str) -> dict[str, Any]:
        """Replace a part of a note that occurs in it exactly once.

        Args:
            note: Its id or its title.
            old: The part, letter by letter, with enough around it that it is the only one.
            new: What stands there from now on; empty takes the part away.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._desk.note(ctx.owner, note)
            count = _occurrences(found.one.content, old)
            if count != 1:
                raise UsageError(
                    f"`old` occurs {count} times in the note, not once: "
                    + ("give more of what is around it" if count else "read the note and copy it"),
                    details={"field": "old", "count": count},
                )
            text = found.one.content.replace(old, clean_text(new))
            changed = replace(
                found.one, content=bounded(text, LONGEST_CONTENT, "content"), updated_at=now
            )
            return ArtifactDraft(puts=[found.put(changed)])

        return outcome(await self._desk.change(ctx, "notes", "notes_edit", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def update(
        self,
        ctx: OperationContext,
        note: str,
        title: str | None = None,
        add_tags: list[str] | None = None,
        remove_tags: list[str] | None = None,
    ) -> dict[str, Any]:
        """Rename a note, add tags to it, or take some away.

        Args:
            note: Its id or its title.
            title: A new title; the id stays.
            add_tags: Tags to add.
            remove_tags: Tags to take away.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._desk.note(ctx.owner, note)
            gone = set(tags_of(remove_tags or ()))
            tags = [*(one for one in found.one.tags if one not in gone), *(add_tags or ())]
            new = replace(
                found.one,
                title=found.one.title if title is None else title_of(title),
                tags=tags_of(tags),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._desk.change(ctx, "notes", "notes_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, note: str) -> dict[str, Any]:
        """Delete a note; notes_undo brings it back.

        Args:
            note: Its id or its title.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._desk.note(ctx.owner, note)).removal])

        return outcome(await self._desk.change(ctx, "notes", "notes_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Take back the last change of any note, or a given one; itself a change.

        Args:
            change: The id of the change, from its result or from notes_history.
        """
        return await undo(self._desk, ctx, "notes", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, note: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Tell what was changed in notes, by whom and when, the newest first.

        Args:
            note: Only this note.
            limit: How many changes.
        """
        about = (await self._desk.note(ctx.owner, note)).one.id if note else None
        return await history(self._desk, ctx.owner, "notes", about, limit)


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
    """Count the places where a part begins, also those that overlap."""
    count, at = 0, text.find(part) if part else -1
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


def _excerpt(content: str, words: list[str]) -> str:
    """Give a little of the text around the first word that is in it."""
    plain = folded(content)
    if len(plain) != len(content):  # letters were taken apart: places are not the same
        plain = content.lower()
    for word in map(folded, words):
        at = plain.find(word)
        if at >= 0:
            start, end = max(0, at - _AROUND), at + len(word) + _AROUND
            before, after = "…" if start else "", "…" if end < len(content) else ""
            return before + " ".join(content[start:end].split()) + after
    return ""
