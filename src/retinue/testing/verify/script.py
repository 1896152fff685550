"""What the client of a trial does: every way in which a message can live and end."""

import time
from collections.abc import Callable, Sequence
from random import Random

from retinue.errors import RetinueError
from retinue.testing.verify.acting import SWITCHED
from retinue.testing.verify.client import Client, Sent
from retinue.testing.verify.leading import LEADING

Step = Callable[[Client], None]

MAIN, SIDE = "main", "side"
LONG = "k-long"
_PATIENCE_SECONDS = 20.0


def hello(client: Client) -> None:
    client.wait(client.post(MAIN, "hello", key="k-hello"))


def repeat(client: Client) -> None:
    first = client.post(SIDE, "twice", key="k-twice")
    second = client.post(SIDE, "twice", key="k-twice")
    client.log.sent.remove(second)
    client.wait(first)
    third = client.post(SIDE, "twice", key="k-twice")
    client.log.sent.remove(third)
    if {second.item, third.item} != {first.item}:
        raise RetinueError("the same key gave another item")


def no_key(client: Client) -> None:
    client.wait(client.post(SIDE, "no key", key=None))


def burst(client: Client) -> None:
    texts = [f"burst {n}" for n in range(3)]
    for sent in [client.post(MAIN, text, key=f"k-{text}", chats=True) for text in texts]:
        client.wait(sent)


def every_contract(client: Client) -> None:
    client.wait(client.post(MAIN, "use pure:a keyed:b checked:c once:d", key="k-contracts"))


def together(client: Client) -> None:
    client.wait(client.post(SIDE, "use pure:e pure:f pure:g", key="k-together"))


def two_steps(client: Client) -> None:
    client.wait(client.post(SIDE, "use once:h", key="k-once-1"))
    client.wait(client.post(SIDE, "use keyed:i keyed:j", key="k-keyed-2"))


def tell(client: Client) -> None:
    hearer = client.wait(client.post("hearer", "listen", key="k-listen"))
    client.wait(client.post(MAIN, f"use tell:{hearer.agent}", key="k-tell"))


def quiet(client: Client) -> None:
    client.post(SIDE, "psst", key="k-quiet", silent=True)


def steer(client: Client) -> None:
    first = client.post("steered", "use hold:steer", key="k-hold")
    client.until_effect("steer", first)
    second = client.post("steered", "this way", key="k-steer")
    client.release("steer")
    client.wait(first)
    client.wait(second)


def stop(client: Client) -> None:
    sent = client.post("stopped", "use stuck:stop", key="k-stop", may_be_cancelled=True)
    client.until_effect("stop", sent)
    behind = client.post("stopped", "behind the stop", key="k-behind", may_be_cancelled=True)
    client.command("stop", sent)
    client.wait(sent)
    client.wait(behind)


def reset(client: Client) -> None:
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


def permission(client: Client) -> None:
    sent = client.post("permitted", "use request_permission:network", key="k-permission")
    client.command("decide", sent)
    client.wait(sent)


def approval(client: Client) -> None:
    sent = client.post("approved", "use asked:k", key="k-approval")
    client.command("decide", sent)
    client.wait(sent)


def flaky(client: Client) -> None:
    client.wait(client.post(SIDE, "flaky", key="k-flaky"))


def hopeless(client: Client) -> None:
    client.wait(client.post(SIDE, "hopeless", key="k-hopeless"))


def compact(client: Client) -> None:
    parts = [client.wait(client.post("long", f"part {n}", key=f"k-part-{n}")) for n in range(3)]
    client.command("compact", parts[0])


def rename(client: Client) -> None:
    sent = client.wait(client.post(MAIN, "name yourself", key="k-name"))
    client.command("rename", sent, name="Named")
    client.log.names[str(sent.agent)] = "Named"


def delete(client: Client) -> None:
    sent = client.wait(client.post("doomed", "farewell", key="k-doomed"))
    try:
        client.command("delete", sent)
    except RetinueError as error:
        if not error.message.startswith("not_found"):
            raise
    client.log.deleted.append(str(sent.agent))


def ask(client: Client) -> None:
    """Every way in which a delegation ends by itself."""
    client.wait(client.post("asking", "ask worker sync 30 create a quick job", key="k-ask"))
    chain = "ask worker sync 30 create ask expert sync 30 latest-or-create a deep job"
    client.wait(client.post("asking", chain, key="k-ask-chain"))
    pair = "ask worker sync 30 create one half + expert sync 30 latest-or-create other half"
    client.wait(client.post("asking", pair, key="k-ask-pair"))
    client.wait(client.post("asking", "ask worker sync 30 create hopeless job", key="k-ask-bad"))


def ask_later(client: Client) -> None:
    first = client.post("asking-later", "ask worker async 0 create a slow job", key="k-later")
    client.wait(first)
    again = "ask worker async 0 create hopeless errand"
    client.wait(client.post("asking-later-2", again, key="k-later-bad"))


def ask_too_long(client: Client) -> None:
    """A job that outlasts its timeout; the last step waits for it."""
    client.post("asking-long", "ask worker sync 1 create use hold:long", key=LONG)


def withdraw(client: Client) -> None:
    text = "ask worker sync 30 create ask expert sync 30 create use stuck:withdrawn"
    sent = client.post("withdrawing", text, key="k-withdraw", may_be_cancelled=True)
    client.until_effect("withdrawn", sent)
    client.command("stop", sent)
    client.wait(sent)


def terminate(client: Client) -> None:
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


def background(client: Client) -> None:
    client.wait(client.post("starting", "start errand", key="k-start"))


def switch(client: Client) -> None:
    for text in ("hello there", "switch expert", "over here", "switch helper", "back again"):
        client.wait(client.post(SWITCHED, text, key=f"k-switch-{text}"))


def put_off(client: Client) -> None:
    asked = client.post("undecided", "use permit:that", key="k-permit")
    client.until_waiting(asked)
    client.wait(client.post("undecided", "something else", key="k-else"))
    client.wait(asked)


def schedule(client: Client) -> None:
    """A time that comes while the engine runs, or while it is dead: it runs once."""
    name = client.ask({"do": "schedule", "title": "timer", "key": "k-timer"})
    client.log.schedules.append(name)
    end = time.monotonic() + _PATIENCE_SECONDS
    while not client.ask({"do": "has_run", "schedule": name}):
        if time.monotonic() > end:
            raise RetinueError(f"the schedule {name!r} never ran")
        time.sleep(0.002)


def lead(client: Client) -> None:
    """Subagents that are waited for, that work beside their parent, and that outlive a handoff."""
    client.wait(client.post(LEADING, "lead pair first", key="k-lead"))
    client.wait(client.post(LEADING, "lead crew second", key="k-lead-aside"))
    client.wait(client.post(LEADING, "again third", key="k-lead-again"))
    client.wait(client.post(LEADING, "hand over", key="k-lead-over"))


STEPS: Sequence[Step] = (
    ask_too_long,
    hello,
    repeat,
    no_key,
    burst,
    every_contract,
    together,
    two_steps,
    tell,
    quiet,
    steer,
    stop,
    reset,
    permission,
    approval,
    flaky,
    hopeless,
    compact,
    rename,
    delete,
    ask,
    ask_later,
    withdraw,
    terminate,
    background,
    put_off,
    switch,
    lead,
    schedule,
)


def ordered(seed: int) -> list[Step]:
    """Give the steps as they are written for seed 0, else in another order."""
    steps = list(STEPS)
    if seed:
        Random(seed).shuffle(steps)
    return steps


def play(client: Client, seed: int) -> None:
    """Do every step, and wait until nothing is left to do."""
    for step in ordered(seed):
        step(client)
    for sent in client.log.sent:
        if sent.key == LONG:
            client.wait(sent)
    client.release("long")
    # After a death, a silent message waits for a step that runs anyway: let there be one.
    client.wait(client.post(SIDE, "goodbye", key="k-goodbye"))
    client.log.open_at_the_end = client.ask({"do": "settle"})


def items_of(sent: Sequence[Sent]) -> list[str]:
    return [one.item for one in sent if one.item is not None]
