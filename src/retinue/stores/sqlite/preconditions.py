"""Checks that run before an operation changes anything."""

from collections.abc import Iterable, Sequence

from retinue.agents.command import reaches_ended_agents
from retinue.agents.descriptor import Descriptor, identity_of
from retinue.agents.inbox import Item, is_final
from retinue.errors import (
    BusyError,
    ConflictError,
    FencedError,
    NotFoundError,
    StoreDamagedError,
    StoreError,
    TerminatedError,
    UsageError,
)
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Commit, NewAgent, Post
from retinue.stores.sqlite.writer_cache import CachedAgent, WriterCache

Claims = dict[tuple[OwnerId, str], tuple[AgentId, str]]
"""The agent and digest that an owner's key refers to."""


class KnownKeys:
    """Dedupe keys in use, limited to those a group refers to."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], tuple[Item, str]] = {}

    def take(self, owner: str, key: str, item: Item, digest: str) -> None:
        self._taken[owner, key] = (item, digest)

    def first(self, owner: str, key: str | None) -> tuple[Item, str] | None:
        return None if key is None else self._taken.get((owner, key))


class Checks:
    """Raises errors for the caller; changes nothing."""

    def __init__(self, warm: WriterCache, keys: KnownKeys) -> None:
        self._warm = warm
        self._keys = keys

    def existing(self, agent_id: AgentId, owner: OwnerId | None = None) -> CachedAgent:
        entry = self._warm.get(agent_id)
        if entry is None or (owner is not None and entry.owner != owner):
            reason = self._warm.why_aside(agent_id, "", "")
            if entry is None and reason is not None:
                raise StoreDamagedError(f"the agent {agent_id!r} is set aside: {reason}")
            raise NotFoundError(f"there is no agent {agent_id!r}")
        return entry

    def deletable(self, agent_id: AgentId, owner: OwnerId) -> CachedAgent:
        entry = self.existing(agent_id, owner)
        if any(held.item.is_delegated for held in entry.open.values()):
            raise ConflictError(f"other agents wait for {agent_id!r}: end it before you delete it")
        return entry

    def commit(self, entry: CachedAgent, commit: Commit) -> None:
        for new in commit.effects.redescribed:
            holder = self.existing(new.agent_id, new.owner)
            self._redescription(holder, new.descriptor)
        if entry.epoch != commit.epoch:
            raise FencedError(
                f"another runner has claimed the agent {entry.id!r} (epoch {entry.epoch}, "
                f"not {commit.epoch})"
            )
        expected = entry.next_seq
        for record in commit.records:
            if record.seq != expected:
                raise StoreError(
                    f"the next record of {entry.id!r} must have seq {expected}, not {record.seq}"
                )
            expected += 1
        decided: set[str] = set()
        begun = None if commit.begins is None else commit.begins.item.id
        for change in commit.fates:
            is_open = change.item_id in entry.open or change.item_id == begun
            if not is_open or change.item_id in decided:
                raise ConflictError(f"item {change.item_id!r} of {entry.id!r} is not open")
            if is_final(change.fate):
                decided.add(change.item_id)

    def _redescription(self, entry: CachedAgent, descriptor: Descriptor) -> None:
        """A permanent agent's name is its identity, so a new name must be free."""
        if entry.lifecycle != "active":
            raise TerminatedError(f"the agent {entry.id!r} has ended")
        holder = self._warm.find(entry.owner, identity_of(descriptor))
        if holder is not None and holder is not entry:
            raise ConflictError(f"another agent already has that name: {holder.id}")

    def taken(self, posts: Iterable[tuple[Post, bytes]]) -> list[tuple[Post, bytes]]:
        """Leave out notices whose target cannot receive them."""
        return [one for one in posts if not one[0].is_optional or self._can_take(one[0])]

    def _can_take(self, post: Post) -> bool:
        """Whether the target of a notice still exists and is active."""
        if isinstance(post.to, NewAgent):
            return True
        entry = self._warm.get(post.to)
        return entry is not None and entry.owner == post.owner and entry.lifecycle == "active"

    def targets(self, creates: Sequence[NewAgent], posts: Sequence[Post]) -> None:
        created: set[str] = set()
        for new in creates:
            self.new_agent(new)
            found = self._warm.find(new.owner, identity_of(new.descriptor))
            if found is None:
                created.add(new.id)
            elif found.kind == "permanent":
                raise ConflictError(f"a permanent agent with that name already exists: {found.id}")
        keys: Claims = {}
        for post in posts:
            self.post(post, keys, created)

    def post(self, post: Post, keys: Claims, created: set[str]) -> None:
        to, item = post.to, post.item
        if isinstance(to, NewAgent):
            self.new_agent(to)
            entry = self._warm.find(to.owner, identity_of(to.descriptor))
            target = entry.id if entry is not None else to.id
        elif to in created:
            entry, target = None, to
        else:
            entry, target = self.existing(to, post.owner), to
        key = item.dedupe_key
        if key is not None:
            if "\x00" in key:
                raise UsageError("a key cannot contain a NUL character: use another key")
            first = self._keys.first(post.owner, key)
            claim = keys.get((post.owner, key)) if first is None else (first[0].agent_id, first[1])
            if claim is not None:
                if claim != (target, item.digest):
                    raise ConflictError(
                        f"the key {key!r} was used for another message: use a new key",
                        details={"key": key},
                    )
                return
            keys[post.owner, key] = (target, item.digest)
        is_taken = reaches_ended_agents(item.body.command)
        if entry is not None and entry.lifecycle != "active" and not is_taken:
            raise TerminatedError(f"the agent {entry.id!r} has ended and accepts no messages")

    def first_in_line(self, entry: CachedAgent, post: Post) -> None:
        """Refuse to begin an item while others are open; a repeat begins nothing and is allowed."""
        if entry.open and self._keys.first(post.owner, post.item.dedupe_key) is None:
            raise BusyError(f"other items are waiting for {entry.id!r}")

    def new_agent(self, new: NewAgent) -> None:
        reason = self._warm.why_aside(new.id, new.owner, identity_of(new.descriptor))
        if reason is not None:
            raise StoreDamagedError(f"this agent is set aside: {reason}")
        taken = self._warm.get(new.id)
        if taken is not None and (
            taken.owner != new.owner or taken.identity != identity_of(new.descriptor)
        ):
            raise ConflictError(f"the agent {new.id!r} already exists")
