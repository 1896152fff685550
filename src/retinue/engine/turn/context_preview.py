"""Looking at contexts: what the model of an agent would be sent now, without sending it."""

from collections.abc import Sequence

from msgspec import structs

from retinue.agents.children import registry_text
from retinue.agents.context import estimated_tokens
from retinue.definitions.declarations import HookBlocked
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.lineage.peers import contact_of
from retinue.engine.prompting.context_view import (
    ContextMarks,
    ContextSummary,
    ContextView,
    Redact,
    message_view,
    section_view,
    tokens_by_part,
    tool_view,
)
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.prompt_sections import Section, joined
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.context_policy import CRITICAL, WARNING, pressure_of
from retinue.engine.rules.context_room import ContextRoom
from retinue.engine.turn.request_builder import RequestBuilder, size_of
from retinue.engine.variables.values import Environment
from retinue.errors import ModelError
from retinue.ids import AgentId, OwnerId
from retinue.models.port import Model, ModelRequest
from retinue.project.watcher import ProjectWatcher
from retinue.records import AnyRecord, SummaryRecord
from retinue.stores.port import Snapshot, Store
from retinue.tools.threads import in_thread


class ContextPreviews:
    """Makes the next request of an agent from what is stored, apart from its working memory."""

    def __init__(
        self,
        *,
        store: Store,
        project: ProjectWatcher,
        setup: StepSetup,
        composer: RequestBuilder,
        room: ContextRoom,
        environment: Environment,
    ) -> None:
        self._room = room
        self._store = store
        self._project = project
        self._setup = setup
        self._composer = composer
        self._environment = environment

    async def prepare(self) -> None:
        """Describe all tools ahead, in a thread: the first message would have to wait for that."""
        tools = self._project.current.tools.values()
        await in_thread(lambda: sum(len(tool.parameters) for tool in tools), name="describe tools")

    async def view(self, owner: OwnerId, agent_id: AgentId) -> ContextView:
        """Raises what the next step would fail with: a definition that does not load, say."""
        await self._environment.load()
        agent = await self._store.agent(owner, agent_id)
        records = await self._store.context(owner, agent_id)
        next_seq = records[-1].seq + 1 if records else 1
        live = LiveAgent(
            Snapshot(agent=agent, epoch=0, next_seq=next_seq, records=records, items=())
        )
        live.is_preview = True
        live.is_secluded = await contact_of(self._store, live) is not None
        await self._project.look()
        config = self._setup.config(live)
        model = await self._model(live, config)
        blocked: str | None = None
        try:
            request = await self._composer.request(live, config)
        except HookBlocked as block:
            blocked = str(block)
            request = ModelRequest(system="", messages=live.context.messages, tools=config.specs)
        size = size_of(config, request, model) if model is not None else live.state.prompt_size
        live.state = structs.replace(live.state, prompt_size=size)
        last = live.state.tokens
        estimated, corrected = self._room.estimate(live), self._room.corrected(live)
        limit = self._room.limit(live.state)
        variables = self._environment.of(live, config.definition, config.side.prompt, config.scoped)
        redact = variables.redacted
        return ContextView(
            agent_id=agent.id,
            definition=agent.definition,
            side=live.context.side,
            model=live.state.model or config.models[0] if model is None else model.name,
            pressure=pressure_of(corrected, limit),
            limit=limit,
            marks=ContextMarks(
                warning=round(limit * WARNING), critical=round(limit * CRITICAL), full=limit
            ),
            tokens=tokens_by_part(request, estimated=estimated, corrected=corrected),
            reported=last,
            system=[
                section_view(*one, redact) for one in await self._system(live, config, request)
            ],
            tools=[tool_view(spec) for spec in request.tools],
            messages=[message_view(message, redact) for message in request.messages],
            closing=[section_view(*one, redact) for one in await self._closing(live, config)],
            summary=summary_of(records, redact),
            hooks=[hook.id for hooks in (config.hooks or {}).values() for hook in hooks],
            blocked=blocked,
        )

    async def _model(self, live: LiveAgent, config: PromptConfig) -> Model | None:
        """The model whose turn it is; None when it cannot be reached."""
        try:
            model, _ = await self._setup.model(live, config)
        except ModelError:
            return None
        return model

    async def _system(
        self, live: LiveAgent, config: PromptConfig, request: ModelRequest
    ) -> Sequence[Section]:
        sections = [*config.sections, *await self._setup.own_sections(live, config)]
        is_changed = request.system not in ("", joined(sections))
        return [Section("hooked", request.system)] if is_changed else sections

    async def _closing(self, live: LiveAgent, config: PromptConfig) -> Sequence[Section]:
        sections: list[Section] = []
        if config.artifacts:
            sections += await self._setup.closing_sections(live, config)
        turn = live.state.turn
        children = registry_text(live.state.children, turn.side if turn else "side_a")
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
