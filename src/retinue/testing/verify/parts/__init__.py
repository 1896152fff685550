"""The parts of the crash tests, in the order in which they run."""

from collections.abc import Mapping

from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.artifacts import ARTIFACTS
from retinue.testing.verify.parts.commands import COMMANDS
from retinue.testing.verify.parts.delegation import DELEGATION, WITHDRAWAL
from retinue.testing.verify.parts.hooks import HOOKING
from retinue.testing.verify.parts.messages import MESSAGES
from retinue.testing.verify.parts.people import PEOPLE
from retinue.testing.verify.parts.sides import SIDES
from retinue.testing.verify.parts.sub_prompts import SUB_PROMPTS
from retinue.testing.verify.parts.subagents import HANDOFF, SUBAGENTS
from retinue.testing.verify.parts.tools import TOOLS
from retinue.testing.verify.parts.variables import VARIABLES

PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        MESSAGES,
        COMMANDS,
        TOOLS,
        PEOPLE,
        DELEGATION,
        WITHDRAWAL,
        SIDES,
        SUBAGENTS,
        HANDOFF,
        VARIABLES,
        SUB_PROMPTS,
        HOOKING,
        ARTIFACTS,
    )
}

__all__ = ["PARTS"]
