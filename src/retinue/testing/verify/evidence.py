"""The result of a trial, as input for the checks."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from retinue.testing.verify.effects import Effect
from retinue.testing.verify.trial_client import Log, Sent

Record = dict[str, Any]
Told = dict[str, Any]
"""An agent, as the engine reported it at the end"""
Agents = Mapping[str, Told]


class Evidence:
    """Everything that is known after a trial."""

    def __init__(
        self,
        *,
        log: Log,
        told: dict[str, Any],
        effects: Sequence[Effect],
        deliveries: Sequence[Effect],
        database: Path,
    ) -> None:
        self.log = log
        self.items: dict[str, dict[str, Any] | None] = told["items"]
        self.agents: dict[str, Told] = {agent["id"]: agent for agent in told["agents"]}
        self.differences: list[str] = told["differences"]
        self.slots: dict[str, list[dict[str, Any]]] = told["slots"]
        self.effects = effects
        self.deliveries = deliveries
        self.database = database

    @property
    def kept(self) -> list[Sent]:
        """The messages to agents that still exist."""
        return [sent for sent in self.log.sent if sent.agent not in self.log.deleted]

    def at(self, channel: str) -> list[Told]:
        """The agents of a channel."""
        return [agent for agent in self.agents.values() if agent["channel"] == channel]

    def of(self, definition: str) -> list[Told]:
        return [agent for agent in self.agents.values() if agent["definition"] == definition]

    def done(self, name: str) -> list[Effect]:
        """Return the runs of a tool or a hook."""
        return [effect for effect in self.effects if effect.name == name]


def records_of(agent: Told, *kinds: str) -> list[Record]:
    return [record for record in agent["records"] if record["kind"] in kinds]


def results_of(agent: Told, name: str = "") -> Iterator[Record]:
    """Yield the results of its calls, or of those of one tool."""
    for record in records_of(agent, "tool"):
        if not name or record["name"] == name:
            yield record
