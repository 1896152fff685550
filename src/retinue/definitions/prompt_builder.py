"""Builds prompts from drafts: expands includes, checks variables and classifies tools."""

from collections.abc import Mapping

from retinue.definitions.definition_drafts import DefinitionDraft, Report
from retinue.definitions.file_shapes import DefinitionShape, PromptShape, ToolShape
from retinue.definitions.includes import Passage, expand
from retinue.definitions.model_options import ModelOptions, OptionName
from retinue.definitions.prompt import (
    FunctionEntry,
    HandoffEntry,
    Prompt,
    PromptTool,
    SubPromptEntry,
)
from retinue.definitions.reference_targets import References, Schema
from retinue.definitions.schemas import may_name_more, properties_of, schema_problem
from retinue.definitions.subagent_config import PLAIN_SCHEMA, Immediate, Resumable, SubagentConfig
from retinue.definitions.variable_declarations import declared_variables
from retinue.settings.keys import did_you_mean
from retinue.settings.table_reader import Location

_WORDS: Mapping[type[PromptTool], str] = {
    FunctionEntry: "a tool",
    SubPromptEntry: "a prompt",
    HandoffEntry: "an agent to hand off to (ai_human)",
    SubagentConfig: "a subagent (dual_ai)",
}
_ARGUMENTS = ("init_user_message_property", "init_attachments_property", "init_agent_name_property")


def library(
    drafts: Mapping[str, DefinitionDraft[PromptShape]], retained: Mapping[str, Prompt]
) -> dict[str, Passage]:
    """The texts that can be included: prompts as written, else their last good version."""
    passages = {
        name: Passage(text=prompt.text, variables=prompt.variables, values=prompt.placeholders)
        for name, prompt in retained.items()
    }
    passages.update({name: _passage(draft.shape) for name, draft in drafts.items()})
    return passages


def build_prompt(
    draft: DefinitionDraft[PromptShape],
    passages: Mapping[str, Passage],
    references: References,
    report: Report,
) -> Prompt | None:
    shape = draft.shape
    _check_schema(shape, report)
    check_models(shape, references, report)
    check_options(shape, references, report)
    check_hooks(shape, references, report)
    expanded = expand(_passage(shape), passages, report, ("prompt",), name=draft.name)
    tools = None if shape.tools is None else _tools(shape.tools, references, report)
    if report.has_errors:
        return None
    return Prompt(
        name=draft.name,
        text=expanded.text,
        placeholders=expanded.placeholders,
        tool_description=shape.tool_description,
        model=shape.model,
        fallback_models=shape.fallback_models,
        options=model_options(shape),
        tools=tools,
        required_schema=shape.required_schema,
        variables=expanded.variables,
        env=shape.env,
        hooks=shape.hooks,
        file=draft.entry.file,
    )


def check_models(
    shape: PromptShape | DefinitionShape, references: References, report: Report
) -> None:
    """Warn about unknown models; only a warning, as a model may be added later."""
    models = references.models
    if models is None:
        return
    named: list[tuple[Location, str | None]] = [(("model",), shape.model)]
    named += [(("fallback_models", at), name) for at, name in enumerate(shape.fallback_models)]
    for location, name in named:
        problem = models.problem(name) if name else None
        if problem is not None:
            report.warn(location, problem)


def check_options(shape: PromptShape, references: References, report: Report) -> None:
    """Warn about options that the prompt's model does not support."""
    if references.models is not None and shape.model is not None:
        unsupported = references.models.unsupported(shape.model)
        for name in sorted(model_options(shape).given & unsupported):
            report.warn(option_location(name), not_sent(shape.model))


def option_location(name: OptionName) -> Location:
    """The location of an option in a file."""
    match name:
        case "reasoning_effort":
            return ("reasoning", "effort")
        case "reasoning_budget":
            return ("reasoning", "budget_tokens")
        case _:
            return (name,)


def not_sent(model: str) -> str:
    return f"is not sent: {model} does not support it"


def check_hooks(
    shape: PromptShape | DefinitionShape, references: References, report: Report
) -> None:
    for at, name in enumerate(shape.hooks):
        if name not in references.hooks:
            report.error(("hooks", at), references.unknown_hook(name))


def model_options(shape: PromptShape | DefinitionShape) -> ModelOptions:
    return ModelOptions(
        temperature=shape.temperature,
        max_tokens=shape.max_tokens,
        top_p=shape.top_p,
        stop=shape.stop,
        seed=shape.seed,
        reasoning_effort=shape.reasoning.effort if shape.reasoning else None,
        reasoning_budget=shape.reasoning.budget_tokens if shape.reasoning else None,
        tool_choice=shape.tool_choice,
        parallel_tool_calls=shape.parallel_tool_calls,
        provider_options=shape.provider_options,
    )


def _passage(shape: PromptShape) -> Passage:
    return Passage(
        text=shape.prompt,
        variables=declared_variables(shape),
        values=frozenset({*shape.env, *properties_of(shape.required_schema)}),
    )


def _check_schema(shape: PromptShape, report: Report) -> None:
    if shape.required_schema is None:
        return
    if shape.required_schema.get("type") != "object":
        report.error(("required_schema", "type"), "expected 'object'")
    elif (problem := schema_problem(shape.required_schema)) is not None:
        report.error(("required_schema",), f"is not a JSON schema: {problem}")


def _tools(
    shapes: tuple[ToolShape, ...], references: References, report: Report
) -> tuple[PromptTool, ...]:
    tools: dict[str, PromptTool] = {}
    for at, shape in enumerate(shapes):
        location: Location = ("tools", at)
        if shape.name in tools:
            report.error(location, f"{shape.name!r} is listed twice")
            continue
        kind = _kind(shape.name, references)
        if isinstance(kind, str):
            report.error(location, kind)
            continue
        tool = _tool(kind, shape)
        fitting = set(kind.__dataclass_fields__)
        for field in sorted(_given(shape) - fitting):
            message = f"does not fit: {shape.name!r} is {_WORDS[kind]}"
            report.error((*location, field), message)
        _check_arguments(tool, location, references, report)
        tools[shape.name] = tool
    return tuple(tools.values())


def _check_arguments(
    tool: PromptTool, location: Location, references: References, report: Report
) -> None:
    """Warn about arguments that can never be passed, as the target's schema lacks them."""
    schema = _schema(tool, references)
    if schema is None or may_name_more(schema):
        return
    known = properties_of(schema)
    for field in _ARGUMENTS:
        named = getattr(tool, field, None)
        if named is not None and named not in known:
            taken = f"accepts {', '.join(map(repr, known))}" if known else "accepts no arguments"
            message = f"{named!r} is never passed: {tool.name!r} {taken}"
            report.warn((*location, field), message + did_you_mean(named, known))


def _schema(tool: PromptTool, references: References) -> Schema:
    """The schema that calls are checked against; None if the entry itself decides."""
    match tool:
        case FunctionEntry():
            return None
        case SubPromptEntry():
            return references.prompts[tool.name]
        case HandoffEntry():
            return references.definitions[tool.name].schemas["side_a"]
        case SubagentConfig(resumable=kept):
            schemas = references.definitions[tool.name].schemas
            if kept is not None:
                return schemas[kept.receives_messages]
            return schemas["side_a"] or PLAIN_SCHEMA


def _kind(name: str, references: References) -> type[PromptTool] | str:
    """The kind of a name in a tools list: a tool first, then an agent, then a prompt."""
    if references.is_tool(name):
        return FunctionEntry
    definition = references.definitions.get(name)
    if definition is not None and definition.is_exposed:
        return SubagentConfig if definition.kind == "dual_ai" else HandoffEntry
    if name in references.prompts:
        return SubPromptEntry
    if definition is not None:
        return f"agent {name!r} cannot be called: it does not set exposeAsTool = true"
    return FunctionEntry if references.tools is None else references.unknown_entry(name)


def _given(shape: ToolShape) -> set[str]:
    return {field for field in shape.model_fields_set if getattr(shape, field) is not None}


def _tool(kind: type[PromptTool], shape: ToolShape) -> PromptTool:
    if kind is FunctionEntry:
        return FunctionEntry(
            name=shape.name,
            env=shape.env or {},
            optional=shape.optional,
        )
    if kind is SubPromptEntry:
        return SubPromptEntry(
            name=shape.name,
            include_text_response=shape.include_text_response is not False,
            include_tool_calls=shape.include_tool_calls is not False,
            include_errors=shape.include_errors is not False,
            init_user_message_property=shape.init_user_message_property,
            init_attachments_property=shape.init_attachments_property,
            optional=shape.optional,
        )
    if kind is HandoffEntry:
        return HandoffEntry(
            name=shape.name,
            init_user_message_property=shape.init_user_message_property,
            init_attachments_property=shape.init_attachments_property,
            optional=shape.optional,
        )
    return _subagent(shape)


def _subagent(shape: ToolShape) -> SubagentConfig:
    immediate, resumable = shape.immediate, shape.resumable
    return SubagentConfig(
        name=shape.name,
        blocking=shape.blocking is not False,
        immediate=None
        if immediate is None
        else Immediate(
            name_env=immediate.name_env,
            description_env=immediate.description_env,
            scoped_env=immediate.scoped_env,
        ),
        optional=shape.optional,
        resumable=None
        if resumable is None
        else Resumable(
            receives_messages=resumable.receives_messages,
            max_instances=resumable.max_instances,
            parent_communication=resumable.parent_communication,
        ),
        init_user_message_property=shape.init_user_message_property,
        init_attachments_property=shape.init_attachments_property,
        init_agent_name_property=shape.init_agent_name_property,
    )
