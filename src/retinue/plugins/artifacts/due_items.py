"""The content of a watched list: its open items, with those that are due marked."""

from datetime import datetime

from retinue.agents.artifact import CustomField, ItemList, ListItem
from retinue.clock import Clock
from retinue.ids import OwnerId
from retinue.plugins.artifacts.query.date_values import Present, moment, plain_day
from retinue.plugins.artifacts.repository import ArtifactRepository


class DueLists:
    """Formats a list as lines, so that a diff shows what changed or became due."""

    def __init__(self, repository: ArtifactRepository, clock: Clock) -> None:
        self._repository = repository
        self._clock = clock

    async def due(self, owner: OwnerId, name: str) -> str:
        """Return the open items of a list in order, one per line. Raises `NotFoundError`."""
        found = await self._repository.list(owner, name)
        present = self._repository.present_at(self._clock.now())
        items = [one.artifact for one in await self._repository.store.items(owner, found.one.id)]
        return "\n".join(
            _line(item, found.one, present)
            for item in items
            if isinstance(item, ListItem) and item.completed_at is None
        )


def _line(item: ListItem, of: ItemList, present: Present) -> str:
    is_due = any(_is_due(item, field, present) for field in of.fields)
    values = [
        f"{field.key}: {item.custom[field.key]}" for field in of.fields if field.key in item.custom
    ]
    tags = [f"#{tag}" for tag in item.tags]
    rest = " ".join((item.url, item.notes)).split()
    details = "; ".join(part for part in (*values, " ".join(tags), " ".join(rest)) if part)
    return f"- {item.title}{' [due]' if is_due else ''}{f' ({details})' if details else ''}"


def _is_due(item: ListItem, field: CustomField, present: Present) -> bool:
    value = item.custom.get(field.key)
    if not isinstance(value, str):
        return False
    if field.type == "date":
        day = plain_day(value)
        return day is not None and day <= present.today
    at: datetime | None = moment(value, present) if field.type == "datetime" else None
    return at is not None and at <= present.now
