"""The messages of due schedules, and the agents that receive them."""

from datetime import datetime
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from retinue.agents.descriptor import CronDescriptor, Descriptor
from retinue.agents.inbox import ItemBody, Sender
from retinue.agents.schedule import LATE, Schedule
from retinue.agents.state import AgentState
from retinue.agents.watch import Watch
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.errors import NotFoundError, TerminatedError
from retinue.ids import AgentId, OwnerId, new_agent_id, new_item_id
from retinue.project.watcher import ProjectWatcher
from retinue.settings import Settings
from retinue.stores.port import NewAgent, NewItem, Post, Store
from retinue.stores.schedule_port import HEARTBEAT
from retinue.text import clean_text

_SLOT = "slot"  # the digest of every run, as its key already identifies it
_SHOWN = "%Y-%m-%d %H:%M"


def schedule_text(schedule: Schedule, due_at: datetime, now: datetime, difference: str) -> str:
    """The prompt with a short header, and the change that a watch detected."""
    zone = ZoneInfo(schedule.timezone)
    due = f"{due_at.astimezone(zone).strftime(_SHOWN)} ({schedule.timezone})"
    late = f", late: it is now {now.astimezone(zone).strftime(_SHOWN)}"
    lines = [
        f"[schedule] {schedule.title}",
        f"id: {schedule.id}",
        f"due: {due}{late if now - due_at > LATE else ''}",
        "",
        schedule.prompt.strip(),
    ]
    if difference and schedule.watch is not None:
        lines += ["", watched_text(schedule.watch, difference)]
    return "\n".join(lines)


def watched_text(watch: Watch, difference: str) -> str:
    return f"What changed in {watch.words}:\n\n{difference}"


class Posting:
    """Builds posts; the firing stores them."""

    def __init__(self, *, store: Store, project: ProjectWatcher, settings: Settings) -> None:
        self._store = store
        self._project = project
        self._settings = settings

    async def check_definition(self, name: str | None) -> str:
        """Give the definition of this name, or the default one. Raises `NotFoundError`."""
        catalog = await self._project.catalog_with(name)
        if name is not None:
            return catalog.definition(name).name
        return catalog.default(self._settings.agents.default_definition).name

    async def run(self, schedule: Schedule, text: str, *, now: datetime, key: str) -> Post:
        """A run for the schedule's target, or for an agent of its own."""
        to: AgentId | NewAgent | None = None
        if schedule.target is not None:
            to = await self._standing(schedule.owner, schedule.target)
        if to is None:
            to = self.new_agent(
                schedule.owner,
                CronDescriptor(id=schedule.id),
                await self.check_definition(schedule.definition),
                name=schedule.title,
                now=now,
            )
        body = _body(text, schedule.id)
        if isinstance(to, NewAgent) and schedule.report_to is not None:
            body = replace(body, report_to=schedule.report_to)
        return _post(to, body, schedule.owner, now=now, key=key)

    async def _standing(self, owner: OwnerId, target: AgentId) -> AgentId | None:
        """The target while it is active, else the owner's most recent chat."""
        try:
            if (await self._store.agent(owner, target)).lifecycle == "active":
                return target
        except (NotFoundError, TerminatedError):
            pass
        recent = await fetch(self._store, owner, "most-recent-foreground")
        return None if recent is None else recent.id

    def new_agent(
        self, owner: OwnerId, descriptor: Descriptor, definition: str, *, name: str, now: datetime
    ) -> NewAgent:
        return NewAgent(
            id=new_agent_id(),
            owner=owner,
            descriptor=descriptor,
            definition=definition,
            state=AgentState(created_at=now, updated_at=now, name=clean_text(name)),
        )

    def batch(self, owner: OwnerId, to: NewAgent, text: str, *, now: datetime, key: str) -> Post:
        return _post(to, _body(text, HEARTBEAT), owner, now=now, key=key)

    async def notice(
        self, owner: OwnerId, text: str, *, to: AgentId | None, sender: str, now: datetime
    ) -> Post | None:
        """A notice about a problem to an agent, or to the owner's most recent chat."""
        target = await self._standing(owner, to) if to is not None else None
        if target is None:
            recent = await fetch(self._store, owner, "most-recent-foreground")
            target = None if recent is None else recent.id
        if target is None:
            return None
        notice = _post(target, _body(text, sender), owner, now=now, key=None)
        return replace(notice, is_optional=True)


def run_key(schedule: Schedule, due_at: datetime) -> str:
    """The same for every try of a slot, and different if the id was reused."""
    made = schedule.created_at.timestamp()
    return f"schedule/{schedule.id}/{made:.6f}/{due_at.timestamp():.6f}"


def _body(text: str, sender: str) -> ItemBody:
    return ItemBody(text=clean_text(text), sender=Sender(type="schedule", id=sender))


def _post(
    to: AgentId | NewAgent, body: ItemBody, owner: OwnerId, *, now: datetime, key: str | None
) -> Post:
    item = NewItem(
        id=new_item_id(),
        kind="system",
        body=body,
        admitted_at=now,
        dedupe_key=key,
        digest=_SLOT if key is not None else "",
    )
    return Post(to=to, item=item, owner=owner)
