"""Permissions, approvals, switched chats and schedules."""

import time
from collections.abc import Iterator

from retinue.errors import RetinueError
from retinue.testing.verify.evidence import Evidence, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.trial_client import TrialClient
from retinue.testing.verify.trial_world import SWITCHED

_PATIENCE_SECONDS = 20.0
_SWITCHES = ("hello there", "switch expert", "over here", "switch helper", "back again")


def permission(client: TrialClient) -> None:
    sent = client.post("permitted", "use request_permission:network", key="k-permission")
    client.command("decide", sent)
    client.wait(sent)


def approval(client: TrialClient) -> None:
    sent = client.post("approved", "use asked:k", key="k-approval")
    client.command("decide", sent)
    client.wait(sent)


def put_off(client: TrialClient) -> None:
    asked = client.post("undecided", "use permit:that", key="k-permit")
    client.until_waiting(asked)
    client.wait(client.post("undecided", "something else", key="k-else"))
    client.wait(asked)


def switch(client: TrialClient) -> None:
    for text in _SWITCHES:
        client.wait(client.post(SWITCHED, text, key=f"k-switch-{text}"))


def schedule(client: TrialClient) -> None:
    """A schedule that is due while the engine runs or is down runs once."""
    name = client.ask({"do": "schedule", "title": "timer", "key": "k-timer"})
    client.log.schedules.append(name)
    end = time.monotonic() + _PATIENCE_SECONDS
    while not client.ask({"do": "has_run", "schedule": name}):
        if time.monotonic() > end:
            raise RetinueError(f"the schedule {name!r} never ran")
        time.sleep(0.005)


def decisions(evidence: Evidence) -> Iterator[str]:
    """Granted permissions are held, and each call that waited for a decision has one result."""
    outcomes: dict[str, list[str]] = {"permitted": [], "approved": [], "undecided": []}
    for agent in evidence.agents.values():
        if agent["channel"] in outcomes:
            outcomes[agent["channel"]] += [record["status"] for record in results_of(agent)]
        if agent["channel"] == "permitted" and agent["grants"] != ["@network"]:
            yield f"decision: the grants are {agent['grants']}"
    if outcomes["permitted"] != ["ok"]:
        yield f"decision: the permission ended as {outcomes['permitted']}"
    if outcomes["approved"] not in (["ok"], ["unknown"]):
        yield f"decision: the approved call ended as {outcomes['approved']}"
    if len(outcomes["undecided"]) != 1:
        yield f"decision: the undecided request ended as {outcomes['undecided']}"


def switched(evidence: Evidence) -> Iterator[str]:
    """A person who switches between agents gets one reply to each message."""
    replies = len({d.key for d in evidence.deliveries if d.name == SWITCHED})
    if replies != len(_SWITCHES):
        yield f"reply: {replies} came to the chat that was switched, for {len(_SWITCHES)} messages"


def schedules(evidence: Evidence) -> Iterator[str]:
    """Each due time has exactly one item with one final fate."""
    if len(evidence.log.schedules) != 1:
        yield "schedule: none was created"
    for name in evidence.log.schedules:
        slots = evidence.slots.get(name)
        if slots is None:
            yield f"schedule: {name!r} was acknowledged and is missing"
            continue
        if [slot["status"] for slot in slots] != ["fired"] or slots[0].get("fate") != "answered":
            yield f"schedule: {name!r} ended as {slots}"
        told = [
            record["item"]
            for agent in evidence.agents.values()
            for record in agent["records"]
            if record["kind"] == "system" and record.get("origin") == name
        ]
        if told != [slot.get("itemId") for slot in slots]:
            yield f"schedule: {name!r} was delivered {len(told)} times for {len(slots)} slots"


PEOPLE = Part(
    name="people",
    summary="permissions, approvals, suspended calls, switched chats, a schedule",
    steps=(permission, approval, put_off, switch, schedule),
    judges=(decisions, switched, schedules),
)
