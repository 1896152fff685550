"""The guarantees that are checked after each trial, based on the client's log and effects."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from retinue.testing.verify.collaboration_checks import children, delegations, requests
from retinue.testing.verify.evidence import Evidence, Record
from retinue.testing.verify.part import Judge
from retinue.testing.verify.trial_world import DELIVERED

_REPEATED = ("keyed", "pure", "hold", "tell", "permit", "spend")
"""tools that may run again after a crash, with the same key"""


def violations(evidence: Evidence, judges: Sequence[Judge] = ()) -> list[str]:
    """Return all violations, including those that the part's own checks find."""
    return [
        *_fates(evidence),
        *_order(evidence),
        *_histories(evidence),
        *_effects(evidence),
        *delegations(evidence.agents),
        *requests(evidence.agents),
        *children(evidence.agents),
        *_replies(evidence),
        *_rest(evidence),
        *(line for judge in judges for line in judge(evidence)),
    ]


def _fates(evidence: Evidence) -> Iterator[str]:
    """Every acknowledged message has one final fate, the one reported to its sender."""
    for sent in evidence.kept:
        if sent.item is None:
            continue
        item = evidence.items.get(sent.item)
        if item is None:
            yield f"fate: {sent.text!r} was acknowledged and is missing"
            continue
        expected = {"failed"} if sent.text == "hopeless" else {"answered"}
        if sent.may_be_cancelled:
            expected |= {"cancelled"}
        if item["fate"] not in expected:
            yield f"fate: {sent.text!r} is {item['fate']}, not {' or '.join(sorted(expected))}"
        if sent.fate and sent.fate != item["fate"]:
            yield f"fate: {sent.text!r} was reported as {sent.fate} and is {item['fate']}"


def _order(evidence: Evidence) -> Iterator[str]:
    """Messages are in the history once, in the order of acknowledgement."""
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
    for sent in evidence.kept:
        count = texts[sent.written]
        if count > 1:
            yield f"order: {sent.text!r} was sent once and is recorded {count} times"
        if sent.item and not count and not sent.may_be_cancelled:
            yield f"order: {sent.text!r} was acknowledged and is in no history"


def _histories(evidence: Evidence) -> Iterator[str]:
    """Each call is followed by one result; each answer belongs to a message."""
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
                    yield f"history: {where!r} has a result without a call"
                else:
                    open_calls.remove(record["call"])
            elif kind in ("assistant", "user", "system", "reset") and open_calls:
                yield f"history: {where!r} has a call without a result"
                open_calls = []
            if kind == "assistant":
                open_calls = [part["id"] for part in record["parts"] if part["type"] == "call"]
                is_reply = (agent["id"], record["seq"]) in replies
                if not open_calls and not is_reply and not record.get("side"):
                    yield f"history: {where!r} has an answer without a message"
        if open_calls:
            yield f"history: {where!r} ends with an open call"


def _effects(evidence: Evidence) -> Iterator[str]:
    """Effects that must happen once do, and repeats have the same key."""
    runs = Counter((effect.name, effect.key) for effect in evidence.effects)
    for (name, _), count in runs.items():
        if name in ("once", "stuck", "checked", "asked") and count > 1:
            yield f"effect: {name} happened {count} times"
        if name in _REPEATED and count > 1 + evidence.log.deaths:
            yield f"effect: {name} ran {count} times"
    keys: dict[tuple[str, str], set[str]] = defaultdict(set)
    for effect in evidence.effects:
        keys[effect.name, effect.text].add(effect.key)
    for (name, what), used in keys.items():
        if len(used) > 1:
            yield f"effect: {name} {what} ran with {len(used)} keys"


def _replies(evidence: Evidence) -> Iterator[str]:
    """Each reply is sent in order; it is repeated only after a crash and with the same key."""
    texts: dict[str, set[str]] = defaultdict(set)
    for delivery in evidence.deliveries:
        texts[delivery.key].add(delivery.text)
    if any(len(different) > 1 for different in texts.values()):
        yield "reply: one key was used for two texts"
    repeats = len(evidence.deliveries) - len(texts)
    if repeats > evidence.log.deaths:
        yield f"reply: {repeats} repeats after {evidence.log.deaths} crashes"
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


def _rest(evidence: Evidence) -> Iterator[str]:
    """Nothing is pending, the database is intact, and the folders match the store."""
    for name, count in evidence.log.open_at_the_end.items():
        if count:
            yield f"rest: {count} {name} are left open"
    for agent in evidence.agents.values():
        if not agent["isResting"]:
            yield f"rest: {agent['channel']!r} is still in a turn"
    for difference in evidence.differences:
        # The mirror does not follow deliveries; at worst one is repeated with the same key.
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
