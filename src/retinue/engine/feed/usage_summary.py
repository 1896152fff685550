"""Usage and cost of models, as the API returns them."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import date

from msgspec import structs

from retinue.agents.state import TokenStats
from retinue.agents.usage import UsageKey, UsageLine, UsageReport
from retinue.definitions.catalog import Catalog
from retinue.errors import NotFoundError
from retinue.ids import AgentId, OwnerId
from retinue.settings import Settings
from retinue.settings.tables import PriceSettings
from retinue.stores.port import Store
from retinue.stores.usage_port import UsageSum

MOST_LINES = 500


class UsageSummaries:
    """Combines usage sums, prices and names."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog) -> None:
        self._store = store
        self._prices = settings.prices
        self._catalog = catalog

    async def report(
        self,
        owner: OwnerId,
        by: UsageKey,
        *,
        first: date | None = None,
        last: date | None = None,
    ) -> UsageReport:
        sums = await self._store.usage.sums(owner, by, first=first, last=last)
        lines = [self._line(key, some) for key, some in _by_key(sums)]
        if by != "day":
            lines.sort(key=lambda line: -line.total)
        shown = lines[:MOST_LINES] if by != "day" else lines
        models = sorted({one.model for one in sums})
        return UsageReport(
            by=by,
            first=first,
            last=last,
            currency=self._prices.currency,
            lines=await self._named(owner, by, shown),
            total=self._line("", sums),
            unpriced=[model for model in models if model not in self._prices.models],
            hidden=len(lines) - len(shown),
        )

    def _line(self, key: str, sums: Iterable[UsageSum]) -> UsageLine:
        tokens, cost, is_partial = TokenStats(), None, False
        for one in sums:
            tokens = tokens.together(one.tokens)
            price = self._prices.models.get(one.model)
            if price is None:
                is_partial = True
            else:
                cost = (cost or 0.0) + cost_of(price, one.tokens)
        cost = None if cost is None else round(cost, 6)
        return UsageLine(
            **structs.asdict(tokens), key=key, name=key, cost=cost, is_partial=is_partial
        )

    async def _named(
        self, owner: OwnerId, by: UsageKey, lines: Sequence[UsageLine]
    ) -> list[UsageLine]:
        if by == "definition":
            known = {one.name: one.display_name for one in self._catalog.everything()}
            return [structs.replace(one, name=known.get(one.key, one.key)) for one in lines]
        if by == "agent":
            names = await asyncio.gather(*(self._agent_name(owner, one.key) for one in lines))
            pairs = zip(lines, names, strict=True)
            return [structs.replace(one, name=name) for one, name in pairs]
        return list(lines)

    async def _agent_name(self, owner: OwnerId, agent_id: str) -> str:
        try:
            agent = await self._store.agent(owner, AgentId(agent_id))
        except NotFoundError:
            return ""  # deleted; its usage is kept
        name = agent.state.name or getattr(agent.descriptor, "name", "") or agent.state.title
        return name or agent.definition


def cost_of(price: PriceSettings, tokens: TokenStats) -> float:
    """The cost of tokens; cached tokens cost the same unless the price says otherwise."""
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    millionths = (
        tokens.input * price.input
        + tokens.output * price.output
        + tokens.cache_read * read
        + tokens.cache_write * write
    )
    return millionths / 1_000_000


def _by_key(sums: Sequence[UsageSum]) -> Iterable[tuple[str, list[UsageSum]]]:
    found: dict[str, list[UsageSum]] = {}
    for one in sums:
        found.setdefault(one.key, []).append(one)
    return found.items()
