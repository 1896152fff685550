"""Carries out commands: what each one does is committed together with its fate."""

import logging
from typing import Literal, assert_never

from retinue.agents.command import (
    UNCHANGED,
    Command,
    CompactCommand,
    DeleteCommand,
    PatchCommand,
    ProvideCommand,
    ResetCommand,
    StopCommand,
    SwitchCommand,
    TerminateCommand,
    runs_beside_work,
)
from retinue.agents.inbox import Item
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules import switching
from retinue.engine.subagents.deferred import Deferred
from retinue.engine.turn.committing import Committer, Interrupted
from retinue.engine.turn.completion import Completion
from retinue.engine.turn.context_window import ContextWindow
from retinue.engine.writes import termination
from retinue.engine.writes import turn as turn_writes
from retinue.errors import (
    ConflictError,
    FencedError,
    NotFoundError,
    RefusedError,
    RetinueError,
    StoreFullError,
    UsageError,
)
from retinue.stores.port import FateChange, Store

logger = logging.getLogger(__name__)

_REFUSALS = (UsageError, NotFoundError, ConflictError, RefusedError)
_INTERNAL = "internal"


class CommandRunner:
    """The only place where commands act on agents."""

    def __init__(
        self,
        *,
        store: Store,
        committer: Committer,
        completion: Completion,
        setup: StepSetup,
        room: ContextWindow,
        hooks: Hooks,
        deferred: Deferred,
    ) -> None:
        self._store = store
        self._committer = committer
        self._completion = completion
        self._setup = setup
        self._room = room
        self._hooks = hooks
        self._deferred = deferred

    async def obey(self, live: LiveAgent, item: Item) -> None:
        """Carry out a command, or commit why not.

        Raises `StoreFullError` when nothing can be stored, and `Interrupted` when the process
        stops: then the command waits in the inbox as before.
        """
        command = item.body.command
        assert command is not None  # it is of that kind
        try:
            await self._carry_out(live, item, command)
        except Interrupted:
            if self._committer.is_stopping:
                raise
            await self._end(live, item, "cancelled", "another command came before it had finished")
        except (StoreFullError, FencedError):
            raise
        except RetinueError as error:
            fate = "refused" if isinstance(error, _REFUSALS) else "failed"
            await self._end(live, item, fate, error.message, error.code)
        except Exception:
            logger.exception("a defect ended a command", extra={"agent_id": live.id})
            reason = "an internal error; the log has the details"
            await self._end(live, item, "failed", reason, _INTERNAL)

    async def obey_beside_work(self, live: LiveAgent) -> None:
        """Carry out what adds no record, while the agent's own task waits for a model or a tool."""
        try:
            while item := next((i for i in live.waiting if runs_beside_work(i.body.command)), None):
                await self.obey(live, item)
        except (StoreFullError, Interrupted):
            pass  # the agent's own task comes back to it
        except FencedError:
            live.interrupt()  # its own task finds out as well
        except Exception:
            logger.exception("a command could not be recorded", extra={"agent_id": live.id})
        finally:
            live.aside = None

    async def _carry_out(self, live: LiveAgent, item: Item, command: Command) -> None:
        match command:
            case StopCommand():
                await self._stop(live, item, command)
            case ResetCommand():
                await self._reset(live, item, command)
            case CompactCommand():
                if not await self._room.compact(live, "command", _done(item)):
                    await self._found_nothing(live, item)
            case PatchCommand():
                draft = self._draft(live, item)
                turn_writes.patched(draft, command.patch)
                await self._completion.commit_now(live, draft, "patch")
            case ProvideCommand():
                await self._provide(live, item, command)
            case SwitchCommand():
                await self._switch(live, item, command)
            case TerminateCommand():
                await self._terminate(live, command.reason)
            case DeleteCommand():
                await self._delete(live)
            case _:
                assert_never(command)

    def _draft(self, live: LiveAgent, item: Item) -> Draft:
        draft = self._committer.draft(live)
        draft.fates = [_done(item)]
        return draft

    async def _found_nothing(self, live: LiveAgent, item: Item) -> None:
        draft = self._committer.draft(live)
        draft.fates = [FateChange(item_id=item.id, fate="answered", code=UNCHANGED)]
        await self._completion.commit_now(live, draft, "command")

    async def _end(
        self,
        live: LiveAgent,
        item: Item,
        fate: Literal["cancelled", "refused", "failed"],
        reason: str,
        code: str = "",
    ) -> None:
        draft = self._committer.draft(live)
        draft.fates = [FateChange(item_id=item.id, fate=fate, reason=reason, code=code)]
        await self._completion.commit_now(live, draft, "command")

    async def _stop(self, live: LiveAgent, item: Item, command: StopCommand) -> None:
        turn = live.state.turn
        gathered = [] if turn is not None else live.spoken(command.up_to)
        if not gathered and not turn_writes.is_stopped_by(live, item):
            await self._found_nothing(live, item)
            return
        draft = self._committer.draft(live)
        turn_writes.stopped(draft, live, gathered)
        draft.fates.append(_done(item))
        await self._completion.commit_now(live, draft, "stop")

    async def _reset(self, live: LiveAgent, item: Item, command: ResetCommand) -> None:
        draft = self._draft(live, item)
        if not turn_writes.is_reset(live):
            turn_writes.was_reset(draft, live, item, command.reason)
        await self._completion.commit_now(live, draft, "reset")

    async def _switch(self, live: LiveAgent, item: Item, command: SwitchCommand) -> None:
        draft = self._committer.draft(live)
        if switching.switched(draft, live, item, command):
            await self._completion.commit_now(live, draft, "switch")
        else:
            await self._found_nothing(live, item)

    async def _provide(self, live: LiveAgent, item: Item, command: ProvideCommand) -> None:
        config = self._setup.config(live)
        draft = self._draft(live, item)
        await self._deferred.begin(draft, live, config, command)
        if config.hooks is not None:
            await self._hooks.born(live, config.hooks, draft.effects)
        await self._completion.commit_now(live, draft, "provide")

    async def _terminate(self, live: LiveAgent, reason: str) -> None:
        """End the agent; that is the fate of every command to end it."""
        children = await self._store.children(live.owner, live.id)
        draft = self._committer.draft(live)
        termination.ended(draft, live, reason, children)
        await self._completion.commit_now(live, draft, "end")

    async def _delete(self, live: LiveAgent) -> None:
        """Remove the agent, and the command with it; those that wait for it hear that it ended."""
        if not live.is_ended and await self._concerns_others(live):
            await self._end_before_deletion(live)
        try:
            await self._store.delete(live.owner, live.id)
        except ConflictError:  # somebody asked it for something at the last moment
            await self._end_before_deletion(live)
            await self._store.delete(live.owner, live.id)
        live.is_deleted = True

    async def _end_before_deletion(self, live: LiveAgent) -> None:
        if not live.is_ended:
            await self._terminate(live, "it was deleted")
        draft = self._committer.draft(live)
        termination.came_late(draft, live.waiting)
        if draft.fates:
            await self._completion.commit_now(live, draft, "end")

    async def _concerns_others(self, live: LiveAgent) -> bool:
        turn = live.state.turn
        if live.has_listeners or (turn is not None and turn.suspended):
            return True
        return bool(await self._store.children(live.owner, live.id))


def _done(item: Item) -> FateChange:
    return FateChange(item_id=item.id, fate="answered")
