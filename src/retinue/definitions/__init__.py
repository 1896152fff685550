"""Templates of agents: what they are, how files define them, and what they may use."""

from retinue.definitions.catalog import Catalog
from retinue.definitions.declared import HookBlocked
from retinue.definitions.declaring import define_agent, define_hook, define_prompt
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt
from retinue.definitions.side import Side
from retinue.problems import LoadProblem

__all__ = [
    "Catalog",
    "Definition",
    "HookBlocked",
    "LoadProblem",
    "Prompt",
    "Side",
    "define_agent",
    "define_hook",
    "define_prompt",
]
