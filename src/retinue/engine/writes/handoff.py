"""Handing a conversation over: another definition goes on with it, in the same history.

The call only asks for it. It happens after the step, in a commit of its own: until then all calls
of the step are those of the definition that made them.
"""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import structs

from retinue.agents.state import Handoff
from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import HandoffEntry
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.prompting.prompt_config import PromptCase
from retinue.engine.writes.callable_entries import (
    checked_by,
    first_files,
    first_words,
    parameters_of,
)
from retinue.errors import NotFoundError
from retinue.ids import SideName
from retinue.records import HandoffRecord, SystemRecord
from retinue.stores.port import Effects
from retinue.tools.port import Tool, ToolContext, ToolOutput


def handoffs(
    catalog: Catalog, definition: Definition, side: SideName, _case: PromptCase
) -> Mapping[str, Tool]:
    """Offers the agents that a prompt can hand the conversation over to."""
    prompt = definition.side(side).prompt
    tools: dict[str, Tool] = {}
    for entry in prompt.tools or ():
        if isinstance(entry, HandoffEntry):
            try:
                target = catalog.definition(entry.key)
            except NotFoundError:
                continue  # its file failed after this prompt was loaded
            tools[entry.name] = _tool(entry, target)
    return tools


def _tool(entry: HandoffEntry, target: Definition) -> Tool:
    parameters = parameters_of(target.side_a.prompt, entry)

    async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        call = cast("CallContext", ctx)
        handoff = Handoff(
            to=target.name,
            text=first_words(entry, arguments),
            files=await first_files(entry, arguments, call.files),
            arguments=dict(arguments),
        )
        call.emit(Effects(handoff=(handoff,)))
        return ToolOutput(text=f"{target.display_name} goes on with the conversation.")

    return Tool(
        name=entry.name,
        description=target.tool_description or target.description,
        parameters=parameters,
        invoke=invoke,
        validate=checked_by(entry.name, parameters),
        effect="keyed",  # all that it does is in its commit; in order, so that the last one counts
        source="handoff",
    )


def handed_over(draft: Draft, live: LiveAgent, handoff: Handoff, *, is_known: bool) -> None:
    """From here on the other definition acts: its prompt, its tools, its rules, its approvals."""
    turn = draft.state.turn
    assert turn is not None
    if not is_known:
        text = f"{handoff.to} is not there any more, so nothing was handed over."
        draft.add(SystemRecord(text=text, origin="system"))
        turn = structs.replace(turn, handoff=None)
        draft.state = structs.replace(draft.state, turn=turn)
        return
    draft.definition = handoff.to
    draft.add(
        HandoffRecord(
            source=live.definition, target=handoff.to, text=handoff.text, files=handoff.files
        )
    )
    draft.state = structs.replace(
        draft.state,
        arguments={**draft.state.arguments, **handoff.arguments},
        updated_at=draft.at,
        turn=structs.replace(
            turn,
            handoff=None,
            side="side_a",
            side_since=draft.next_seq,
            side_steps=0,
            attempt=0,
            model_index=0,
            retry_at=None,
            approved=[],
        ),
    )
