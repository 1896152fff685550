"""Admission of commands: they are stored first, and answered when they have a fate."""

from retinue.agents.command import UNCHANGED, Command, interrupts, name_of
from retinue.agents.inbox import Item, Sender, is_final
from retinue.clock import Clock
from retinue.engine.agent.agent_cache import AgentCache
from retinue.engine.feed.disk_full import DiskFullGate
from retinue.engine.feed.outcomes import Outcomes, Waiter
from retinue.engine.rules.messages import checked_key
from retinue.errors import BusyError, RetinueError, StoreFullError, error_of
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Post, Receipt, Store, command_item

_STORED = "the command is stored and will run"


class CommandAdmission:
    """Admits commands and waits for their fates; a caller that stops waiting changes nothing."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        outcomes: Outcomes,
        *,
        disk: DiskFullGate,
        live: AgentCache,
    ) -> None:
        self._store = store
        self._clock = clock
        self._outcomes = outcomes
        self._disk = disk
        self._live = live
        self._is_closed = False
        self._listening: set[tuple[AgentId, Waiter]] = set()
        disk.on_refused = self._refused

    async def give(
        self, owner: OwnerId, agent_id: AgentId, command: Command, *, key: str | None = None
    ) -> bool:
        """Store a command and wait for its fate; False if there was nothing to do.

        A repeated key returns the result of the first command. Raises `StoreFullError` while
        nothing can be stored, and `BusyError` when the process stops; a command stored by then runs
        after the next start.
        """
        if self._is_closed:
            raise BusyError("the server is stopping and accepts no commands; try again later")
        await self._store.agent(owner, agent_id)  # raises if it belongs to someone else
        sender = Sender(type="user", id=owner)
        now, key = self._clock.now(), checked_key(key)
        item = command_item(command, sender, now, text=name_of(command), key=key)
        with self._outcomes.listening(item.id) as waiter:
            receipt = await self._admit(Post(to=agent_id, item=item, owner=owner))
            if not receipt.is_repeat:
                return _result(await self._fate(agent_id, waiter))
        with self._outcomes.listening(receipt.item.id) as waiter:
            first, _ = await self._store.item(owner, receipt.item.id)
            ended = first if is_final(first.fate) else await self._fate(agent_id, waiter)
            return _result(ended)

    async def _admit(self, post: Post) -> Receipt:
        try:
            await self._disk.check()
            return await self._store.admit(post)
        except StoreFullError as error:
            self._disk.refused(error)
            live = self._live.get(AgentId(str(post.to)))
            if live is not None and interrupts(post.item.body.command):
                live.interrupt()  # the turn continues when there is room
            raise

    async def _fate(self, agent_id: AgentId, waiter: Waiter) -> Item:
        if self._is_closed:
            raise _stopping()
        entry = (agent_id, waiter)
        self._listening.add(entry)
        try:
            ended = await waiter
        finally:
            self._listening.discard(entry)
        assert ended is not None  # no time limit was set
        return ended.item

    def close(self) -> None:
        """Accept no more commands, and answer all callers that still wait."""
        self._is_closed = True
        self._answer(_stopping())

    def lost(self, agent_id: AgentId, error: RetinueError) -> None:
        """Answer the callers of an agent that another process has claimed."""
        self._answer(error, agent_id)

    def _refused(self, error: StoreFullError) -> None:
        self._answer(StoreFullError(f"{error.message}; {_STORED} when there is room"))

    def _answer(self, error: RetinueError, agent_id: AgentId | None = None) -> None:
        for of_agent, waiter in self._listening:
            if agent_id in (None, of_agent) and not waiter.done():
                waiter.set_exception(error)


def _stopping() -> BusyError:
    return BusyError(f"the server is stopping; {_STORED} after the next start at the latest")


def _result(item: Item) -> bool:
    match item.fate:
        case "answered":
            return item.code != UNCHANGED
        case "cancelled":
            return False
        case _:
            raise error_of(item.code, item.reason)
