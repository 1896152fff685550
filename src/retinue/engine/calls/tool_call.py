"""Running a tool call: scope, doubt after a crash, and what the tool asked of the engine."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from msgspec import Struct, structs

from retinue.agents.children import ChildTerms, ChildUpdate
from retinue.agents.descriptor import Descriptor
from retinue.agents.inbox import ItemBody, Sender, Trail
from retinue.agents.state import AgentState, Turn
from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.scope_check import denial
from retinue.engine.lineage.parent_notices import LONGEST_STATUS, said_post, status_post
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.rules.stopping import bound_paths, bound_text
from retinue.engine.variables.values import Environment, Variables
from retinue.errors import RetinueError, UsageError
from retinue.ids import AgentId, CallId, OwnerId, new_item_id
from retinue.records import CallPart, ToolRecord, ToolStatus
from retinue.stores.port import NO_EFFECTS, AuditLine, Effects, NewAgent, NewItem, Post
from retinue.text import clean_text
from retinue.tools.execution import Finished, run_check, run_tool
from retinue.tools.port import AgentFiles, FileTrees, Pending, Tool, ToolOutput

UNKNOWN_OUTCOME = (
    "The process stopped while this call was running. Whether it took effect is unknown, and it "
    "was not run again. Find out before you repeat it."
)
UNKNOWN_AT_THE_END = (
    "The process stopped while this call was running, perhaps more than once. Whether it took "
    "effect is unknown, and it is not run any more. Find out before you repeat it."
)
HAPPENED = "The process stopped while this call was running. A check found that it took effect."


class CallContext(Struct, kw_only=True):
    """What one running call is given; what it asks for is collected here."""

    agent_id: AgentId
    owner: OwnerId
    definition: str
    descriptor: Descriptor
    call_id: CallId
    idempotency_key: str
    trees: FileTrees
    grants: Sequence[str]
    show: Callable[[str], None]
    clock: Clock
    turn: Turn
    state: AgentState
    config: PromptConfig
    tool: str  # its name
    environment: Environment
    effects: Effects = NO_EFFECTS
    depth: int = 0  # of prompts that call each other; within one, nobody is waited for

    def emit(self, effects: Effects) -> None:
        """Ask for something that is committed with the call's result."""
        self.effects = self.effects.merge(effects)

    @property
    def trail(self) -> Trail:
        """The way that a message from here has come."""
        trail = self.turn.trail or Trail()
        return structs.replace(trail, hops=trail.hops + 1)

    @property
    def catalog(self) -> Catalog:
        """The definitions that this turn works with."""
        return self.config.snapshot.catalog

    @property
    def files(self) -> AgentFiles:
        return self.trees.tree(self.agent_id)

    @property
    def variables(self) -> Variables:
        """The agent's variables, as this call sees them."""
        own = Variables(
            environment=self.environment,
            agent_id=self.agent_id,
            owner=self.owner,
            own=self.state.env,
            definition=self.config.definition,
            prompt=self.config.side.prompt,
            tools=self.config.scoped,
        )
        return own.during(self.tool)

    def env(self, name: str, default: str | None = None) -> str:
        if default is None:
            return self.variables.require(name)
        value = self.variables.get(name)
        return default if value is None else value

    @property
    def redact(self) -> Callable[[str], str] | None:
        """Takes the agent's secrets out of a text; None when there are none."""
        if self.environment.may_hold_secrets(self.owner, self.state):
            return self.variables.redacted
        return None

    def _tidied(self, text: str) -> str:
        redact = self.redact
        return clean_text(text if redact is None else redact(text))

    def progress(self, text: str) -> None:
        self.show(self._tidied(text))

    def set_status(self, status: str) -> None:
        text = self._tidied(status).strip()[:LONGEST_STATUS]
        if not text:
            raise UsageError("status: it is empty")
        update = ChildUpdate(reference=self.agent_id, status_text=text)
        post = status_post(self.agent_id, self.owner, self._terms, self.clock.now(), update)
        self.emit(Effects(notices=(post,)))

    def notify_parent(self, content: str) -> None:
        text = self._tidied(content).strip()
        if not text:
            raise UsageError("content: the message is empty")
        now = self.clock.now()
        post = said_post(self.agent_id, self.owner, self._terms, now, text, self.trail)
        self.emit(Effects(posts=(post,)))

    @property
    def _terms(self) -> ChildTerms:
        if self.state.child is None:
            raise UsageError("this agent is no subagent: it has no parent to tell")
        return self.state.child

    def post(self, agent_id: AgentId | NewAgent, text: str, *, silent: bool = False) -> None:
        sender = Sender(type="agent", id=self.agent_id)
        body = ItemBody(text=self._tidied(text), sender=sender, trail=self.trail)
        item = NewItem(
            id=new_item_id(),
            kind="system",
            body=body,
            admitted_at=self.clock.now(),
            silent=silent,
        )
        self.emit(Effects(posts=(Post(to=agent_id, item=item, owner=self.owner),)))


class CallResult(Struct, frozen=True, kw_only=True):
    """A call's result and what goes into the same commit."""

    record: ToolRecord | None  # None: it is pending
    pending: Pending | None = None
    effects: Effects = NO_EFFECTS


class ToolCalls:
    """Runs the calls of a response for one agent."""

    def __init__(
        self, *, trees: FileTrees, clock: Clock, limits: Limits, environment: Environment
    ) -> None:
        self._trees = trees
        self._environment = environment
        self._clock = clock
        self._limits = limits

    async def run(
        self,
        live: LiveAgent,
        config: PromptConfig,
        call: CallPart,
        *,
        tools: Mapping[str, Tool],
        is_in_doubt: bool,
        show: Callable[[str], None],
    ) -> CallResult:
        """Give the call its result; what goes wrong is a result too."""
        began = self._clock.monotonic()
        tool = tools.get(call.name)
        if is_in_doubt and call.malformed is None and call.name not in config.scoped:
            # It was there, and allowed, when the call began: perhaps its server is not back yet.
            return CallResult(record=closing(call, "unknown", UNKNOWN_OUTCOME))
        refusal = self._refusal(config, call, tool)
        if refusal is not None:
            return refusal
        assert tool is not None  # a call without a tool was refused
        context = self._context(live, config, call, show)
        finished = await self._outcome(tool, context, call, is_in_doubt)
        output = finished.output
        if finished.pending is not None:
            return CallResult(record=None, pending=finished.pending, effects=context.effects)
        record = ToolRecord(
            call=call.id,
            name=call.name,
            status=finished.status,
            text=output.text,
            files=list(output.files),
            duration_ms=round((self._clock.monotonic() - began) * 1000),
            cut=finished.cut,
        )
        if output.is_error:
            return CallResult(record=record, effects=context.effects.after_error)
        if call.name in config.bound:
            missing = await self._missing(config, call, context.files)
            if missing:
                refused = closing(call, "error", missing)
                return CallResult(record=refused, effects=context.effects.after_error)
            _tell_status(config, call, context, output.text)
        return CallResult(record=record, effects=context.effects)

    async def _outcome(
        self, tool: Tool, context: CallContext, call: CallPart, is_in_doubt: bool
    ) -> Finished:
        if tool.variables:
            try:
                context.variables.check(tool.variables, f"tool {tool.name!r}")
            except RetinueError as error:
                return Finished(
                    output=ToolOutput(text=error.message, is_error=True), status="error"
                )
        unknown = ToolOutput(text=UNKNOWN_OUTCOME, is_error=True)
        if is_in_doubt and tool.effect == "once":
            return Finished(output=unknown, status="unknown")
        if is_in_doubt and tool.effect == "verifiable":
            found = await run_check(
                tool,
                context,
                call.arguments,
                timeout_seconds=self._limits.tool_seconds,
                redact=context.redact,
            )
            if found is None:
                return Finished(output=unknown, status="unknown")
            if found.happened:
                return Finished(output=found.output or ToolOutput(text=HAPPENED))
        return await run_tool(
            tool,
            context,
            call.arguments,
            timeout_seconds=self._limits.tool_seconds,
            output_limit=self._limits.tool_output_characters,
            redact=context.redact,
        )

    async def _missing(self, config: PromptConfig, call: CallPart, files: AgentFiles) -> str:
        """What a call that ends the run or tells its status names and does not have."""
        side = config.side
        problems: list[str] = []
        for binding in (side.session_stop, side.session_fail, side.session_status):
            if binding is not None and binding.name == call.name:
                for path in bound_paths(binding, call):
                    try:
                        await files.stat(path)
                    except RetinueError as error:
                        problems.append(error.message)
        return "; ".join(problems) and f"Nothing was ended: {'; '.join(problems)}"

    def _context(
        self,
        live: LiveAgent,
        config: PromptConfig,
        call: CallPart,
        show: Callable[[str], None],
    ) -> CallContext:
        turn = live.state.turn
        assert turn is not None  # calls belong to a turn
        asked_by = live.history.asked_by
        # Providers number calls anew in each response, so the call's id alone is no key.
        step = asked_by.seq if asked_by is not None else 0
        return CallContext(
            agent_id=live.id,
            owner=live.owner,
            definition=live.definition,
            descriptor=live.descriptor,
            call_id=call.id,
            idempotency_key=f"{live.id}/{step}/{call.id}",
            trees=self._trees,
            grants=live.state.grants,
            turn=turn,
            state=live.state,
            config=config,
            tool=call.name,
            environment=self._environment,
            show=show,
            clock=self._clock,
        )

    def _refusal(
        self, config: PromptConfig, call: CallPart, tool: Tool | None
    ) -> CallResult | None:
        if tool is None:
            near = get_close_matches(call.name, config.tools, n=3)
            hint = f" Did you mean {', '.join(near)}?" if near else ""
            return _refused(call, "error", f"There is no tool called {call.name!r}.{hint}")
        denied = denial(config, call.name, tool, call=call.id)
        if denied is not None:
            return _refused(call, "refused", denied.text, denied.line)
        if call.malformed is not None:
            text = f"The arguments of {call.name!r} were not a JSON object: {call.malformed[:500]}"
            return _refused(call, "error", text)
        return None


def _tell_status(config: PromptConfig, call: CallPart, context: CallContext, result: str) -> None:
    """A binding for the status puts its text into the parent's registry, where there is one."""
    binding = config.side.session_status
    if binding is not None and binding.name == call.name and context.state.child is not None:
        text = bound_text(binding, call, result)
        if text.strip():
            context.set_status(text)


def _refused(call: CallPart, status: ToolStatus, text: str, *audit: AuditLine) -> CallResult:
    return CallResult(record=closing(call, status, text), effects=Effects(audit=audit))


def closing(call: CallPart, status: ToolStatus, text: str) -> ToolRecord:
    """Close a call that will not be run."""
    return ToolRecord(call=call.id, name=call.name, status=status, text=text)
