"""Real processes, killed and restarted, and the judge who tells what they broke."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import retinue
from retinue.definitions.declarations import HOOK_KINDS
from retinue.errors import UsageError
from retinue.testing.verify.campaign import chosen, list_parts, run, sampled
from retinue.testing.verify.checks import violations
from retinue.testing.verify.effects import Effect
from retinue.testing.verify.evidence import Evidence
from retinue.testing.verify.parts import PARTS
from retinue.testing.verify.trial import Task, TrialVerdict
from retinue.testing.verify.trial_client import Log, Sent
from retinue.testing.verify.workers import Workers

pytestmark = [pytest.mark.crash, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(2) as running:
        yield running


def commit_names() -> set[str]:
    """Give the names under which the engine commits, from its source."""
    root = Path(retinue.__file__).parent / "engine"
    named = re.compile(r'(?:commit(?:_now)?\(live, draft, |^ +name = )"(\w+)"', re.MULTILINE)
    return {name for file in root.rglob("*.py") for name in named.findall(file.read_text())}


def test_a_sample_of_all_kill_points_breaks_no_promise() -> None:
    written: list[str] = []
    assert run(quick=True, write=written.append) == 0, "".join(written)
    assert "40 kill points, 0 violations" in written[-1]
    assert all(f"\n{name} " in written[-1] for name in ("delegation", "messages", "hooks"))


def test_one_part_is_told_as_data() -> None:
    written: list[str] = []
    assert run(parts=["handoff"], only=["handoff:"], is_json=True, write=written.append) == 0
    told = json.loads("".join(written))
    assert (told["points"], told["killed"], told["violations"]) == (2, 2, 0)
    assert told["parts"] == [{"name": "handoff", "points": 2, "killed": 2, "failed": 0}]
    with pytest.raises(UsageError, match="no part 'nothing'; the parts are messages, "):
        run(parts=["nothing"])


def test_the_parts_are_listed() -> None:
    written: list[str] = []
    assert list_parts(write=written.append) == 0
    assert [line.split()[0] for line in "".join(written).splitlines()] == list(PARTS)


KILLS = {
    "messages": (
        "admit:written:1",
        "admit:after:2",
        "drain:after:2",
        "model:after:3",
        "response:before:4",
        "deliver:after:2",
        "stop:before:1",
        "reset:after:1",
        "retry:after:1",
        "fail:before:1",
        "summary:before:1",
        "patch:after:1",
        "delete:written:1",
        "mirror:written:1",
    ),
    "commands": (
        "stop:before:1",
        "reset:before:1",
        "reset:after:2",
        "summary:before:1",
        "patch:before:1",
        "switch:before:1",
        "end:before:1",
        "end:after:1",
        "delete:before:1",
        "provide:before:1",
    ),
    "tools": ("response:after:3", "tool:before:3", "tool:after:4", "result:after:4"),
    "people": ("decide:before:1", "request:written:1", "putoff:after:1", "slot:written:1"),
    "delegation": (
        "settle:before:2",
        "settle:after:3",
        "fail:before:1",
    ),
    "withdrawal": (
        "timeout:before:1",
        "timeout:after:1",
        "withdraw:after:1",
        "end:before:1",
    ),
    "sides": ("remind:before:1", "switch:after:2", "run:before:1", "run:after:2"),
    "subagents": ("boot:after:1", "register:after:1", "run:before:2"),
    "handoff": ("handoff:before:1", "handoff:after:1", "boot:before:1"),
    "variables": ("provide:before:1", "provide:after:1", "create:written:1", "boot:after:1"),
    "sub-prompts": ("prompt:after:1", "tool:after:2", "result:before:3"),
    "hooks": (
        "after_thread_created:after:1",
        "before_create_message:after:1",
        "after_create_message:before:1",
        "after_tool_call_success:after:2",
        "after_subagent_created:after:1",
        "prefilter_llm_history:before:1",
    ),
    "artifacts": ("artifact:before:2", "artifact:written:3", "artifact:after:5", "tool:after:2"),
}


@pytest.mark.parametrize(
    ("part", "point"), [(part, point) for part, points in KILLS.items() for point in points]
)
def test_the_engine_goes_on_after_a_death_at(workers: Workers, part: str, point: str) -> None:
    verdict = workers.try_out(Task(part=part, kills=[point])).result()
    assert verdict.violations == []
    assert verdict.deaths == 1


UNREACHED = {
    "answer",  # only after a crash between a response and its fates
    "discard",  # only when an answer crosses its withdrawal
    "park",  # only of an agent that is made before anybody writes to it
}


def test_the_parts_reach_every_kind_of_commit_and_hook(workers: Workers) -> None:
    verdicts = workers.try_all([Task(part=part, logs_reached=True) for part in PARTS], None)
    assert [verdict.violations for verdict in verdicts] == [[]] * len(PARTS)
    reached = {point.partition(":")[0] for verdict in verdicts for point in verdict.reached[0]}
    assert commit_names() - UNREACHED <= reached
    assert set(HOOK_KINDS) <= reached


def test_the_engine_goes_on_after_two_deaths(workers: Workers) -> None:
    task = Task(part="tools", kills=["response:after:5", "claim:after:1"])
    verdict = workers.try_out(task).result()
    assert (verdict.violations, verdict.deaths) == ([], 2)


def test_another_order_of_the_same_steps_holds_too(workers: Workers) -> None:
    verdict = workers.try_out(Task(part="messages", kills=["commit:written:30"], seed=3)).result()
    assert verdict.violations == []


def test_a_sample_has_some_of_each_kind() -> None:
    points = [("x", f"a:{n}") for n in range(1, 50)] + [("x", "b:1"), ("y", "a:1")]
    taken = sampled(points, 5, Random(0))
    assert {("x", "b:1"), ("y", "a:1")} <= set(taken)
    assert len(taken) == len(set(taken)) == 5


def test_a_whole_name_chooses_just_that_point() -> None:
    points = [("x", "a:1"), ("x", "a:10"), ("y", "b:1"), ("y", "b:1")]
    assert chosen(points, ["a:1"]) == points[:1]
    assert chosen(points, ["a"]) == points[:2]
    assert chosen(points, []) == points[:3]


def test_a_verdict_travels_between_processes(workers: Workers) -> None:
    verdict = workers.try_out(Task(part="messages", logs_reached=True)).result()
    assert isinstance(verdict, TrialVerdict)
    assert len(verdict.reached[0]) > 200
    names = {point.rpartition(":")[0] for point in verdict.reached[0]}
    assert {"commit:written", "response:after", "tool:after", "deliver:done", "stop:after"} <= names


# -- the judge itself


HELLO = Sent(
    text="hello",
    written="hello",
    channel="main",
    key="k",
    item="m1",
    agent="a1",
    fate="answered",
)


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
        "effects": [Effect(name="once", key="k", text="a")],
        "deliveries": [Effect(name="main", key="a1/5", text="hi")],
        "open": {"items": 0},
        "differences": [],
        "deaths": 0,
        **changes,
    }
    log = Log(
        sent=[HELLO],
        open_at_the_end=facts["open"],  # pyright: ignore[reportArgumentType]
        deaths=facts["deaths"],  # pyright: ignore[reportArgumentType]
    )
    agent: dict[str, object] = {
        "id": "a1",
        "channel": "main",
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
        ({"effects": [ONCE, ONCE]}, "once happened 2 times"),
        ({"effects": [Effect(name="keyed", key=k, text="a") for k in "xy"]}, "with 2 keys"),
        ({"deliveries": []}, "was sent 0 of 1"),
        ({"deliveries": [SENT, SENT]}, "1 repeats after 0 crashes"),
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
