"""Looking at contexts: what the model of an agent would be sent now, without sending it."""

from collections.abc import Sequence

from retinue.agents.children import registry_text
from retinue.agents.tokens import corrected_tokens, estimated_tokens
from retinue.definitions.declared import HookBlocked
from retinue.engine.compaction import CRITICAL, WARNING, pressure_of
from retinue.engine.composing import Composer
from retinue.engine.environment import Environment
from retinue.engine.equipment import Equipment
from retinue.engine.peers import contact_of
from retinue.engine.prompting.planning import Plan
from retinue.engine.prompting.sections import Section, joined
from retinue.engine.prompting.viewing import (
    ContextMarks,
    ContextSummary,
    ContextView,
    Redact,
    message_view,
    section_view,
    tokens_by_part,
    tool_view,
)
from retinue.engine.warm import Warm
from retinue.errors import ModelError
from retinue.ids import AgentId, OwnerId
from retinue.messages import AnyRecord, SummaryRecord
from retinue.models.port import ModelRequest
from retinue.stores.port import Snapshot, Store
from retinue.tools.threads import in_thread


class Contexts:
    """Makes the next request of an agent from what is stored, apart from its working memory."""

    def __init__(
        self, *, store: Store, equipment: Equipment, composer: Composer, environment: Environment
    ) -> None:
        self._store = store
        self._equipment = equipment
        self._composer = composer
        self._environment = environment

    async def prepare(self) -> None:
        """Describe all tools ahead, in a thread: the first message would have to wait for that."""
        await self._equipment.refresh()
        tools = self._equipment.tools.values()
        await in_thread(lambda: sum(len(tool.parameters) for tool in tools), name="describe tools")

    async def view(self, owner: OwnerId, agent_id: AgentId) -> ContextView:
        """Raises what the next step would fail with: a definition that does not load, say."""
        await self._environment.load()
        agent = await self._store.agent(owner, agent_id)
        records = await self._store.context(owner, agent_id)
        next_seq = records[-1].seq + 1 if records else 1
        warm = Warm(Snapshot(agent=agent, epoch=0, next_seq=next_seq, records=records, items=()))
        warm.is_secluded = await contact_of(self._store, warm) is not None
        await self._equipment.refresh()
        plan = self._equipment.plan(warm)
        model = await self._model(warm, plan)
        blocked: str | None = None
        try:
            request = await self._composer.request(warm, plan)
        except HookBlocked as block:
            blocked = str(block)
            request = ModelRequest(system="", messages=warm.context.messages, tools=plan.specs)
        last = warm.state.tokens
        estimated = self._equipment.estimate(warm)
        corrected = corrected_tokens(estimated, last, last.model if last else "")
        limit = self._equipment.limit(warm)
        variables = self._environment.of(warm, plan.definition, plan.side.prompt, plan.scoped)
        redact = variables.redacted
        return ContextView(
            agent_id=agent.id,
            definition=agent.definition,
            side=warm.context.side,
            model=model,
            pressure=pressure_of(corrected, limit),
            limit=limit,
            marks=ContextMarks(
                warning=round(limit * WARNING), critical=round(limit * CRITICAL), full=limit
            ),
            tokens=tokens_by_part(request, estimated=estimated, corrected=corrected),
            reported=last,
            system=[section_view(*one, redact) for one in await self._system(warm, plan, request)],
            tools=[tool_view(spec) for spec in request.tools],
            messages=[message_view(message, redact) for message in request.messages],
            closing=[section_view(*one, redact) for one in await self._closing(warm, plan)],
            summary=summary_of(records, redact),
            hooks=[hook.id for hooks in (plan.hooks or {}).values() for hook in hooks],
            blocked=blocked,
        )

    async def _model(self, warm: Warm, plan: Plan) -> str:
        """The name of the model whose turn it is, also of one that cannot be reached."""
        try:
            model, _ = await self._equipment.model(warm, plan)
        except ModelError:
            return warm.state.model or plan.models[0]
        return model.name

    async def _system(self, warm: Warm, plan: Plan, request: ModelRequest) -> Sequence[Section]:
        sections = [*plan.sections, *await self._equipment.own_sections(warm, plan)]
        is_changed = request.system not in ("", joined(sections))
        return [Section("hooked", request.system)] if is_changed else sections

    async def _closing(self, warm: Warm, plan: Plan) -> Sequence[Section]:
        sections: list[Section] = []
        if plan.artifacts:
            sections += await self._equipment.closing_sections(warm, plan)
        turn = warm.state.turn
        children = registry_text(warm.state.children, turn.side if turn else "side_a")
        return [*sections, Section("children", children)] if children else sections


def summary_of(records: Sequence[AnyRecord], redact: Redact) -> ContextSummary | None:
    """The last summary, which stands for all that came before."""
    found = next((r for r in reversed(records) if isinstance(r, SummaryRecord)), None)
    if found is None:
        return None
    return ContextSummary(
        kept_from=found.keep_from,
        reason=found.reason,
        at=found.at,
        tokens_before=found.tokens_before,
        tokens=estimated_tokens(len(redact(found.text))),
    )
