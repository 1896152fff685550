"""The report of `retinue verify`: totals by kind of point and by part, and violations."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from retinue.testing.verify.trial import TrialVerdict


class TrialTally(Struct, kw_only=True):
    """Trials of one part, or of one kind of point."""

    tried: int = 0
    killed: int = 0  # at the intended point
    failed: int = 0

    def add(self, verdict: TrialVerdict) -> None:
        self.tried += 1
        self.killed += verdict.deaths >= len(verdict.kills)
        self.failed += bool(verdict.violations)


def report(verdicts: Sequence[TrialVerdict], seconds: float, seed: int) -> str:
    """Format the report as text."""
    kills = [verdict for verdict in verdicts if verdict.kills]
    lines = [*_table("point", kills, _kind), "", *_table("part", kills, lambda v: v.part)]
    for verdict in verdicts:
        if verdict.violations:
            lines += ["", f"{name_of(verdict)}:"]
            lines += [f"  {violation}" for violation in verdict.violations]
            lines += [f"  reproduce: {reproduce(verdict, seed)}"]
            lines += [f"  data: {verdict.directory}"] if verdict.directory else []
    count = sum(len(verdict.violations) for verdict in verdicts)
    lines += ["", f"{len(kills)} kill points, {count} violations, {seconds:.0f} s", ""]
    return "\n".join(lines)


def facts(verdicts: Sequence[TrialVerdict], seconds: float, seed: int) -> dict[str, Any]:
    """Return the report as data."""
    kills = [verdict for verdict in verdicts if verdict.kills]
    failed = [verdict for verdict in verdicts if verdict.violations]
    return {
        "points": len(kills),
        "killed": sum(verdict.deaths >= len(verdict.kills) for verdict in kills),
        "violations": sum(len(verdict.violations) for verdict in failed),
        "seconds": round(seconds, 1),
        "parts": [
            {"name": name, "points": tally.tried, "killed": tally.killed, "failed": tally.failed}
            for name, tally in _tallies(kills, lambda v: v.part).items()
        ],
        "failed": [
            {
                "part": verdict.part,
                "kills": list(verdict.kills),
                "violations": list(verdict.violations),
                "directory": verdict.directory,
                "reproduce": reproduce(verdict, seed),
            }
            for verdict in failed
        ],
    }


def name_of(verdict: TrialVerdict) -> str:
    return f"{verdict.part}, killed at {' then '.join(verdict.kills) or 'no point'}"


def reproduce(verdict: TrialVerdict, seed: int) -> str:
    words = "".join(f" --only {kill}" for kill in verdict.kills[:1])
    seeded = f" --seed {seed}" if seed else ""
    return f"retinue verify --part {verdict.part}{words}{seeded} --keep"


def _kind(verdict: TrialVerdict) -> str:
    return "two crashes" if len(verdict.kills) > 1 else verdict.kills[0].rpartition(":")[0]


def _tallies(
    verdicts: Sequence[TrialVerdict], key: Callable[[TrialVerdict], str]
) -> dict[str, TrialTally]:
    tallies: dict[str, TrialTally] = {}
    for verdict in verdicts:
        tallies.setdefault(key(verdict), TrialTally()).add(verdict)
    return tallies


def _table(
    title: str, verdicts: Sequence[TrialVerdict], key: Callable[[TrialVerdict], str]
) -> Sequence[str]:
    tallies = _tallies(verdicts, key)
    width = max(map(len, [title, *tallies]))
    return [
        f"{title:<{width}}  tried  killed  failed",
        *(
            f"{name:<{width}}  {tally.tried:>5}  {tally.killed:>6}  {tally.failed:>6}"
            for name, tally in sorted(tallies.items())
        ),
    ]
