"""What a child inherits of its parent's variables, and what it has to be given for itself."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt, Variable
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.variables.required import scoped_variables
from retinue.ids import AgentId


def scoped_in(call: CallContext, target: Definition) -> Sequence[Variable]:
    """What each child of this definition has to be given for itself.

    Which of its branches are on is decided by what it would inherit from this parent.
    """
    parent = call.variables

    def gates(definition: Definition, prompt: Prompt) -> frozenset[str]:
        child = replace(parent, definition=definition, prompt=prompt, call={})
        return child.on(prompt.gates)

    return scoped_variables(target, call.config.snapshot, gates)


def inherited(call: CallContext, child: AgentId, *, without: Iterable[str]) -> dict[str, str]:
    """The parent's own variables, sealed for a child."""
    own = call.state.env
    return call.environment.handed_down(call.agent_id, own, child, without=frozenset(without))
