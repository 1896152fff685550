"""Calls that their agent's owner is asked about before each of them."""

from collections.abc import Mapping

from msgspec import structs

from retinue.agents.permission import Permission, is_held
from retinue.agents.request import Asked, digest_of_call
from retinue.engine.desk import Desk
from retinue.engine.prompting.planning import Plan
from retinue.engine.tooling import CallResult, closing
from retinue.engine.warm import Warm
from retinue.errors import ConflictError, RefusedError, UsageError
from retinue.messages import CallPart
from retinue.tools.port import Pending, Tool


class Approvals:
    """Stands before the tools that a definition's `toolApprovals` name."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(
        self, warm: Warm, plan: Plan, call: CallPart, tools: Mapping[str, Tool]
    ) -> CallResult | None:
        """Give what the call gets instead of being run now, or None when it may run."""
        if not needs_approval(warm, plan, call) or _is_approved(warm, call):
            return None
        tool = tools.get(call.name)
        if tool is None or call.name not in plan.tools or not _is_valid(tool, call):
            return None  # it is refused without being run: nobody has to decide about that
        asked = Asked(tool=call.name, arguments=call.arguments)
        try:
            request = await self._desk.ask(warm, call.id, "approval", asked)
        except ConflictError as error:
            return CallResult(record=closing(call, "pending", error.message))
        except RefusedError as error:
            return CallResult(record=closing(call, "error", error.message))
        return CallResult(
            record=None,
            pending=Pending(reason="permission", request=request.id),
            requests=[request],
            notices=await self._desk.notices(warm, request),
        )


def needs_approval(warm: Warm, plan: Plan, call: CallPart) -> bool:
    if not plan.asks_first:
        return False
    if not plan.definition.needs_approval(call.name) or call.malformed is not None:
        return False
    return not is_held(Permission("tool", call.name), warm.state.grants)


def spent(warm: Warm, plan: Plan, call: CallPart, result: CallResult) -> CallResult:
    """Note the approval that a call used up: given late, it lets the call run once."""
    if result.record is None or not needs_approval(warm, plan, call):
        return result
    turn = warm.state.turn
    if turn is not None and call.id in turn.approved:
        return result
    digest = digest_of_call(call.name, call.arguments)
    return structs.replace(result, spent=digest) if digest in warm.state.approvals else result


def _is_approved(warm: Warm, call: CallPart) -> bool:
    turn = warm.state.turn
    if turn is not None and call.id in turn.approved:
        return True
    return digest_of_call(call.name, call.arguments) in warm.state.approvals


def _is_valid(tool: Tool, call: CallPart) -> bool:
    try:
        tool.validate(call.arguments)
    except UsageError:
        return False
    return True
