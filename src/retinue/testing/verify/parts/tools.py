"""Tool calls: each effect contract, parallel calls, and posts to agents."""

from collections.abc import Iterator

from retinue.testing.verify.evidence import Evidence
from retinue.testing.verify.part import Part
from retinue.testing.verify.trial_client import TrialClient

MAIN, SIDE = "main", "side"


def every_contract(client: TrialClient) -> None:
    client.wait(client.post(MAIN, "use pure:a keyed:b checked:c once:d", key="k-contracts"))


def together(client: TrialClient) -> None:
    client.wait(client.post(SIDE, "use pure:e pure:f pure:g", key="k-together"))


def two_steps(client: TrialClient) -> None:
    client.wait(client.post(SIDE, "use once:h", key="k-once-1"))
    client.wait(client.post(SIDE, "use keyed:i keyed:j", key="k-keyed-2"))


def tell(client: TrialClient) -> None:
    hearer = client.wait(client.post("hearer", "listen", key="k-listen"))
    client.wait(client.post(MAIN, f"use tell:{hearer.agent}", key="k-tell"))


def ran(evidence: Evidence) -> Iterator[str]:
    """Tools that repeat or check after a crash have run in the end."""
    done = {(effect.name, effect.text) for effect in evidence.effects}
    due = {("pure", what) for what in "aefg"} | {("keyed", what) for what in "bij"}
    due |= {("checked", "c")}
    for name, what in sorted(due - done):
        yield f"effect: {name} {what} never ran"


def posts(evidence: Evidence) -> Iterator[str]:
    """A post of a tool arrived exactly once if the tool succeeded."""
    told = news = 0
    for agent in evidence.agents.values():
        for record in agent["records"]:
            told += record["kind"] == "tool" and record["text"] == "told"
            news += record["kind"] == "system" and record["text"] == "news"
    if told != news or told != 1:
        yield f"post: sent {told} times, arrived {news} times"


TOOLS = Part(
    name="tools",
    summary="calls of each effect contract, parallel calls, and a post to another agent",
    steps=(every_contract, together, two_steps, tell),
    judges=(ran, posts),
)
