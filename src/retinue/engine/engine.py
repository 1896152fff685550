"""The façade: what doors call. It admits, wakes, waits and commands; the runner does the work."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import structs

from retinue.agents.command import (
    AgentPatch,
    Command,
    CompactCommand,
    DeleteCommand,
    PatchCommand,
    ResetCommand,
    StopCommand,
    SwitchCommand,
    TerminateCommand,
    runs_beside_work,
)
from retinue.agents.descriptor import Descriptor, UserDescriptor
from retinue.agents.inbox import FINAL, Item, Sender
from retinue.definitions.catalog import Catalog
from retinue.engine import wiring
from retinue.engine.addressing import Addressing
from retinue.engine.agent.agent_cache import AgentCache
from retinue.engine.agent.limits import limits_of
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.feed.agent_views import agent_view
from retinue.engine.feed.chat_redirect import ChatRedirects
from retinue.engine.feed.command_admission import CommandAdmission
from retinue.engine.feed.crash_quarantine import CrashQuarantine
from retinue.engine.feed.dispatch import Dispatch, LocalDispatch, priority_of
from retinue.engine.feed.event_feed import Feed
from retinue.engine.feed.fast_admission import FastAdmission
from retinue.engine.feed.outbox import Outbox
from retinue.engine.feed.outcomes import Outcome, Outcomes
from retinue.engine.lineage.family_tree import living_family
from retinue.engine.lineage.peers import contact_of
from retinue.engine.panels.windows import Windows
from retinue.engine.prompting.artifact_index import ArtifactIndex
from retinue.engine.prompting.permanent_directory import PermanentDirectory
from retinue.engine.prompting.turn_snapshots import TurnSnapshots
from retinue.engine.requests.decisions import Requests
from retinue.engine.rules.decision import breaks_off
from retinue.engine.rules.messages import checked_text, new_message, new_withdrawal
from retinue.engine.scheduling.heartbeat import Heartbeat
from retinue.engine.scheduling.scheduler import Scheduler
from retinue.engine.subagents.immediate import boot_post, boots
from retinue.errors import (
    FencedError,
    NotFoundError,
    StoreFullError,
    TerminatedError,
    UsageError,
)
from retinue.events import AgentView, DefinitionsEvent, Event, SchedulesEvent
from retinue.ids import AgentId, ItemId, OwnerId, new_id
from retinue.project.snapshot import ProjectSnapshot
from retinue.records import FileReference
from retinue.stores.port import Agent, Offset, Post, Receipt
from retinue.stores.port import Change as StoredChange
from retinue.text import clean_json
from retinue.tools.port import ServedFiles, Tool

logger = logging.getLogger(__name__)

_DEFECT_RETRY_SECONDS = 5.0
_FULL_RETRY_SECONDS = 1.0


class Engine:
    """All agents of one process."""

    def __init__(self, world: wiring.World, dispatch: Dispatch | None = None) -> None:
        limits = limits_of(world.settings)
        self.store = world.store
        self.project = world.project
        self.settings = world.settings
        self.models = world.models
        self.servers = world.servers
        self.schedules = wiring.make_schedules(world)
        self.windows = world.windows or Windows(world.clock)
        self._addressing = Addressing(world)
        world.project.adopt(wiring.make_tools(world, limits, self.schedules, self.windows))
        self._clock = world.clock
        self._limits = limits
        self._trees = world.trees
        self._live = AgentCache(limits.warm_bytes)
        self._feed = Feed(world.store, self._is_in_memory)
        self.windows.announce = lambda owner, event: self._feed.announce(event, owner=owner)
        self.requests = Requests(world.store, world.clock)
        self._outbox = Outbox(world.store, world.connectors, world.clock)
        self._dispatch = dispatch or LocalDispatch(
            foreground=limits.foreground, background=limits.background, clock=world.clock
        )
        self._quarantine = CrashQuarantine(self._dispatch.wake)
        self._directory = PermanentDirectory(world.store)
        self._artifact_index = ArtifactIndex(world.store)
        self.environment = world.environment
        self._outcomes = Outcomes(world.store)
        self._fast_admission = FastAdmission(self._dispatch, self._outcomes, limits)
        self.variables = wiring.make_office(world, limits, self._command)
        parts = wiring.Parts(
            feed=self._feed,
            snapshots=TurnSnapshots(world.project),
            outbox=self._outbox,
            directory=self._directory,
            fast_admission=self._fast_admission,
            windows=self.windows,
            artifacts=self._artifact_index,
            quarantine=self._quarantine,
        )
        self._runner = wiring.make_runner(world, limits, parts)
        setup = self._runner.setup
        self.contexts = wiring.make_contexts(world, limits, setup)
        self.operations = wiring.make_operations(world, limits, setup)
        self._running: set[AgentId] = set()
        disk = self._runner.disk
        self._commands = CommandAdmission(
            world.store, world.clock, self._outcomes, disk=disk, live=self._live
        )
        self._arrived: dict[AgentId, list[Item]] = {}  # while the agent was being loaded
        self._chats = ChatRedirects(world.store, world.connectors)
        self._crashed: set[AgentId] = set()
        self._heartbeat_tasks = world.project.current.heartbeat
        self._unlisten = world.store.listen(self._follow)
        self._unwatch = world.project.listen(self._files_changed)
        self.heartbeat = Heartbeat(self.schedules, world.store, world.clock, self.reset)
        self._scheduler = Scheduler(
            self.schedules, self.heartbeat, world.clock, self._rescheduled, self._current_tools
        )

    # -- life

    async def start(self) -> None:
        """Go on with whatever was left over, and begin to work."""
        await self.environment.load()
        waking = await self.store.waking()
        if not self.store.was_clean:
            self._crashed = {agent_id for agent_id, _ in waking}
            self.windows.expect_back()
        self._dispatch.begin(self._run)
        self._outbox.start()
        self.requests.start()
        waking = await self.store.waking()  # again: what was admitted meanwhile woke nobody
        self.project.start()
        for agent_id, priority in waking:
            self._dispatch.wake(agent_id, priority)
        await self._scheduler.start()

    async def stop(self, *, patience_seconds: float | None = None) -> None:
        """Begin nothing new, give running tools a little time; turns resume at the next start."""
        patience = self._limits.shutdown_seconds if patience_seconds is None else patience_seconds
        await self._scheduler.stop()
        self._runner.begin_stopping()
        self._commands.close()
        self._feed.close()
        await self.project.stop()
        self._break_off(including_tools=False)
        ending = asyncio.create_task(self._dispatch.end())
        await asyncio.wait({ending}, timeout=patience)
        self._break_off(including_tools=True)
        await ending
        self._fast_admission.close()
        await self._outbox.stop()
        await self.requests.stop()
        self._unlisten()
        self._unwatch()
        self._runner.disk.tell_lost()

    def _break_off(self, *, including_tools: bool) -> None:
        for live in [self._live[a] for a in self._running if a in self._live]:
            if including_tools or not live.is_running_tools:
                live.interrupt()

    def _files_changed(self, snapshot: ProjectSnapshot) -> None:
        """Announce a new snapshot to the doors, and to the scheduler what concerns it."""
        if snapshot.heartbeat is not self._heartbeat_tasks:
            self._heartbeat_tasks = snapshot.heartbeat
            self._scheduler.wake()
        self._feed.announce(DefinitionsEvent())

    @property
    def catalog(self) -> Catalog:
        """The definitions as they were last read."""
        return self.project.current.catalog

    def _rescheduled(self, owner: OwnerId) -> None:
        self._feed.announce(SchedulesEvent(), owner=owner)

    # -- agents

    async def create(
        self,
        owner: OwnerId,
        definition: str | None,
        *,
        name: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        descriptor: Descriptor | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Agent:
        """Find the agent of this descriptor or create it; without one, it is a new conversation."""
        if descriptor is None:
            descriptor = UserDescriptor(connector="web", user_id=owner, channel_id=new_id("w"))
        await self.project.look()  # the definition may have been saved a moment ago
        new = await self._addressing.of(owner, descriptor, definition)
        shown = clean_json(dict(attributes or {}))
        sealed = self.environment.sealed_for(new.id, env or {})
        state = structs.replace(new.state, name=name, attributes=shown, env=sealed)
        agent, is_new = await self.store.create(structs.replace(new, state=state))
        if is_new and boots(self.catalog.definition(agent.definition)):
            await self.store.admit(boot_post(agent, self._clock.now()))
        if is_new and self.catalog.hooks():
            self._dispatch.wake(agent.id, "foreground")  # hooks may want to see it
        return agent

    async def update(
        self, owner: OwnerId, agent_id: AgentId, patch: AgentPatch, *, key: str | None = None
    ) -> Agent:
        await self._command(owner, agent_id, PatchCommand(patch=patch), key=key)
        return await self.store.agent(owner, agent_id)

    async def delete(self, owner: OwnerId, agent_id: AgentId, *, key: str | None = None) -> None:
        await self._command(owner, agent_id, DeleteCommand(), key=key)

    # -- messages

    async def post(  # noqa: PLR0913  what a door may say about a message, all by name
        self,
        owner: OwnerId,
        to: AgentId | Descriptor,
        text: str,
        *,
        files: Sequence[FileReference] = (),
        silent: bool = False,
        key: str | None = None,
        sender: Sender | None = None,
        definition: str | None = None,
        offset: Offset | None = None,
    ) -> Receipt:
        """Admit a person's message; when this returns, it is on disk."""
        text = checked_text(text, files, self._limits.message_characters)
        chat = await self._chats.away(owner, to) if isinstance(to, UserDescriptor) else None
        if chat is not None:
            to = chat.switched_to
        target = to if isinstance(to, str) else await self._addressing.of(owner, to, definition)
        item = new_message(
            text,
            files=files,
            silent=silent,
            key=key,
            sender=sender or Sender(type="user", id=owner),
            at=self._clock.now(),
            route=chat.route if chat is not None else None,
        )
        post = Post(to=target, item=item, owner=owner)
        live = self._live.get(target) if isinstance(target, str) and offset is None else None
        receipt = await self._fast_admission.offer(live, priority_of(live), post) if live else None
        return receipt or await self.store.admit(post, offset=offset)

    async def withdraw(self, owner: OwnerId, item_id: ItemId) -> bool:
        """Take back a message that waits in its queue; False when it does not wait any more."""
        item = (await self.outcome(owner, item_id)).item
        if item.fate != "queued":
            return False
        by = Sender(type="user", id=owner)
        withdrawal = new_withdrawal(item_id, by, self._clock.now())
        await self.store.admit(Post(to=item.agent_id, item=withdrawal, owner=owner))
        return True

    async def outcome(self, owner: OwnerId, item_id: ItemId, *, wait_seconds: float = 0) -> Outcome:
        """What became of an item, waiting for its end at most that long."""
        return await self._outcomes.outcome(owner, item_id, wait_seconds)

    # -- commands

    async def reset(
        self, owner: OwnerId, agent_id: AgentId, *, reason: str = "", key: str | None = None
    ) -> None:
        await self._command(owner, agent_id, ResetCommand(reason=reason), key=key)

    async def interrupt(self, owner: OwnerId, agent_id: AgentId, *, key: str | None = None) -> bool:
        """Stop the turn that goes on or is about to begin; False when there was none."""
        agent = await self.store.agent(owner, agent_id)
        if agent.lifecycle != "active":
            raise TerminatedError(f"the agent {agent_id!r} has ended")
        newest = 0 if agent.state.turn else await self._newest_item(owner, agent_id)
        is_resting = agent.state.turn is None and not newest and agent_id not in self._running
        if is_resting and key is None:
            return False
        return await self._command(owner, agent_id, StopCommand(up_to=newest), key=key)

    async def _newest_item(self, owner: OwnerId, agent_id: AgentId) -> int:
        """Give the seq of the last item that waits by now, 0 when there is none."""
        items = await self.store.open_items(owner, agent_id)
        return max((item.seq for item in items if item.kind != "command"), default=0)

    async def terminate(
        self,
        owner: OwnerId,
        agent_id: AgentId,
        *,
        reason: str = "by its owner",
        key: str | None = None,
    ) -> Sequence[AgentId]:
        """End the agent for good, and its children with it; tells who has ended by this."""
        agent = await self.store.agent(owner, agent_id)
        if agent.lifecycle != "active":
            return []
        ended = [agent_id, *await living_family(self.store, owner, agent_id)]
        with suppress(TerminatedError):  # somebody else's order, or its parent's end, came first
            await self._command(owner, agent_id, TerminateCommand(reason=reason), key=key)
        for child in await self.store.children(owner, agent_id):
            more = await self.terminate(owner, child.id, reason="its parent was terminated")
            ended += [one for one in more if one not in ended]
        return ended

    async def switch_back(
        self,
        owner: OwnerId,
        agent_id: AgentId,
        *,
        leaving: AgentId | None = None,
        key: str | None = None,
    ) -> bool:
        """Let a person go back to this agent; False when nobody answers instead of it.

        The agent that they leave sends an account of what was said. The store knows which one that
        is where it answers a chat; else `leaving` tells it.
        """
        if leaving is not None:
            if leaving == agent_id:
                raise UsageError("from: nobody goes back from an agent to itself")
            await self.store.agent(owner, leaving)
        command = SwitchCommand(is_return=True, leaving=leaving)
        return await self._command(owner, agent_id, command, key=key)

    async def compact(self, owner: OwnerId, agent_id: AgentId, *, key: str | None = None) -> bool:
        return await self._command(owner, agent_id, CompactCommand(), key=key)

    async def _command(
        self, owner: OwnerId, agent_id: AgentId, command: Command, *, key: str | None = None
    ) -> bool:
        return await self._commands.give(owner, agent_id, command, key=key)

    # -- watching

    def subscribe(
        self, owner: OwnerId, *, after: int | None, agent_id: AgentId | None = None
    ) -> AsyncIterator[Event]:
        return self._feed.subscribe(owner, after=after, agent_id=agent_id)

    def view(self, agent: Agent) -> AgentView:
        """The agent as doors show it."""
        return agent_view(agent, self._is_in_memory)

    def _is_in_memory(self, agent_id: AgentId) -> bool:
        return agent_id in self._live

    def tree(self, agent_id: AgentId) -> ServedFiles:
        return self._trees.tree(agent_id)

    async def tools_of(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Tool]:
        """The tools that this agent may call."""
        agent = await self.store.agent(owner, agent_id)
        await self.project.look()
        return await self._current_tools(agent.definition, agent)

    async def _current_tools(self, definition: str, holder: Agent | None) -> Sequence[Tool]:
        setup, current = self._runner.setup, self.project.current
        return list(setup.config_of(current, definition, "side_a", holder).tools.values())

    # -- working

    def _follow(self, changes: Sequence[StoredChange]) -> None:
        """Listen to committed facts: wake whom they concern and tell whoever waits or watches."""
        for change in changes:
            for item in change.items:
                if item.fate == "queued":
                    self._admitted(change, item)
                elif item.fate in FINAL:
                    self._outcomes.ended(change, item)
            live = self._live.get(change.agent_id)
            if live is not None and change.agent is not None:
                live.descriptor = change.agent.descriptor
            if change.is_deleted:
                self._live.pop(change.agent_id, None)
                self._runner.setup.snapshots.release(change.agent_id)
                self._outcomes.forgotten(change.agent_id)
            if change.requests:
                self.requests.look_again()
            if change.artifacts:
                self._artifact_index.follow(change)
            if change.is_deleted or (change.agent is not None and change.agent.kind == "permanent"):
                self._directory.follow(change)
        self._feed.publish(changes)

    def _admitted(self, change: StoredChange, item: Item) -> None:
        self._outcomes.admitted(change.owner, item)
        live = self._live.get(change.agent_id)
        if live is not None:
            live.receive(item)
            if breaks_off(item, live.state.turn):
                live.interrupt()
            elif live.is_working and live.aside is None and runs_beside_work(item.body.command):
                live.aside = asyncio.create_task(self._runner.commands.obey_beside_work(live))
            self._dispatch.wake(change.agent_id, priority_of(live))
        elif change.agent is not None:
            if change.agent_id in self._arrived:
                self._arrived[change.agent_id].append(item)
            self._dispatch.wake(change.agent_id, priority_of(change.agent))

    async def _run(self, agent_id: AgentId) -> None:
        """Work on one agent until it rests; the dispatcher never runs one agent twice at a time."""
        self._running.add(agent_id)
        try:
            live = await self._load(agent_id)
            if live is None:
                return
            seconds = await self._runner.run(live)
            if seconds is not None:
                self._dispatch.wake_later(agent_id, priority_of(live), seconds)
        except FencedError as error:
            self._live.pop(agent_id, None)
            self._commands.lost(agent_id, error)
            logger.warning("another process took this agent over", extra={"agent_id": agent_id})
        except StoreFullError as error:
            self._runner.disk.refused(error)
            self._live.pop(agent_id, None)
            self._dispatch.wake_later(agent_id, "background", _FULL_RETRY_SECONDS)
        except Exception:
            logger.exception("a defect ended the turn", extra={"agent_id": agent_id})
            await self._after_defect(agent_id)
        finally:
            self._running.discard(agent_id)
            self._fast_admission.turn_away(agent_id)
            self._quarantine.end(agent_id)
            self._live.cool_down(agent_id, self._running)

    async def _after_defect(self, agent_id: AgentId) -> None:
        """Load the agent anew and end its turn as failed; if even that fails, try again later."""
        self._live.pop(agent_id, None)
        try:
            fresh = await self._load(agent_id)
            if fresh is not None:
                priority = priority_of(fresh)
                if await self._runner.give_up(fresh, "an internal error; the log has the details"):
                    self._dispatch.wake(agent_id, priority)  # what is queued behind it
                else:
                    self._dispatch.wake_later(agent_id, priority, _DEFECT_RETRY_SECONDS)
        except Exception:
            logger.exception("the failed turn could not be recorded", extra={"agent_id": agent_id})
            self._live.pop(agent_id, None)
            self._dispatch.wake_later(agent_id, "background", _DEFECT_RETRY_SECONDS)

    async def _load(self, agent_id: AgentId) -> LiveAgent | None:
        live = self._live.get(agent_id)
        if live is None:
            self._arrived[agent_id] = []
            try:
                live = LiveAgent(await self.store.claim(agent_id))
                live.is_secluded = await contact_of(self.store, live) is not None
            except NotFoundError:
                return None
            finally:
                arrived = self._arrived.pop(agent_id)
            for item in arrived:
                live.receive(item)
            self._live[agent_id] = live
            if agent_id in self._crashed:
                self._crashed.discard(agent_id)
                live.has_crashed = True
        self._live.move_to_end(agent_id)
        return live
