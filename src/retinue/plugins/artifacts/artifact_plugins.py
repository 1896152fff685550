"""Creates the built-in plugins for lists, notes and views."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from retinue.plugins.artifacts.items import Items
from retinue.plugins.artifacts.lists import Lists
from retinue.plugins.artifacts.notes import Notes
from retinue.plugins.artifacts.repository import ArtifactRepository
from retinue.plugins.artifacts.show_operation import NoWindows, Opener
from retinue.plugins.artifacts.views import Views
from retinue.plugins.operation_function import operations_of
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.port import Plugin
from retinue.stores.artifact_port import ArtifactStore


def artifact_plugins(
    store: ArtifactStore, zone: ZoneInfo, opener: Opener | None = None
) -> Sequence[Plugin]:
    """Create the plugins; `zone` determines the date of days such as `today`."""
    repository = ArtifactRepository(store, zone)
    windows = opener or NoWindows()
    return (
        define_plugin(
            id="lists",
            title="Lists",
            description="Lists of items (to-dos, shopping, reading) with custom fields.",
            operations=[
                *operations_of(Lists(repository, windows)),
                *operations_of(Items(repository)),
            ],
        ),
        define_plugin(
            id="notes",
            title="Notes",
            description="Notes in Markdown that can be searched, appended to and edited.",
            operations=operations_of(Notes(repository, windows)),
        ),
        define_plugin(
            id="views",
            title="Views",
            description="Saved queries over the items of all lists and the notes.",
            operations=operations_of(Views(repository, windows)),
        ),
    )
