"""Real processes, killed and restarted, and the judge who tells what they broke."""

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import retinue
from retinue.testing.verify.checking import Evidence, violations
from retinue.testing.verify.client import Log, Sent
from retinue.testing.verify.effects import Effect
from retinue.testing.verify.running import Workers, chosen, run, sampled
from retinue.testing.verify.trial import Task, Verdict

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


def commit_names() -> set[str]:
    """Give the names under which the engine commits, from its source."""
    root = Path(retinue.__file__).parent / "engine"
    named = re.compile(r'(?:commit\(warm, draft, |^ +name = )"(\w+)"', re.MULTILINE)
    return {name for file in root.glob("*.py") for name in named.findall(file.read_text())}


def test_a_sample_of_all_kill_points_breaks_no_promise() -> None:
    written: list[str] = []
    assert run(quick=True, write=written.append) == 0, "".join(written)
    assert "24 kill points, 0 violations" in written[-1]


@pytest.mark.parametrize(
    "point",
    [
        "admit:written:1",
        "admit:after:2",
        "drain:after:2",
        "model:after:3",
        "response:before:4",
        "response:after:5",
        "tool:before:3",
        "tool:after:4",
        "result:after:4",
        "deliver:after:2",
        "stop:before:1",
        "reset:after:1",
        "retry:after:1",
        "fail:before:1",
        "summary:before:1",
        "patch:after:1",
        "delete:written:1",
        "mirror:written:1",
        "settle:before:2",
        "settle:after:3",
        "timeout:before:1",
        "timeout:after:1",
        "withdraw:after:1",
        "end:before:1",
        "putoff:after:1",
        "boot:after:1",
        "remind:before:1",
        "run:before:1",
        "run:after:2",
        "register:after:1",
    ],
)
def test_the_engine_goes_on_after_a_death_at(workers: Workers, point: str) -> None:
    verdict = workers.try_out(Task(kills=[point])).result()
    assert verdict.violations == []
    assert verdict.deaths == 1


UNREACHED = {
    "answer",  # only after a crash between a response and its fates
    "discard",  # only when an answer crosses its withdrawal
    "park",  # only of an agent that is made before anybody writes to it
}


def test_the_script_reaches_every_kind_of_commit(workers: Workers) -> None:
    verdict = workers.try_out(Task(logs_reached=True)).result()
    reached = {point.partition(":")[0] for point in verdict.reached[0]}
    assert verdict.violations == []
    assert commit_names() - UNREACHED <= reached


def test_the_engine_goes_on_after_two_deaths(workers: Workers) -> None:
    verdict = workers.try_out(Task(kills=["response:after:5", "claim:after:1"])).result()
    assert (verdict.violations, verdict.deaths) == ([], 2)


def test_another_order_of_the_same_script_holds_too(workers: Workers) -> None:
    verdict = workers.try_out(Task(kills=["commit:written:30"], seed=3)).result()
    assert verdict.violations == []


def test_a_sample_has_some_of_each_kind() -> None:
    points = [f"a:{n}" for n in range(1, 50)] + ["b:1", "c:1"]
    taken = sampled(points, 5, Random(0))
    assert {"b:1", "c:1"} <= set(taken)
    assert len(taken) == len(set(taken)) == 5


def test_a_whole_name_chooses_just_that_point() -> None:
    assert chosen(["a:1", "a:10", "b:1"], ["a:1"], 0) == ["a:1"]
    assert chosen(["a:1", "a:10", "b:1"], ["a"], 0) == ["a:1", "a:10"]
    assert chosen(["a:1", "a:1", "b:1"], [], 0) == ["a:1", "b:1"]


def test_a_verdict_travels_between_processes(workers: Workers) -> None:
    verdict = workers.try_out(Task(kills=[], logs_reached=True)).result()
    assert isinstance(verdict, Verdict)
    assert len(verdict.reached[0]) > 400
    names = {point.rpartition(":")[0] for point in verdict.reached[0]}
    assert {"commit:written", "response:after", "tool:after", "deliver:done", "stop:after"} <= names


# -- the judge itself


def judged(tmp_path: Path, **changes: object) -> list[str]:
    """Judge a small trial in which all is well, but for the changes."""
    records = [
        {"kind": "start", "seq": 1},
        {"kind": "user", "seq": 2, "item": "m1", "text": "hello"},
        {"kind": "assistant", "seq": 3, "parts": [{"type": "call", "id": "c"}]},
        {"kind": "tool", "seq": 4, "call": "c", "name": "tell", "text": "told"},
        {"kind": "assistant", "seq": 5, "parts": [{"type": "text"}]},
        {"kind": "system", "seq": 6, "text": "news"},
    ]
    facts: dict[str, object] = {
        "records": records,
        "fate": "answered",
        "name": "Named",
        "effects": [Effect(name="once", key="k", text="a")],
        "deliveries": [Effect(name="main", key="a1/5", text="hi")],
        "open": {"items": 0},
        "differences": [],
        "deaths": 0,
        **changes,
    }
    log = Log(
        sent=[Sent(text="hello", channel="main", key="k", item="m1", agent="a1", fate="answered")],
        names={"a1": "Named"},
        open_at_the_end=facts["open"],  # pyright: ignore[reportArgumentType]
        deaths=facts["deaths"],  # pyright: ignore[reportArgumentType]
    )
    agent: dict[str, object] = {
        "id": "a1",
        "channel": "main",
        "name": facts["name"],
        "isResting": True,
        "isActive": True,
        "parent": None,
        "definition": "helper",
        "isSubagent": False,
        "children": [],
        "records": facts["records"],
    }
    item = {"seq": 1, "fate": facts["fate"], "reply": 5, "agent": "a1"}
    return violations(
        Evidence(
            log=log,
            told={
                "items": {"m1": item},
                "agents": [agent],
                "differences": facts["differences"],
                "slots": {},
            },
            effects=facts["effects"],  # pyright: ignore[reportArgumentType]
            deliveries=facts["deliveries"],  # pyright: ignore[reportArgumentType]
            database=tmp_path / "empty.db",
        )
    )


def test_the_judge_says_nothing_when_all_is_well(tmp_path: Path) -> None:
    assert judged(tmp_path) == []


ONCE = Effect(name="once", key="k", text="a")
SENT = Effect(name="main", key="a1/5", text="hi")
OTHER_TEXT = Effect(name="main", key="a1/5", text="x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fate": "queued"}, "is queued, not answered"),
        ({"name": None}, "a name was acknowledged"),
        ({"effects": [ONCE, ONCE]}, "once happened 2 times"),
        ({"effects": [Effect(name="keyed", key=k, text="a") for k in "xy"]}, "with 2 keys"),
        ({"deliveries": []}, "was sent 0 of 1"),
        ({"deliveries": [SENT, SENT]}, "1 repeats after 0 deaths"),
        (
            {"deliveries": [SENT, Effect(name="main", key="a1/5", text="x")], "deaths": 1},
            "two texts",
        ),
        ({"open": {"items": 2}}, "2 items are left open"),
        ({"differences": ["x"]}, "folders: x"),
        ({"records": [{"kind": "start", "seq": 1}]}, "is in no history"),
    ],
    ids=[
        "no fate",
        "lost name",
        "once twice",
        "two keys",
        "no reply",
        "reply twice",
        "two texts",
        "left open",
        "folders",
        "lost message",
    ],
)
def test_the_judge_sees(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    assert any(words in line for line in judged(tmp_path, **changes))


def test_a_reply_may_leave_twice_with_its_key_when_a_death_explains_it(tmp_path: Path) -> None:
    assert judged(tmp_path, deliveries=[SENT, SENT], deaths=1) == []
