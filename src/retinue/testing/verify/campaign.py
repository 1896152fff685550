"""Finds all kill points, runs a trial for each, and reports violations."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from retinue.errors import UsageError
from retinue.testing.verify.parts import PARTS
from retinue.testing.verify.report import facts, report
from retinue.testing.verify.trial import Task
from retinue.testing.verify.workers import Workers

_QUICK = 40
_DEEP = 80
_EARLY = 40

Point = tuple[str, str]
"""A part and a kill point in it."""


def run(  # noqa: PLR0913  (keyword options of a command)
    *,
    parts: Sequence[str] = (),
    only: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    keep: bool = False,
    quick: bool = False,
    deep: bool = False,
    is_json: bool = False,
    write: Callable[[str], object] = sys.stdout.write,
) -> int:
    """Try every kill point of the given parts, or of all; returns 0 if there are no violations."""
    began = time.monotonic()
    names = _known(parts)
    progress = None if is_json else write
    with Workers(jobs or _enough()) as workers:
        whole = [Task(part=name, seed=seed, keeps=keep, logs_reached=True) for name in names]
        first = workers.try_all(whole, None)
        points = chosen([(v.part, p) for v in first for p in v.reached[0]], only)
        if quick or limit is not None:
            points = sampled(points, limit or _QUICK, Random(seed))
        tasks = [Task(part=part, kills=[kill], seed=seed, keeps=keep) for part, kill in points]
        if deep:
            tasks += second_deaths(workers, points, seed, keep)
        verdicts = [*first, *workers.try_all(tasks, progress)]
    seconds = time.monotonic() - began
    if is_json:
        write(msgspec.json.encode(facts(verdicts, seconds, seed)).decode() + "\n")
    else:
        write(report(verdicts, seconds, seed))
    return 1 if any(verdict.violations for verdict in verdicts) else 0


def list_parts(*, is_json: bool = False, write: Callable[[str], object] = sys.stdout.write) -> int:
    """List the parts with their summaries."""
    if is_json:
        listed = [{"name": part.name, "summary": part.summary} for part in PARTS.values()]
        write(msgspec.json.encode(listed).decode() + "\n")
    else:
        width = max(map(len, PARTS))
        write("".join(f"{part.name:<{width}}  {part.summary}\n" for part in PARTS.values()))
    return 0


def _known(parts: Sequence[str]) -> Sequence[str]:
    for name in parts:
        if name not in PARTS:
            raise UsageError(f"there is no part {name!r}; the parts are {', '.join(PARTS)}")
    return list(dict.fromkeys(parts)) or list(PARTS)


def _enough() -> int:
    """Return the number of workers: one more than cores, since trials sometimes wait."""
    return (os.cpu_count() or 1) + 1


def chosen(reached: Sequence[Point], only: Sequence[str]) -> list[Point]:
    """Return the points whose names contain one of the words; a full name selects only itself."""
    points = list(dict.fromkeys(reached))
    if not only:
        return points
    exact = [point for point in points if point[1] in only]
    return exact or [point for point in points if any(word in point[1] for word in only)]


def sampled(points: Sequence[Point], count: int, random: Random) -> list[Point]:
    """Return a sample that covers all kinds of points evenly."""
    kinds: dict[Point, list[Point]] = {}
    for part, kill in points:
        kinds.setdefault((part, kill.rpartition(":")[0]), []).append((part, kill))
    for of_kind in kinds.values():
        random.shuffle(of_kind)
    taken: list[Point] = []
    order = list(kinds.values())
    random.shuffle(order)
    while len(taken) < count and any(order):
        for of_kind in order:
            if of_kind and len(taken) < count:
                taken.append(of_kind.pop())
    return taken


def second_deaths(workers: Workers, points: Sequence[Point], seed: int, keep: bool) -> list[Task]:
    """Choose points in the recovery after a first crash for a second crash."""
    random = Random(seed)
    tasks = [
        Task(part=part, kills=[kill], seed=seed, logs_reached=True)
        for part, kill in sampled(points, _DEEP, random)
    ]
    pairs: list[Task] = []
    for verdict in workers.try_all(tasks, None):
        if len(verdict.reached) > 1:
            early = [(verdict.part, kill) for kill in verdict.reached[1][:_EARLY]]
            pairs += [
                Task(part=verdict.part, kills=[verdict.kills[0], kill], seed=seed, keeps=keep)
                for _, kill in sampled(early, 3, random)
            ]
    return pairs
