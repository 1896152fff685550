"""`send_agent_message`: a system message for another agent."""

import hashlib
from typing import Annotated, Any

from pydantic import Field

from retinue.engine.collaboration.delegation_chain import refuse_endless
from retinue.engine.collaboration.message_targets import addressed, default_target
from retinue.engine.collaboration.services import CollaborationServices, call_of
from retinue.errors import UsageError
from retinue.ids import AgentId
from retinue.stores.port import NewAgent
from retinue.text import clean_text
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

INLINE_CHARACTERS = 8_000
"""A longer text is written to the target's files, and the message names the file."""


def messaging_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    store = services.store

    @tool(name="send_agent_message", effect="keyed", capabilities=["agents.write"])
    async def send(
        ctx: ToolContext,
        text: Annotated[str, "the message, including everything the other agent needs to know"],
        agentId: Annotated[  # noqa: N803  the name on the wire
            str | None,
            Field(
                description="the recipient: an agent id, system:<tag> or swarm:<id>; "
                "defaults to the parent, or to the most recent chat"
            ),
        ] = None,
        silent: Annotated[
            bool, Field(description="do not wake the agent; it reads the message in its next turn")
        ] = False,
    ) -> str:
        """Send a message to another agent. The message names you; a reply is also a message."""
        call = call_of(ctx)
        text = clean_text(text)
        if not text.strip():
            raise UsageError("text: the message is empty")
        refuse_endless(call, services.limits)
        sender = await store.agent(ctx.owner, ctx.agent_id)
        if agentId is None:
            target = await default_target(store, sender)
        else:
            target = await addressed(services, call, sender, agentId.strip())
        if len(text) > INLINE_CHARACTERS:
            text = await _filed(services, target.id, ctx.idempotency_key, text)
        call.post(target if isinstance(target, NewAgent) else target.id, text, silent=silent)
        return f"Sent to {target.id}."

    return [send]


async def _filed(services: CollaborationServices, target: AgentId, key: str, text: str) -> str:
    """Write a long text to the target's files; a repeated call writes the same file."""
    name = hashlib.sha256(key.encode()).hexdigest()[:12]
    file = await services.trees.tree(target).write(
        f"/attachments/message-{name}.txt", text.encode()
    )
    beginning = text[:500].rstrip()
    return (
        f"A message of {len(text)} characters is in your file {file.path}. It begins:\n{beginning}"
    )
