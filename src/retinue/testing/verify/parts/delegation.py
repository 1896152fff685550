"""Delegation between agents: every way a delegation can end."""

from collections.abc import Iterator, Mapping
from functools import partial

from retinue.errors import RetinueError
from retinue.testing.verify.evidence import Evidence, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.trial_client import TrialClient

_LONG = "k-long"
_ASKED = {"asking": 5, "asking-later": 1, "asking-later-2": 1}
_ENDED = {"asking-long": 1, "withdrawing": 1, "ending": 1}


def ask_too_long(client: TrialClient) -> None:
    """A job that exceeds its timeout; the last step waits for it."""
    client.post("asking-long", "ask worker sync 0 create use hold:long", key=_LONG)


def ask(client: TrialClient) -> None:
    """Every way a delegation ends without intervention."""
    client.wait(client.post("asking", "ask worker sync 30 create a quick job", key="k-ask"))
    chain = "ask worker sync 30 create ask expert sync 30 latest-or-create a deep job"
    client.wait(client.post("asking", chain, key="k-ask-chain"))
    pair = "ask worker sync 30 create one half + expert sync 30 latest-or-create other half"
    client.wait(client.post("asking", pair, key="k-ask-pair"))
    client.wait(client.post("asking", "ask worker sync 30 create hopeless job", key="k-ask-bad"))


def ask_later(client: TrialClient) -> None:
    first = client.post("asking-later", "ask worker async 0 create a slow job", key="k-later")
    client.wait(first)
    again = "ask worker async 0 create hopeless errand"
    client.wait(client.post("asking-later-2", again, key="k-later-bad"))


def withdraw(client: TrialClient) -> None:
    text = "ask worker sync 30 create ask expert sync 30 create use stuck:withdrawn"
    sent = client.post("withdrawing", text, key="k-withdraw", may_be_cancelled=True)
    client.until_effect("withdrawn", sent)
    client.command("stop", sent)
    client.wait(sent)


def terminate(client: TrialClient) -> None:
    text = "ask worker sync 30 create use stuck:ended"
    sent = client.post("ending", text, key="k-end")
    client.until_effect("ended", sent)
    for awaited in client.until_waiting(sent):
        try:
            client.ask({"do": "terminate", "agent": awaited})
        except RetinueError as error:
            if not error.message.startswith("terminated"):
                raise
    client.wait(sent)


def background(client: TrialClient) -> None:
    client.wait(client.post("starting", "start errand", key="k-start"))


def let_go(client: TrialClient) -> None:
    for sent in client.log.sent:
        if sent.key == _LONG:
            client.wait(sent)
    client.release("long")


def _results(evidence: Evidence, jobs: Mapping[str, int]) -> Iterator[str]:
    """Each job was requested once and has one result."""
    for channel, due in jobs.items():
        agents = evidence.at(channel)
        results = [record for one in agents for record in results_of(one, "agents_message")]
        if len(results) != due:
            yield f"delegation: {channel!r} has {len(results)} results for {due} jobs"


DELEGATION = Part(
    name="delegation",
    summary="delegations: sync, async, in chains, in parallel, in the background",
    steps=(ask, ask_later, background),
    judges=(partial(_results, jobs=_ASKED),),
)
WITHDRAWAL = Part(
    name="withdrawal",
    summary="delegations that time out, are withdrawn, or whose agent is terminated",
    steps=(ask_too_long, withdraw, terminate),
    last=let_go,
    judges=(partial(_results, jobs=_ENDED),),
)
