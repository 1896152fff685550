"""Effects reach the disk on every path that a call can take, and only where they should."""

from typing import cast

from retinue.agents.command import AgentPatch
from retinue.engine.calls.tool_call import CallContext
from retinue.errors import ConflictError
from retinue.ids import LOCAL_OWNER, AgentId, RequestId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.records import Usage
from retinue.stores.port import AuditLine, Commit, Committed, Effects
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import Pending, ToolContext, ToolOutput
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import calls, counted_tool, tool_then_answer, until
from tests.unit.engine.test_hooks import begin as begin_hooked
from tests.unit.engine.test_sub_prompts import asking
from tests.unit.engine.test_sub_prompts import begin as begin_sub_prompt

SPENT = Effects(
    usages=(("other:x", Usage(input=5, output=2)),),
    audit=(AuditLine(action="looked", detail={}),),
)


async def costs(kit: Kit) -> tuple[int, int]:
    """Tokens of the model that the tool called, and lines of its audit."""
    sums = await kit.store.usage.sums(LOCAL_OWNER, "agent")
    lines = await kit.store.audited(LOCAL_OWNER, ["looked"], before=None, limit=9)
    return sum(one.tokens.output for one in sums if one.model == "other:x"), len(lines)


async def test_a_call_that_waits_keeps_its_costs(start: Start) -> None:
    @tool(effect="keyed")
    async def wait(ctx: ToolContext) -> Pending:
        """Wait for a person."""
        cast("CallContext", ctx).emit(SPENT)
        return Pending(reason="permission", request=RequestId("r1"))

    kit = await start(tool_then_answer("wait"), tools=[wait])
    agent = await kit.agent()
    await kit.post(agent, "hi")

    async def is_waiting() -> bool:
        turn = (await kit.fresh(agent)).state.turn
        return turn is not None and bool(turn.suspended)

    await until(is_waiting)
    assert await costs(kit) == (2, 1)
    assert (await kit.fresh(agent)).state.stats["other"]["x"].output == 2


async def test_a_call_whose_commit_is_refused_keeps_its_costs_and_does_nothing_else(
    start: Start,
) -> None:
    @tool(effect="keyed")
    async def write(ctx: ToolContext) -> str:
        """Write to an agent that is not there."""
        cast("CallContext", ctx).emit(SPENT)
        ctx.post(AgentId("nobody"), "hi")
        return "written"

    kit = await start(tool_then_answer("write"), tools=[write])
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "done"
    assert "tool write error there is no agent 'nobody'" in await kit.kinds(agent)
    assert await costs(kit) == (2, 1)


async def test_a_failed_call_within_a_prompt_takes_no_variables_away(start: Start) -> None:
    @tool(effect="keyed")
    async def move(ctx: ToolContext) -> ToolOutput:
        """Move a variable to a child, and fail."""
        cast("CallContext", ctx).emit(Effects(moved=("KEY",)))
        return ToolOutput(text="no", is_error=True)

    tools = [move, counted_tool([], "look")]
    script = asking(calls("move", "look"))
    kit = await begin_sub_prompt(start, script, tools, listed="move, look")
    agent = await kit.agent()
    await kit.engine.update(agent.owner, agent.id, AgentPatch(env={"KEY": "sealed"}))
    await kit.ask(agent, "hi")
    assert list((await kit.fresh(agent)).state.env) == ["KEY"]


async def test_what_a_hook_asked_for_survives_a_commit_that_is_refused(start: Start) -> None:
    code = """
@define_hook(hook="after_tool_call_success")
def one(ctx, call, record):
    ctx.post(record.text, "from the hook")
    return record
"""

    @tool(effect="keyed")
    async def name(to: str) -> str:
        """Name an agent."""
        return to

    to = list[str]()

    def script(request: ModelRequest) -> Answer:
        if len(request.messages) > 1:
            return "done"
        return Reply(calls=[Call(name="name", arguments={"to": to[0]})])

    kit = await begin_hooked(start, script, code, tools=[name])
    agent, other = await kit.agent(), await kit.agent()
    to.append(other.id)
    write, refused = kit.store.commit, list[Commit]()

    async def refusing(commit: Commit) -> Committed:
        if commit.effects.notices and not refused:
            refused.append(commit)
            raise ConflictError("not this one")
        return await write(commit)

    kit.store.commit = refusing
    await kit.ask(agent, "hi")
    assert len(refused) == 1

    async def came() -> bool:
        return "system from the hook" in await kit.kinds(other)

    await until(came)
    assert (await kit.kinds(other)).count("system from the hook") == 1
