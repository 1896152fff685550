"""Builds definitions from drafts: their sides and prompts, with all checks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from retinue.definitions.definition import (
    BUILTIN_NAME,
    Definition,
    Kind,
    Packaging,
)
from retinue.definitions.definition_drafts import DefinitionDraft, Report
from retinue.definitions.file_shapes import BindingShape, DefinitionShape, SideShape
from retinue.definitions.includes import Passage, expand
from retinue.definitions.prompt import Prompt
from retinue.definitions.prompt_builder import (
    check_hooks,
    check_models,
    model_options,
    not_sent,
    option_location,
)
from retinue.definitions.reference_targets import References
from retinue.definitions.scoping import verdict
from retinue.definitions.side import SessionToolBinding, Side
from retinue.definitions.variable_declarations import declared_variables
from retinue.settings.keys import camel_case

_NAMED_WITH_MODEL = 'write it before the name of the model (model = "provider:name")'
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """The inputs of definitions apart from their drafts."""

    prompts: Mapping[str, Prompt]
    passages: Mapping[str, Passage]
    references: References


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedTool:
    """A tool of which only the name is known while files load."""

    name: str
    capabilities: tuple[str, ...] = ()


def kind_of(shape: DefinitionShape) -> Kind:
    return "dual_ai" if shape.type == "dual_ai" else "ai_human"


def builtin() -> Definition:
    """The default definition of a project without any."""
    return Definition(
        name=BUILTIN_NAME,
        display_name="Assistant",
        description="Assistant",
        side_a=Side(prompt=Prompt(name=BUILTIN_NAME)),
    )


def build_definition(
    draft: DefinitionDraft[DefinitionShape], materials: Materials, report: Report
) -> Definition | None:
    shape = draft.shape
    _check_type(shape, report)
    _check_exposure(draft, report)
    _check_lists(shape, materials.references, report)
    check_models(shape, materials.references, report)
    check_hooks(shape, materials.references, report)
    side_a = side_b = None
    if shape.type != "dual_ai" or shape.side_a is not None:
        side_a = _side("side_a", shape.side_a or SideShape(), draft, materials, report)
    if shape.type == "dual_ai" and shape.side_b is not None:
        side_b = _side("side_b", shape.side_b, draft, materials, report)
    if side_a is None:
        return None
    definition = _definition(draft, side_a, side_b)
    _check_bindings(definition, materials.references, report)
    _check_options(definition, materials.references, report)
    if report.has_errors:
        return None
    warnings = tuple(str(problem) for problem in (*draft.entry.problems, *report.problems))
    return replace(definition, warnings=warnings)


def _definition(
    draft: DefinitionDraft[DefinitionShape], side_a: Side, side_b: Side | None
) -> Definition:
    shape = draft.shape
    display_name = shape.display_name or draft.name
    return Definition(
        name=draft.name,
        display_name=display_name,
        description=shape.description or display_name,
        kind=kind_of(shape),
        side_a=side_a,
        side_b=side_b,
        max_session_turns=shape.max_session_turns,
        model=shape.model,
        fallback_models=shape.fallback_models,
        options=model_options(shape),
        tool_allowlist=shape.tool_allowlist,
        tool_denylist=shape.tool_denylist,
        tool_exposure=shape.tool_exposure,
        tool_approvals=shape.tool_approvals,
        skill_allowlist=shape.skill_allowlist,
        skill_denylist=shape.skill_denylist,
        capability_allowlist=shape.capability_allowlist,
        capability_denylist=shape.capability_denylist,
        agent_allowlist=shape.agent_allowlist,
        agent_denylist=shape.agent_denylist,
        ui_visible=shape.ui_visible,
        icon=shape.icon,
        color=shape.color,
        expose_as_tool=shape.expose_as_tool,
        tool_description=shape.tool_description,
        env=shape.env,
        variables=declared_variables(shape),
        hooks=shape.hooks,
        packaging=Packaging(
            package_name=shape.package_name,
            version=shape.version,
            author=shape.author,
            license=shape.license,
        ),
        file=draft.entry.file,
    )


def _check_options(definition: Definition, references: References, report: Report) -> None:
    """Warn about options that the models of the sides do not support."""
    models = references.models
    if models is None:
        return
    for side_name, side in definition.sides():
        prompt = side.prompt
        model = prompt.model or definition.model or models.default
        options = prompt.options.over(definition.options)
        for name in sorted(options.given & models.unsupported(model)):
            if name not in prompt.options.given:
                report.warn(option_location(name), not_sent(model))
            elif prompt.model is None:  # otherwise the prompt's own file reports it
                where = option_location(name)[0]
                report.warn((side_name, "prompt"), f"{camel_case(str(where))} {not_sent(model)}")


def _side(
    name: str,
    shape: SideShape,
    draft: DefinitionDraft[DefinitionShape],
    materials: Materials,
    report: Report,
) -> Side | None:
    if shape.stop_tool_response_property is not None and shape.stop_tool is None:
        report.error((name, "stop_tool_response_property"), "needs a stopTool")
    prompt = _prompt(name, shape, draft, materials, report)
    if prompt is None:
        return None
    return Side(
        prompt=prompt,
        label=shape.label,
        stop_on_response=shape.stop_on_response,
        stop_tool=shape.stop_tool,
        stop_tool_response_property=shape.stop_tool_response_property,
        max_steps=shape.max_steps,
        session_stop=_binding(shape.session_stop),
        session_fail=_binding(shape.session_fail),
        session_status=_binding(shape.session_status),
    )


def _binding(shape: BindingShape | None) -> SessionToolBinding | None:
    if shape is None:
        return None
    return SessionToolBinding(
        name=shape.name,
        message_property=shape.message_property,
        attachments_property=shape.attachments_property,
    )


def _prompt(
    side: str,
    shape: SideShape,
    draft: DefinitionDraft[DefinitionShape],
    materials: Materials,
    report: Report,
) -> Prompt | None:
    """The prompt that a side names, or one built from the definition's own text."""
    if shape.prompt is None:
        if draft.shape.type == "dual_ai":
            report.error((side, "prompt"), "is required")
            return None
        return _inline_prompt(draft, materials, report)
    is_dual = draft.shape.type == "dual_ai"
    if draft.shape.system_prompt is not None and side == "side_a" and not is_dual:
        report.error(("system_prompt",), f"cannot be combined with sideA.prompt ({shape.prompt!r})")
    prompt = materials.prompts.get(shape.prompt)
    if prompt is None:
        if shape.prompt in materials.references.prompts:
            report.error((side, "prompt"), f"prompt {shape.prompt!r} does not load")
        else:
            report.error((side, "prompt"), materials.references.unknown_prompt(shape.prompt))
    return prompt


def _inline_prompt(
    draft: DefinitionDraft[DefinitionShape], materials: Materials, report: Report
) -> Prompt:
    written = Passage(
        text=draft.shape.system_prompt or "",
        variables=declared_variables(draft.shape),
        values=frozenset(draft.shape.env),
    )
    expanded = expand(written, materials.passages, report, ("system_prompt",))
    return Prompt(
        name=draft.name,
        text=expanded.text,
        placeholders=expanded.placeholders,
        variables=expanded.variables,
        file=draft.entry.file,
    )


def _check_type(shape: DefinitionShape, report: Report) -> None:
    if shape.chat is not None and shape.chat.provider is not None:
        message = f"unsupported provider {shape.chat.provider!r}: {_NAMED_WITH_MODEL}"
        report.error(("chat", "provider"), message)
    if shape.type == "dual_ai":
        _check_dual(shape, report)
        return
    for field in ("side_b", "max_session_turns"):
        if getattr(shape, field) is not None:
            report.warn((field,), "has no effect without type = 'dual_ai'")


def _check_dual(shape: DefinitionShape, report: Report) -> None:
    for field in ("side_a", "side_b"):
        if getattr(shape, field) is None:
            report.error((field,), "is required when type is 'dual_ai'")
    if shape.system_prompt is not None:
        message = "is for one AI side; with type 'dual_ai' each side names a prompt"
        report.error(("system_prompt",), message)
    if shape.max_session_turns is None:
        report.warn(("max_session_turns",), "is missing: the exchange has no limit")


def _check_exposure(draft: DefinitionDraft[DefinitionShape], report: Report) -> None:
    shape = draft.shape
    if shape.expose_as_tool and not _TOOL_NAME.fullmatch(draft.name):
        message = "expected only letters, digits, '_' and '-', because exposeAsTool makes it a tool"
        report.error(("name",), message)
    if shape.expose_as_tool and shape.tool_description is None and shape.description is None:
        report.warn(("tool_description",), "is missing: models will not know when to call this")


def _check_lists(shape: DefinitionShape, references: References, report: Report) -> None:
    """Warn about unknown exact names in lists: a typo in a denylist denies nothing."""
    for field in ("tool_allowlist", "tool_denylist", "tool_approvals"):
        for at, name in enumerate(getattr(shape, field) or ()):
            if "*" not in name and not references.may_be_tool(name):
                report.warn((field, at), references.unknown_tool(name))
    for field in ("agent_allowlist", "agent_denylist"):
        for at, name in enumerate(getattr(shape, field) or ()):
            if "*" not in name and name not in references.definitions:
                report.warn((field, at), references.unknown_definition(name))


def _check_bindings(definition: Definition, references: References, report: Report) -> None:
    sides = {"side_a": definition.side_a, "side_b": definition.side_b}
    for name, side in sides.items():
        if side is None:
            continue
        for field, tool in side.bound_tools():
            refusal = _binding_refusal(tool, side.prompt, definition, references)
            if refusal:
                report.error((name, field), f"{refusal}, so no model can call it")


def _binding_refusal(
    tool: str, prompt: Prompt, definition: Definition, references: References
) -> str | None:
    if not prompt.lists(tool):
        return f"tool {tool!r} is not in the tools of prompt {prompt.name!r}"
    scoped = verdict(definition.tool_scope, _NamedTool(name=tool))
    if not scoped:
        return f"tool {scoped}"
    if prompt.tools is None and not references.may_be_tool(tool):
        return references.unknown_tool(tool)
    return None
