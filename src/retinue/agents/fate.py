"""What becomes of an item: exactly one final fate, and where it is on the way there."""

from typing import Literal, TypeGuard

OpenFate = Literal["queued", "running", "waiting"]
FinalFate = Literal["answered", "failed", "cancelled", "refused", "expired"]
Fate = Literal[
    "queued", "running", "waiting", "answered", "failed", "cancelled", "refused", "expired"
]
WaitReason = Literal["permission", "child", "budget", "variables"]

FINAL: frozenset[str] = frozenset({"answered", "failed", "cancelled", "refused", "expired"})

WITHDRAWN = "withdrawn"
"""The reason of items that their senders took back."""


def is_final(fate: Fate) -> TypeGuard[FinalFate]:
    return fate in FINAL
