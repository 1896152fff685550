"""Instances of an immediate subagent: one for each set of variables that its parent received.

`KEY` belongs to the first instance, `KEY__2` to the second, and so on. Each instance receives its
own value under the plain name, and the parent no longer has it. Values never appear in a model
request or a history, unless the entry says so (`nameEnv`, `descriptionEnv`). An entry without
`scopedEnv` passes on whatever is scoped in the graph of the subagent.
"""

import re
from collections.abc import Iterable, Mapping

from retinue.definitions.subagent_config import Immediate, SubagentConfig
from retinue.engine.calls.tool_call import CallContext

_INDEXED = re.compile(r"(.+)__([1-9][0-9]{0,3})")


def instances(immediate: Immediate, scoped: Iterable[str], own: Iterable[str]) -> list[int]:
    """The instances that the agent's variables are for; [1] if they are for none."""
    handed = immediate.scoped_env or scoped
    wanted = {*handed, immediate.name_env, immediate.description_env}
    found = {number for name, number in map(plain, own) if name in wanted}
    return sorted(found) or [1]


def indexed(name: str, number: int) -> str:
    return name if number == 1 else f"{name}__{number}"


def plain(name: str) -> tuple[str, int]:
    """Split a name into the plain name and the number of its instance."""
    found = _INDEXED.fullmatch(name)
    return (found[1], int(found[2])) if found is not None else (name, 1)


def given(call: CallContext, config: SubagentConfig, scoped: Iterable[str]) -> Mapping[str, str]:
    """The variables of an immediate instance: its names, and the parent's names for them."""
    number = call.turn.boots.get(call.call_id)
    if number is None or config.immediate is None:
        return {}
    handed = config.immediate.scoped_env or scoped
    names = {name: indexed(name, number) for name in handed}
    return {name: held for name, held in names.items() if held in call.state.env}


def is_for_instances(config: SubagentConfig, scoped: Iterable[str], name: str) -> bool:
    """Whether a variable of the parent belongs to a single instance."""
    immediate = config.immediate
    return immediate is not None and plain(name)[0] in (immediate.scoped_env or scoped)
