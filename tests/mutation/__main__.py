"""`make mutants`: mutates the engine's policy and fails when a mutant survives that is not listed.

`survivors.toml` lists the accepted ones by function and changed line, each with a reason. A listed
mutant that is killed, or that no longer exists, fails the run too, so that the list only shrinks.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("survivors.toml")
MUTMUT = [str(Path(sys.executable).with_name("mutmut"))]
_RESULT = re.compile(r"^\s*(?P<name>[\w.ǁ]+__mutmut_\d+): (?P<status>[\w ]+)$")
_COUNTER = re.compile(r"__mutmut_\d+$")
_KILLED = {"killed", "caught by type check", "timeout", "segfault"}


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """A change that can be found again after other lines have moved."""

    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.function}\n  - {self.before}\n  + {self.after}"


def run_mutmut(*arguments: str) -> str:
    done = subprocess.run(
        [*MUTMUT, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout


def surviving() -> set[Mutant]:
    """Every mutant that no test noticed."""
    found: set[Mutant] = set()
    for line in run_mutmut("results", "--all", "true").splitlines():
        match = _RESULT.match(line)
        if match is not None and match["status"] not in _KILLED:
            found.add(described(match["name"]))
    return found


def described(name: str) -> Mutant:
    lines = run_mutmut("show", name).splitlines()
    changes = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return Mutant(
        function=_COUNTER.sub("", name).removeprefix("retinue."),
        before=" ".join(line[1:].strip() for line in changes if line.startswith("-")),
        after=" ".join(line[1:].strip() for line in changes if line.startswith("+")),
    )


def accepted() -> dict[Mutant, str]:
    entries = tomllib.loads(LIST.read_text(encoding="utf-8")).get("mutant", [])
    return {
        Mutant(function=e["function"], before=e["before"], after=e["after"]): e["reason"]
        for e in entries
    }


def main() -> int:
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    ran = subprocess.run(
        [*MUTMUT, "run", "--max-children", "2", *sys.argv[1:]], cwd=ROOT, check=False
    )
    if ran.returncode:
        return ran.returncode
    survivors, known = surviving(), accepted()
    new = sorted(survivors - known.keys())
    gone = sorted(known.keys() - survivors)
    for mutant in new:
        print(f"Survived: {mutant}")
    for mutant in gone:
        print(f"No longer survives, remove it from {LIST.name}: {mutant}")
    print(f"{len(survivors)} survivors, {len(known)} of them listed with a reason")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main())
