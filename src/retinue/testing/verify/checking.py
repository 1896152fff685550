"""What must hold after a trial, judged from the client's own log and what the world outside saw."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from retinue.testing.verify.acting import DELIVERED, SWITCHED
from retinue.testing.verify.client import Log, Sent
from retinue.testing.verify.collaborating import children, delegations, requests
from retinue.testing.verify.effects import Effect
from retinue.testing.verify.leading import subagents

Record = dict[str, Any]


class Evidence:
    """Everything that a trial left behind."""

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
        self.agents: dict[str, dict[str, Any]] = {agent["id"]: agent for agent in told["agents"]}
        self.differences: list[str] = told["differences"]
        self.slots: dict[str, list[dict[str, Any]]] = told["slots"]
        self.effects = effects
        self.deliveries = deliveries
        self.database = database


def violations(evidence: Evidence) -> list[str]:
    """Say everything that does not hold; nothing said means that all does."""
    return [
        *_fates(evidence),
        *_order(evidence),
        *_histories(evidence),
        *_effects(evidence),
        *_posts(evidence),
        *delegations(evidence.agents),
        *requests(evidence.agents),
        *children(evidence.agents),
        *subagents(evidence.agents),
        *_decisions(evidence),
        *_replies(evidence),
        *_commands(evidence),
        *_schedules(evidence),
        *_rest(evidence),
    ]


def _kept(evidence: Evidence) -> list[Sent]:
    return [sent for sent in evidence.log.sent if sent.agent not in evidence.log.deleted]


def _fates(evidence: Evidence) -> Iterator[str]:
    """Every acknowledged message has one final fate, the one that its sender was told."""
    for sent in _kept(evidence):
        if sent.item is None:
            continue
        item = evidence.items.get(sent.item)
        if item is None:
            yield f"fate: {sent.text!r} was acknowledged and is gone"
            continue
        expected = {"failed"} if sent.text == "hopeless" else {"answered"}
        if sent.may_be_cancelled:
            expected |= {"cancelled"}
        if item["fate"] not in expected:
            yield f"fate: {sent.text!r} is {item['fate']}, not {' or '.join(sorted(expected))}"
        if sent.fate and sent.fate != item["fate"]:
            yield f"fate: {sent.text!r} was told to be {sent.fate} and is {item['fate']}"


def _order(evidence: Evidence) -> Iterator[str]:
    """Messages are in the history once, in the order of their acknowledgement."""
    said: dict[str, list[str]] = defaultdict(list)
    for agent in evidence.agents.values():
        for record in agent["records"]:
            if record["kind"] == "user":
                said[agent["id"]].append(record["item"])
    for agent_id, items in said.items():
        sent = [s.item for s in evidence.log.sent if s.agent == agent_id and s.item in items]
        known = [item for item in items if item in sent]
        if len(items) != len(set(items)):
            yield "order: a message is in the history twice"
        elif known != sent:
            yield f"order: the history of {evidence.agents[agent_id]['channel']!r} is not in order"
    texts = Counter(
        record["text"]
        for agent in evidence.agents.values()
        for record in agent["records"]
        if record["kind"] == "user"
    )
    for sent in _kept(evidence):
        if texts[sent.text] > 1:
            yield f"order: {sent.text!r} was sent once and is there {texts[sent.text]} times"
        if sent.item and not texts[sent.text] and not sent.may_be_cancelled:
            yield f"order: {sent.text!r} was acknowledged and is in no history"


def _histories(evidence: Evidence) -> Iterator[str]:
    """Each call has one result, before anything else; each answer belongs to a message."""
    replies = {(i["agent"], i["reply"]) for i in evidence.items.values() if i is not None}
    for agent in evidence.agents.values():
        where = agent["channel"]
        expected = list(range(1, len(agent["records"]) + 1))
        if [record["seq"] for record in agent["records"]] != expected:
            yield f"history: {where!r} has a gap"
        open_calls: list[str] = []
        for record in agent["records"]:
            kind = record["kind"]
            if kind == "tool":
                if record["call"] not in open_calls:
                    yield f"history: {where!r} has a result that nobody asked for"
                else:
                    open_calls.remove(record["call"])
            elif kind in ("assistant", "user", "system", "reset") and open_calls:
                yield f"history: {where!r} has a call without a result"
                open_calls = []
            if kind == "assistant":
                open_calls = [part["id"] for part in record["parts"] if part["type"] == "call"]
                is_reply = (agent["id"], record["seq"]) in replies
                if not open_calls and not is_reply and not record.get("side"):
                    yield f"history: {where!r} has an answer that answers nothing"
        if open_calls:
            yield f"history: {where!r} ends with an open call"


def _effects(evidence: Evidence) -> Iterator[str]:
    """Nothing happens twice that must not, and a repeat has the same key."""
    runs = Counter((effect.name, effect.key) for effect in evidence.effects)
    for (name, _), count in runs.items():
        if name in ("once", "stuck", "checked", "asked") and count > 1:
            yield f"effect: {name} happened {count} times"
        if name in ("keyed", "pure", "hold", "tell", "permit") and count > 1 + evidence.log.deaths:
            yield f"effect: {name} ran {count} times"
    keys: dict[tuple[str, str], set[str]] = defaultdict(set)
    for effect in evidence.effects:
        keys[effect.name, effect.text].add(effect.key)
    for (name, what), used in keys.items():
        if len(used) > 1:
            yield f"effect: {name} {what} ran with {len(used)} keys"


def _posts(evidence: Evidence) -> Iterator[str]:
    """What a tool posted arrived exactly once, if the tool's result says so."""
    told = news = 0
    for agent in evidence.agents.values():
        for record in agent["records"]:
            told += record["kind"] == "tool" and record["text"] == "told"
            news += record["kind"] == "system" and record["text"] == "news"
    if told != news or told != 1:
        yield f"post: told {told} times, arrived {news} times"


def _decisions(evidence: Evidence) -> Iterator[str]:
    """What was allowed is held, and each call that waited for a decision has one result."""
    for agent in evidence.agents.values():
        if agent["channel"] not in ("permitted", "approved"):
            continue
        results = [r["status"] for r in agent["records"] if r["kind"] == "tool"]
        if agent["channel"] == "permitted" and (agent["grants"], results) != (["@network"], ["ok"]):
            yield f"decision: the grants are {agent['grants']} after {results}"
        if agent["channel"] == "approved" and results not in (["ok"], ["unknown"]):
            yield f"decision: the approved call ended as {results}"


def _replies(evidence: Evidence) -> Iterator[str]:
    """Each reply leaves, in order; again only with the same key and where a death explains it."""
    texts: dict[str, set[str]] = defaultdict(set)
    for delivery in evidence.deliveries:
        texts[delivery.key].add(delivery.text)
    if any(len(different) > 1 for different in texts.values()):
        yield "reply: one key was used for two texts"
    repeats = len(evidence.deliveries) - len(texts)
    if repeats > evidence.log.deaths:
        yield f"reply: {repeats} repeats after {evidence.log.deaths} deaths"
    written = sum(sent.channel == SWITCHED for sent in evidence.log.sent)
    replies = len({d.key for d in evidence.deliveries if d.name == SWITCHED})
    if written != replies:
        yield f"reply: {replies} came to the chat that was switched, for {written} messages"
    for agent in evidence.agents.values():
        if agent["channel"] not in DELIVERED:
            continue
        due = [f"{agent['id']}/{record['seq']}" for record in agent["records"] if _is_reply(record)]
        sent = list(dict.fromkeys(d.key for d in evidence.deliveries if d.name == agent["channel"]))
        if sent != due:
            yield f"reply: {agent['channel']!r} was sent {len(sent)} of {len(due)}, or not in order"


def _is_reply(record: Record) -> bool:
    if record["kind"] == "note":
        return str(record["text"]).startswith("This could not be answered")
    is_answer = record["kind"] == "assistant"
    return is_answer and not any(part["type"] == "call" for part in record["parts"])


def _commands(evidence: Evidence) -> Iterator[str]:
    for agent_id in evidence.log.resets:
        if not any(r["kind"] == "reset" for r in evidence.agents[agent_id]["records"]):
            yield "command: a reset was acknowledged and is not recorded"
    for agent_id, name in evidence.log.names.items():
        if evidence.agents[agent_id]["name"] != name:
            yield "command: a name was acknowledged and is not there"
    for agent_id in evidence.log.deleted:
        if agent_id in evidence.agents:
            yield "command: an agent was deleted and is still there"


def _schedules(evidence: Evidence) -> Iterator[str]:
    """Each due time has exactly one item, and that one final fate."""
    for name in evidence.log.schedules:
        slots = evidence.slots.get(name)
        if slots is None:
            yield f"schedule: {name!r} was acknowledged and is gone"
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
            yield f"schedule: {name!r} was told {len(told)} times for {len(slots)} slots"


def _rest(evidence: Evidence) -> Iterator[str]:
    """Nothing waits, the database is whole, and the folders say the same as the store."""
    for name, count in evidence.log.open_at_the_end.items():
        if count:
            yield f"rest: {count} {name} are left open"
    for agent in evidence.agents.values():
        if not agent["isResting"]:
            yield f"rest: {agent['channel']!r} is still in a turn"
    for difference in evidence.differences:
        # A delivery is no change that the mirror follows: it would at worst be repeated by its key.
        if "outbox differs" not in difference:
            yield f"folders: {difference}"
    database = sqlite3.connect(evidence.database)
    try:
        found = [row[0] for row in database.execute("PRAGMA integrity_check")]
        broken = database.execute("PRAGMA foreign_key_check").fetchall()
    finally:
        database.close()
    if found != ["ok"] or broken:
        yield f"store: {found + broken}"
