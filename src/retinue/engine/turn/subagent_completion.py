"""What a parent is told when a run of its subagent ends: the result, or why there is none.

It is a post in the very commit that ends the run, on whatever path that is, and so it is sent once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from retinue.agents.children import ChildLifecycle, ChildTerms, ChildUpdate
from retinue.agents.inbox import WITHDRAWN, Answer, Item, ItemBody, Sender, Trail, is_final
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.lineage.family_tree import ending_of
from retinue.engine.lineage.parent_notices import status_post
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.subagents.file_copies import copy_files
from retinue.errors import RetinueError
from retinue.ids import new_item_id
from retinue.records import AssistantRecord, FileReference, RunRecord
from retinue.stores.port import FateChange, NewItem, Post, Store
from retinue.tools.port import FileTrees

_REASON = 300  # characters of it that a registry keeps
_LIMITS = frozenset({"max_session_turns", "max_steps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended."""

    is_success: bool
    text: str
    files: Sequence[FileReference] = ()
    is_ordered: bool = False  # somebody ended the agent

    @property
    def failure(self) -> str:
        """Why people see it as failed, in short."""
        return "" if self.is_success or self.is_ordered else " ".join(self.text.split())[:_REASON]

    def told(self, reference: str) -> str:
        what = "returned the following result" if self.is_success else "reported a failure"
        return f"Subagent (reference: {reference}) has {what}:\n\n{self.text}"


class Completions:
    """Turns the end of a subagent's run into what its parent hears of it."""

    def __init__(self, *, store: Store, trees: FileTrees, snapshots: TurnSnapshots) -> None:
        self._store = store
        self._trees = trees
        self._snapshots = snapshots

    async def posts(self, live: LiveAgent, terms: ChildTerms, draft: Draft) -> list[Post]:
        """The posts that belong to this draft; an agent for one run ends with that run."""
        is_over = live.state.turn is not None and draft.state.turn is None
        ended = _ended(live, terms, draft, is_over=is_over)
        if live.is_ended and not ended:
            return []  # what came too late for it
        is_over = is_over or any(_is_asked(item, terms) for item, _ in ended)
        posts: list[Post] = []
        if is_over and draft.state.turn is None and not terms.is_resumable:
            posts += await self._ending_with_it(live, draft)
        heard = [(item, change) for item, change in ended if change.reason != WITHDRAWN]
        if heard:
            ending = await self._ending(live, terms, draft, heard[0][1])
            posts += _told(live, terms, draft, [item for item, _ in heard], ending)
        elif is_over or draft.lifecycle is not None:
            posts.append(_status(live, terms, draft, _update(live, draft)))
        return posts

    async def _ending_with_it(self, live: LiveAgent, draft: Draft) -> list[Post]:
        if live.is_ended or draft.lifecycle is not None:
            return []
        draft.lifecycle = "terminated"
        children = await self._store.children(live.owner, live.id)
        return [ending_of(live.id, child, draft.at) for child in children]

    async def _ending(
        self, live: LiveAgent, terms: ChildTerms, draft: Draft, change: FateChange
    ) -> Ending:
        """What to tell; files are copied before the commit that tells of them."""
        record = next((r for r in draft.records if isinstance(r, RunRecord)), None)
        if record is None:
            return Ending(
                is_success=False,
                text=f"It ended without a result: {change.reason}.",
                is_ordered=change.reason == "terminated",
            )
        if record.code in _LIMITS and not self._ends_by_tool(live):
            return Ending(is_success=True, text=_last_words(live))
        paths = [file.path for file in record.files]
        cause = f"{live.id}/{record.seq}"
        copied = await copy_files(self._trees, paths, source=live.id, to=terms.parent, cause=cause)
        lost = [f"An attachment could not be handed over: {why}." for why in copied.problems]
        return Ending(
            is_success=record.outcome == "completed",
            text="\n".join([record.text, *lost]),
            files=copied.files,
        )

    def _ends_by_tool(self, live: LiveAgent) -> bool:
        """Whether only a tool gives this agent's runs a result."""
        try:
            snapshot = self._snapshots.peek(live.id, live.state.turn, live.definition)
            definition = snapshot.catalog.definition(live.definition)
        except RetinueError:
            return True
        sides = (definition.side_a, definition.side_b)
        return any(side is not None and side.has_terminal_binding for side in sides)


def _told(
    live: LiveAgent, terms: ChildTerms, draft: Draft, items: Sequence[Item], ending: Ending
) -> list[Post]:
    """An answer for every call that waits; for all the rest one message, if any is wanted."""
    waiting = [item for item in items if item.body.reply_to is not None]
    posts = [_outcome(live, terms, draft, item, ending) for item in waiting]
    others = [item for item in items if item.body.reply_to is None]
    if others and not terms.is_explicit:
        posts.append(_outcome(live, terms, draft, others[0], ending))
    if not posts:
        posts.append(_status(live, terms, draft, _update(live, draft, ending)))
    return posts


def _outcome(live: LiveAgent, terms: ChildTerms, draft: Draft, item: Item, ending: Ending) -> Post:
    waits = item.body.reply_to
    answer = None
    if waits is not None:
        named = f"\n\nReference of this subagent: {live.id}" if terms.is_resumable else ""
        status = "ok" if ending.is_success else "error"
        answer = Answer(call=waits.call, text=f"{ending.text}{named}", status=status)
    body = ItemBody(
        text=ending.told(live.id),
        sender=Sender(type="agent", id=live.id),
        files=list(ending.files),
        trail=_trail(live),
        answer=answer,
        about=item.id if answer is not None else None,
        to_side=terms.parent_side,
        child=_update(live, draft, ending),
    )
    new = NewItem(
        id=new_item_id(),
        kind="system" if answer is None else "answer",
        body=body,
        admitted_at=draft.at,
        dedupe_key=f"report/{item.id}",
    )
    return Post(to=terms.parent, item=new, owner=live.owner, is_optional=True)


def _status(live: LiveAgent, terms: ChildTerms, draft: Draft, update: ChildUpdate) -> Post:
    return status_post(live.id, live.owner, terms, draft.at, update)


def _ended(
    live: LiveAgent, terms: ChildTerms, draft: Draft, *, is_over: bool
) -> list[tuple[Item, FateChange]]:
    """The items that end here: those of a run that is over, and what its parent asked for."""
    run = live.turn_items() if is_over else ()
    found: list[tuple[Item, FateChange]] = []
    for change in draft.fates:
        item = live.item(change.item_id) if is_final(change.fate) else None
        if item is None or item.silent:
            continue
        if change.item_id in run or _is_asked(item, terms):
            found.append((item, change))
    return found


def _is_asked(item: Item, terms: ChildTerms) -> bool:
    return item.kind == "message" and item.body.sender.id == terms.parent


def _update(live: LiveAgent, draft: Draft, ending: Ending | None = None) -> ChildUpdate:
    lifecycle: ChildLifecycle = "idle" if ending is None or ending.is_success else "failed"
    if live.is_ended or draft.lifecycle is not None:
        lifecycle = "terminated"
    failure = ending.failure if ending is not None else ""
    return ChildUpdate(reference=live.id, lifecycle=lifecycle, failure=failure)


def _trail(live: LiveAgent) -> Trail:
    turn = live.state.turn
    hops = turn.trail.hops if turn is not None and turn.trail is not None else 0
    return Trail(hops=hops + 1)


def _last_words(live: LiveAgent) -> str:
    turn = live.state.turn
    first = turn.first_seq if turn is not None else 0
    for record in reversed(live.history.records):
        if record.seq < first:
            break
        if isinstance(record, AssistantRecord) and record.text.strip():
            return record.text
    return ""
