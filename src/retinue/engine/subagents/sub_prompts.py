"""Prompts that are called as tools: one model step with its tools, outside the caller's context.

Only the call's result is stored. A prompt without tools can be repeated after a crash; one with
tools never runs twice, as the model might call different tools. It may call other prompts, hand
over and start subagents, but it waits for none: results of subagents reach the agent as messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
from msgspec import structs

from retinue.agents.context import Context
from retinue.agents.permission import Permission, is_held
from retinue.definitions.catalog import Catalog
from retinue.definitions.declarations import HookSet
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt, SubPromptEntry
from retinue.definitions.scoping import effective
from retinue.engine.agent.limits import Limits
from retinue.engine.calls.model_stream import ask, with_images
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.prompt_config import USUAL, OwnTools, PromptCase, hooks_of, spec_of
from retinue.engine.prompting.prompt_sections import tools_section
from retinue.engine.rules.stopping import as_text
from retinue.engine.variables.values import Variables
from retinue.engine.writes.callable_entries import (
    checked_by,
    first_files,
    first_words,
    parameters_of,
)
from retinue.errors import ModelError, NotFoundError, RefusedError, RetinueError
from retinue.failpoints import reach
from retinue.ids import ItemId, SideName
from retinue.models.port import Completed, ModelRequest, Models
from retinue.records import CallPart, FileReference, TextPart, ToolRecord, UserRecord
from retinue.stores.port import NO_EFFECTS, Effects
from retinue.text import clean_text
from retinue.tools.execution import run_tool
from retinue.tools.package_tools import visible_tools
from retinue.tools.port import Tool, ToolContext, ToolOutput

_SOURCE = "prompt"
DEEPEST = 4


@dataclass(slots=True, kw_only=True)
class _CallResults:
    """The results of the step's calls."""

    results: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    files: list[FileReference] = field(default_factory=list[FileReference])


class SubPrompts:
    """Provides the prompts that a prompt lists among its tools."""

    def __init__(
        self,
        *,
        models: Models,
        default_model: str,
        limits: Limits,
        hooks: Hooks,
        others: OwnTools,
    ) -> None:
        self._hooks = hooks
        self._others = others
        self._models = models
        self._default_model = default_model
        self._limits = limits

    def __call__(
        self, catalog: Catalog, definition: Definition, side: SideName, _case: PromptCase
    ) -> Mapping[str, Tool]:
        caller = definition.side(side).prompt
        tools: dict[str, Tool] = {}
        for entry in caller.tools or ():
            if isinstance(entry, SubPromptEntry):
                try:
                    prompt = catalog.prompt(entry.key)
                except NotFoundError:
                    continue  # its file failed after the caller's file was loaded
                tools[entry.name] = self._tool(entry, prompt)
        return tools

    def _tool(self, entry: SubPromptEntry, prompt: Prompt) -> Tool:
        parameters = parameters_of(prompt, entry)

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
            return await self._step(cast("CallContext", ctx), entry, prompt, arguments)

        return Tool(
            name=entry.name,
            description=prompt.tool_description or f"Run the prompt {entry.name}.",
            parameters=parameters,
            invoke=invoke,
            validate=checked_by(entry.name, parameters),
            effect="pure" if prompt.tools == () else "once",
            timeout_seconds=max(self._limits.tool_seconds, self._limits.delegation_seconds),
            source=_SOURCE,
        )

    async def _step(
        self,
        call: CallContext,
        entry: SubPromptEntry,
        prompt: Prompt,
        arguments: Mapping[str, Any],
    ) -> ToolOutput:
        if call.depth >= DEEPEST:
            raise RefusedError(f"prompts can be nested {DEEPEST} deep: answer by yourself")
        variables = replace(call.variables, prompt=prompt, call={})
        prompt = prompt.switched(variables.on(prompt.gates))
        variables.check(prompt.variables, f"prompt {prompt.name!r}")
        tools = self._offered(call, prompt)
        hooks = hooks_of(call.catalog, call.config.definition, prompt)
        said = first_words(entry, arguments) or msgspec.json.encode(arguments).decode()
        files = await first_files(entry, arguments, call.files)
        first = UserRecord(item=ItemId(call.idempotency_key), text=said, files=files)
        shown = [first] if hooks is None else await self._hooks.said_within(call, hooks, first)
        system = _system(variables, prompt, tools, arguments)
        messages = await with_images(Context(shown).messages, call.files)
        if hooks is not None:
            system, messages = await self._hooks.request_within(call, hooks, system, messages)
        request = ModelRequest(
            system=system,
            messages=messages,
            tools=[spec_of(tool) for tool in tools.values()],
            options=prompt.options.over(call.config.definition.options),
            session=f"{call.agent_id}/{call.call_id}",
        )
        reach("prompt:before")
        completed = await self._ask(call, prompt, request)
        reach("prompt:after")
        if hooks is not None:
            completed = await self._hooks.response_within(call, hooks, completed)
        calls = _CallResults()
        for number, part in enumerate(p for p in completed.parts if isinstance(p, CallPart)):
            await self._run(_Within(call, prompt, tools, hooks, calls), part, number)
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
        sections = [
            text if entry.include_text_response else "",
            _listed("Tool calls:", calls.results) if entry.include_tool_calls else "",
            _listed("Failed calls:", calls.errors) if entry.include_errors else "",
        ]
        return ToolOutput(
            text="\n\n".join(section for section in sections if section.strip()) or "Done.",
            is_error=bool(calls.errors) and not calls.results,
            files=calls.files,
        )

    async def _ask(self, call: CallContext, prompt: Prompt, request: ModelRequest) -> Completed:
        """Ask the first model that answers; its tokens count for the agent."""
        definition = call.config.definition
        names = [prompt.model or definition.model or self._default_model]
        names += [*prompt.fallback_models, *definition.fallback_models]
        failures: list[str] = []
        for name in dict.fromkeys(names):
            try:
                model = await self._models.get(name)
                completed = await ask(model, request, None)
            except ModelError as error:
                failures.append(error.message)
            else:
                if completed.usage is not None:
                    call.emit(Effects(usages=((model.name, completed.usage),)))
                return completed
        raise ModelError("; ".join(failures))

    async def _run(self, within: "_Within", part: CallPart, number: int) -> None:
        calls, call = within.calls, within.call
        tool = within.tools.get(part.name)
        if tool is None or part.malformed is not None:
            why = "there is no such tool" if tool is None else "its arguments are not a JSON object"
            calls.errors.append(f"{part.name}: {why}")
            return
        nested = within.nested(part.name, number)
        try:
            nested.variables.check(tool.variables, f"tool {tool.name!r}")
        except RetinueError as error:
            calls.errors.append(f"{part.name}: {error.message}")
            return
        reach("tool:before")
        finished = await run_tool(
            tool,
            nested,
            part.arguments,
            timeout_seconds=self._limits.tool_seconds,
            output_limit=self._limits.tool_output_characters,
            redact=nested.redact,
        )
        reach("tool:after")
        if finished.pending is not None:
            call.emit(nested.effects.costs)
            calls.errors.append(f"{part.name}: it has to wait, which is not possible here")
            return
        output = finished.output
        record = ToolRecord(
            call=part.id,
            name=part.name,
            status=finished.status,
            text=output.text,
            files=list(output.files),
        )
        if within.hooks is not None:
            record = await self._hooks.result_within(call, within.hooks, part, record)
        call.emit(nested.effects.after_error if output.is_error else nested.effects)
        if record.status == "ok":
            calls.results.append(f"{part.name}: {record.text}")
            calls.files.extend(record.files)
        elif record.status != "erased":
            calls.errors.append(f"{part.name}: {record.text}")

    def _offered(self, call: CallContext, prompt: Prompt) -> Mapping[str, Tool]:
        """The tools that the prompt lists and the scope allows without approval."""
        definition, side = call.config.definition, call.turn.side
        calling = definition.speaking(side, prompt)
        snapshot = call.config.snapshot
        own = self(snapshot.catalog, calling, side, USUAL)
        brought = {**own, **self._others(snapshot.catalog, calling, side, USUAL)}
        known = {**visible_tools(definition.home, snapshot.tools), **brought}
        return {
            tool.name: tool
            for tool in effective(definition.tool_scope, known.values())
            if (tool.name in brought or prompt.lists(tool.name))
            and (
                not definition.needs_approval(tool.name)
                or is_held(Permission("tool", tool.name), call.grants)
            )
        }


@dataclass(frozen=True, slots=True)
class _Within:
    """The step in which calls are made."""

    call: CallContext
    prompt: Prompt
    tools: Mapping[str, Tool]
    hooks: HookSet | None
    calls: _CallResults

    def nested(self, tool: str, number: int) -> CallContext:
        """A call within this step, with its own key and the called prompt."""
        call = self.call
        side = replace(call.config.side, prompt=self.prompt)
        return structs.replace(
            call,
            tool=tool,
            idempotency_key=f"{call.idempotency_key}/{number}",
            config=replace(call.config, side=side),
            depth=call.depth + 1,
            effects=NO_EFFECTS,
        )


def _system(
    variables: Variables, prompt: Prompt, tools: Mapping[str, Tool], arguments: Mapping[str, Any]
) -> str:
    given = {name: as_text(arguments[name]) for name in prompt.properties & arguments.keys()}
    shown = {
        one.name: clean_text(variables.get(one.name) or "")
        for one in prompt.variables
        if one.type == "text" and one.name in prompt.placeholders
    }
    files = {**prompt.env, **variables.definition.env}
    text = prompt.render({**files, **shown, **given}).strip()
    return "\n\n".join(part for part in (text, tools_section(tools.values()).text) if part)


def _listed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"- {line}" for line in lines)]) if lines else ""
