"""The table that `retinue verify` prints."""

from collections.abc import Sequence

from retinue.testing.verify.trial import Verdict


def report(verdicts: Sequence[Verdict], seconds: float, seed: int) -> str:
    """Tell how many points of each kind were tried, and everything that does not hold."""
    rows: dict[str, list[int]] = {}
    for verdict in verdicts:
        name = " then ".join(kill.rpartition(":")[0] for kill in verdict.kills) or "no kill"
        if len(verdict.kills) > 1:
            name = "two deaths"
        row = rows.setdefault(name, [0, 0, 0])
        row[0] += 1
        row[1] += verdict.deaths >= len(verdict.kills)
        row[2] += bool(verdict.violations)
    width = max(map(len, rows))
    lines = [f"{'point':<{width}}  tried  reached  failed"]
    lines += [
        f"{name:<{width}}  {tried:>5}  {reached:>7}  {failed:>6}"
        for name, (tried, reached, failed) in sorted(rows.items())
    ]
    failed = [verdict for verdict in verdicts if verdict.violations]
    for verdict in failed:
        lines += ["", f"killed at {' then '.join(verdict.kills) or 'no point'}:"]
        lines += [f"  {violation}" for violation in verdict.violations]
        lines += [f"  again: {reproduce(verdict, seed)}"]
        if verdict.directory:
            lines += [f"  data: {verdict.directory}"]
    count = sum(len(verdict.violations) for verdict in failed)
    lines += ["", f"{len(verdicts) - 1} kill points, {count} violations, {seconds:.0f} s", ""]
    return "\n".join(lines)


def reproduce(verdict: Verdict, seed: int) -> str:
    words = "".join(f" --only {kill}" for kill in verdict.kills[:1])
    seeded = f" --seed {seed}" if seed else ""
    return f"retinue verify{words}{seeded} --keep"
