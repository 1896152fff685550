"""Messages of people: every way a message can be handled and end."""

from collections.abc import Iterator

from retinue.errors import RetinueError
from retinue.testing.verify.evidence import Evidence
from retinue.testing.verify.part import Part
from retinue.testing.verify.trial_client import TrialClient

MAIN, SIDE = "main", "side"


def hello(client: TrialClient) -> None:
    client.wait(client.post(MAIN, "hello", key="k-hello"))


def repeat(client: TrialClient) -> None:
    first = client.post(SIDE, "twice", key="k-twice")
    second = client.post(SIDE, "twice", key="k-twice")
    client.log.sent.remove(second)
    client.wait(first)
    third = client.post(SIDE, "twice", key="k-twice")
    client.log.sent.remove(third)
    if {second.item, third.item} != {first.item}:
        raise RetinueError("the same key gave another item")


def no_key(client: TrialClient) -> None:
    client.wait(client.post(SIDE, "no key", key=None))


def burst(client: TrialClient) -> None:
    texts = [f"burst {n}" for n in range(3)]
    for sent in [client.post(MAIN, text, key=f"k-{text}", chats=True) for text in texts]:
        client.wait(sent)


def quiet(client: TrialClient) -> None:
    client.post(SIDE, "psst", key="k-quiet", silent=True)


def steer(client: TrialClient) -> None:
    first = client.post("steered", "use hold:steer", key="k-hold")
    client.until_effect("steer", first)
    second = client.post("steered", "this way", key="k-steer")
    client.release("steer")
    client.wait(first)
    client.wait(second)


def stop(client: TrialClient) -> None:
    sent = client.post("stopped", "use stuck:stop", key="k-stop", may_be_cancelled=True)
    client.until_effect("stop", sent)
    behind = client.post("stopped", "behind the stop", key="k-behind", may_be_cancelled=True)
    client.command("stop", sent)
    client.wait(sent)
    client.wait(behind)


def reset(client: TrialClient) -> None:
    old = client.post("reset", "use stuck:reset", key="k-old", may_be_cancelled=True)
    client.until_effect("reset", old)
    queued = client.post("reset", "queued before", key="k-queued", may_be_cancelled=True)
    client.command("reset", old)
    client.log.resets.append(str(old.agent))
    client.wait(old)
    client.wait(queued)
    fresh = client.wait(client.post("reset", "fresh", key="k-fresh"))
    if fresh.reply != "re fresh, 1 lines":
        raise RetinueError(f"what was before the reset is still there: {fresh.reply!r}")


def flaky(client: TrialClient) -> None:
    client.wait(client.post(SIDE, "flaky", key="k-flaky"))


def hopeless(client: TrialClient) -> None:
    client.wait(client.post(SIDE, "hopeless", key="k-hopeless"))


def compact(client: TrialClient) -> None:
    parts = [client.wait(client.post("long", f"part {n}", key=f"k-part-{n}")) for n in range(3)]
    client.command("compact", parts[0])


def rename(client: TrialClient) -> None:
    sent = client.wait(client.post(MAIN, "name yourself", key="k-name"))
    client.command("rename", sent, name="Named")
    client.log.names[str(sent.agent)] = "Named"


def delete(client: TrialClient) -> None:
    sent = client.wait(client.post("doomed", "farewell", key="k-doomed"))
    try:
        client.command("delete", sent)
    except RetinueError as error:
        if not error.message.startswith("not_found"):
            raise
    client.log.deleted.append(str(sent.agent))


def goodbye(client: TrialClient) -> None:
    """Run one more step, since a silent message waits for the next step after a crash."""
    client.wait(client.post(SIDE, "goodbye", key="k-goodbye"))


def commands(evidence: Evidence) -> Iterator[str]:
    """Every acknowledged command has taken effect."""
    log, agents = evidence.log, evidence.agents
    if not (log.resets and log.names and log.deleted):
        yield "command: not all commands were tried"
    for agent_id in log.resets:
        if not any(r["kind"] == "reset" for r in agents[agent_id]["records"]):
            yield "command: a reset was acknowledged and is not recorded"
    for agent_id, name in log.names.items():
        if agents[agent_id]["name"] != name:
            yield "command: a name was acknowledged and is not set"
    for agent_id in log.deleted:
        if agent_id in agents:
            yield "command: an agent was deleted and still exists"


MESSAGES = Part(
    name="messages",
    summary="accept, repeat, coalesce, steer, stop, reset, retry, fail, compact, rename, delete",
    steps=(
        hello,
        repeat,
        no_key,
        burst,
        quiet,
        steer,
        stop,
        reset,
        flaky,
        hopeless,
        compact,
        rename,
        delete,
    ),
    last=goodbye,
    judges=(commands,),
)
