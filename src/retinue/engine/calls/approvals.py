"""Calls that their agent's owner is asked about before each of them."""

from collections.abc import Mapping

from msgspec import structs

from retinue.agents.permission import Permission, is_held
from retinue.agents.request import Asked, digest_of_call
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.tool_call import CallResult, closing
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.requests.ask import AskDesk
from retinue.errors import ConflictError, RefusedError, UsageError
from retinue.records import CallPart
from retinue.stores.port import Effects
from retinue.tools.port import Pending, Tool


class Approvals:
    """Stands before the tools that a definition's `toolApprovals` name."""

    def __init__(self, desk: AskDesk) -> None:
        self._desk = desk

    async def ask(
        self, live: LiveAgent, config: PromptConfig, call: CallPart, tools: Mapping[str, Tool]
    ) -> CallResult | None:
        """Give what the call gets instead of being run now, or None when it may run."""
        if not needs_approval(live, config, call) or _is_approved(live, call):
            return None
        tool = tools.get(call.name)
        if tool is None or call.name not in config.tools or not _is_valid(tool, call):
            return None  # it is refused without being run: nobody has to decide about that
        asked = Asked(tool=call.name, arguments=call.arguments)
        try:
            request = await self._desk.ask(live, call.id, "approval", asked)
        except ConflictError as error:
            return CallResult(record=closing(call, "pending", error.message))
        except RefusedError as error:
            return CallResult(record=closing(call, "error", error.message))
        return CallResult(
            record=None,
            pending=Pending(reason="permission", request=request.id),
            effects=Effects(
                requests=(request,), notices=tuple(await self._desk.notices(live, request))
            ),
        )


def needs_approval(live: LiveAgent, config: PromptConfig, call: CallPart) -> bool:
    if not config.asks_first:
        return False
    if not config.definition.needs_approval(call.name) or call.malformed is not None:
        return False
    return not is_held(Permission("tool", call.name), live.state.grants)


def spent(live: LiveAgent, config: PromptConfig, call: CallPart, result: CallResult) -> CallResult:
    """Note the approval that a call used up: given late, it lets the call run once."""
    if result.record is None or not needs_approval(live, config, call):
        return result
    turn = live.state.turn
    if turn is not None and call.id in turn.approved:
        return result
    digest = digest_of_call(call.name, call.arguments)
    if digest not in live.state.approvals:
        return result
    return structs.replace(result, effects=result.effects.merge(Effects(spent=(digest,))))


def _is_approved(live: LiveAgent, call: CallPart) -> bool:
    turn = live.state.turn
    if turn is not None and call.id in turn.approved:
        return True
    return digest_of_call(call.name, call.arguments) in live.state.approvals


def _is_valid(tool: Tool, call: CallPart) -> bool:
    try:
        tool.validate(call.arguments)
    except UsageError:
        return False
    return True
