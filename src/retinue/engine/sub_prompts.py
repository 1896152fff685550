"""Prompts that are called like tools: one model step and its tools, out of the caller's context.

Nothing of the step is stored but the call's result. A prompt without tools can be asked again after
a crash; one with tools is never run twice, since the model might call others the second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
from msgspec import structs

from retinue.agents.context import user_content
from retinue.agents.permission import Permission, is_held
from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import FunctionEntry, Prompt, SubPromptEntry
from retinue.definitions.scoping import effective
from retinue.definitions.subagent import SideName
from retinue.engine.asking import ask, with_images
from retinue.engine.entries import checked_by, first_files, first_words, parameters_of
from retinue.engine.limits import Limits
from retinue.engine.prompting.planning import Case, spec_of
from retinue.engine.prompting.sections import tools_section
from retinue.engine.stopping import as_text
from retinue.engine.tooling import CallContext
from retinue.errors import ModelError, NotFoundError
from retinue.failpoints import reach
from retinue.messages import CallPart, FileReference, TextPart, UserMessage
from retinue.models.port import Completed, ModelRequest, Models
from retinue.tools.execution import run_tool
from retinue.tools.port import Tool, ToolContext, ToolOutput

_SOURCE = "prompt"
_NESTED = frozenset({_SOURCE, "handoff", "subagent"})


@dataclass(slots=True, kw_only=True)
class _Told:
    """What comes of the step's calls."""

    results: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    files: list[FileReference] = field(default_factory=list[FileReference])


class SubPrompts:
    """Offers the prompts that a prompt lists among its tools."""

    def __init__(
        self, catalog: Catalog, models: Models, default_model: str, limits: Limits
    ) -> None:
        self._catalog = catalog
        self._models = models
        self._default_model = default_model
        self._limits = limits

    def __call__(self, definition: Definition, side: SideName, _case: Case) -> Mapping[str, Tool]:
        caller = definition.side(side).prompt
        tools: dict[str, Tool] = {}
        for entry in caller.tools or ():
            if isinstance(entry, SubPromptEntry):
                try:
                    prompt = self._catalog.prompt(entry.key)
                except NotFoundError:
                    continue  # its file failed after the caller's was loaded
                tools[entry.name] = self._tool(entry, prompt)
        return tools

    def _tool(self, entry: SubPromptEntry, prompt: Prompt) -> Tool:
        parameters = parameters_of(prompt, entry)

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
            return await self._step(cast("CallContext", ctx), entry, prompt, arguments)

        return Tool(
            name=entry.name,
            description=prompt.tool_description or f"Ask the prompt {entry.name}.",
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
        tools = _offered(call, prompt)
        said = first_words(entry, arguments) or msgspec.json.encode(arguments).decode()
        content = user_content(said, await first_files(entry, arguments, call.files))
        request = ModelRequest(
            system=_system(call.plan.definition, prompt, tools, arguments),
            messages=await with_images([UserMessage(content=content)], call.files),
            tools=[spec_of(tool) for tool in tools.values()],
            session=f"{call.agent_id}/{call.call_id}",
        )
        reach("prompt:before")
        completed = await self._ask(call, prompt, request)
        reach("prompt:after")
        told = _Told()
        for number, part in enumerate(p for p in completed.parts if isinstance(p, CallPart)):
            await self._run(call, tools, part, number, told)
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
        sections = [
            text if entry.include_text_response else "",
            _listed("Tool calls:", told.results) if entry.include_tool_calls else "",
            _listed("Failed calls:", told.errors) if entry.include_errors else "",
        ]
        return ToolOutput(
            text="\n\n".join(section for section in sections if section.strip()) or "Done.",
            is_error=bool(told.errors) and not told.results,
            files=told.files,
        )

    async def _ask(self, call: CallContext, prompt: Prompt, request: ModelRequest) -> Completed:
        """Ask the first model that answers; its tokens count as the agent's."""
        definition = call.plan.definition
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
                    call.usages.append((model.name, completed.usage))
                return completed
        raise ModelError("; ".join(failures))

    async def _run(
        self,
        call: CallContext,
        tools: Mapping[str, Tool],
        part: CallPart,
        number: int,
        told: _Told,
    ) -> None:
        tool = tools.get(part.name)
        if tool is None or part.malformed is not None:
            why = "there is no such tool" if tool is None else "its arguments were no JSON object"
            told.errors.append(f"{part.name}: {why}")
            return
        key = f"{call.idempotency_key}/{number}"
        nested = structs.replace(
            call,
            tool=part.name,
            idempotency_key=key,
            posts=[],
            creates=[],
            redescribed=[],
            requests=[],
            notices=[],
            children=[],
        )
        reach("tool:before")
        finished = await run_tool(
            tool,
            nested,
            part.arguments,
            timeout_seconds=self._limits.tool_seconds,
            output_limit=self._limits.tool_output_characters,
        )
        reach("tool:after")
        if finished.pending is not None:
            told.errors.append(f"{part.name}: it waits for somebody, which cannot be done here")
        elif finished.output.is_error:
            told.errors.append(f"{part.name}: {finished.output.text}")
        else:
            told.results.append(f"{part.name}: {finished.output.text}")
            told.files.extend(finished.output.files)
            for name in ("posts", "creates", "redescribed", "notices", "children"):
                getattr(call, name).extend(getattr(nested, name))


def _offered(call: CallContext, prompt: Prompt) -> Mapping[str, Tool]:
    """Plain tools that the prompt lists and the scope allows, without asking anybody."""
    definition = call.plan.definition
    listed = None
    if prompt.tools is not None:
        prompt = prompt.switched(replace(call.variables, prompt=prompt).on(prompt.gates))
        assert prompt.tools is not None  # as before
        listed = {entry.name for entry in prompt.tools if isinstance(entry, FunctionEntry)}
    return {
        tool.name: tool
        for tool in effective(definition.tool_scope, call.plan.known.values())
        if tool.source not in _NESTED
        and (listed is None or tool.name in listed)
        and (
            not definition.needs_approval(tool.name)
            or is_held(Permission("tool", tool.name), call.grants)
        )
    }


def _system(
    definition: Definition, prompt: Prompt, tools: Mapping[str, Tool], arguments: Mapping[str, Any]
) -> str:
    given = {name: as_text(arguments[name]) for name in prompt.properties & arguments.keys()}
    text = prompt.render({**prompt.env, **definition.env, **given}).strip()
    return "\n\n".join(part for part in (text, tools_section(tools.values()).text) if part)


def _listed(head: str, lines: Sequence[str]) -> str:
    return "\n".join([head, *(f"- {line}" for line in lines)]) if lines else ""
