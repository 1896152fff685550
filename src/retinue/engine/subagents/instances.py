"""Instances of an immediate subagent: one for each set of variables that its parent was given.

`KEY` is the first instance's, `KEY__2` the second's, and so on. Each instance is given its own,
under the plain name, and from then on the parent has it no more. No value passes a model or a
history on the way, unless the entry names it for that (`nameEnv`, `descriptionEnv`). An entry
without `scopedEnv` hands over whatever is scoped in the graph of the subagent.
"""

import re
from collections.abc import Iterable, Mapping

from retinue.definitions.subagent_config import Immediate, SubagentConfig
from retinue.engine.calls.tool_call import CallContext

_INDEXED = re.compile(r"(.+)__([1-9][0-9]{0,3})")


def instances(immediate: Immediate, scoped: Iterable[str], own: Iterable[str]) -> list[int]:
    """Which instances the agent's variables are for; the first one when they are for none."""
    handed = immediate.scoped_env or scoped
    wanted = {*handed, immediate.name_env, immediate.description_env}
    found = {number for name, number in map(plain, own) if name in wanted}
    return sorted(found) or [1]


def indexed(name: str, number: int) -> str:
    return name if number == 1 else f"{name}__{number}"


def plain(name: str) -> tuple[str, int]:
    """Split a name into what it is for its instance, and which instance that is."""
    found = _INDEXED.fullmatch(name)
    return (found[1], int(found[2])) if found is not None else (name, 1)


def given(call: CallContext, config: SubagentConfig, scoped: Iterable[str]) -> Mapping[str, str]:
    """The names that an immediate instance gets, each with the parent's name for it."""
    number = call.turn.boots.get(call.call_id)
    if number is None or config.immediate is None:
        return {}
    handed = config.immediate.scoped_env or scoped
    names = {name: indexed(name, number) for name in handed}
    return {name: held for name, held in names.items() if held in call.state.env}


def is_for_instances(config: SubagentConfig, scoped: Iterable[str], name: str) -> bool:
    """Whether a variable of the parent is meant for one instance alone."""
    immediate = config.immediate
    return immediate is not None and plain(name)[0] in (immediate.scoped_env or scoped)
