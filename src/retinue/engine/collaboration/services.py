"""What the tools of collaboration work with."""

from dataclasses import dataclass
from typing import cast

from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.engine.limits import Limits
from retinue.engine.tooling import CallContext
from retinue.settings import Settings
from retinue.stores.port import Store
from retinue.tools.port import FileTrees, ToolContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Read here; what a tool changes it asks of its call, which commits it with the result."""

    store: Store
    catalog: Catalog
    settings: Settings
    limits: Limits
    clock: Clock
    trees: FileTrees


def call_of(ctx: ToolContext) -> CallContext:
    """The engine's side of a context: the engine gives its own tools nothing else."""
    return cast("CallContext", ctx)
