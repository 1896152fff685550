"""Narrows a definition to the rights of its current version while its text stays as it was."""

from collections.abc import Mapping
from dataclasses import replace

from retinue.definitions.definition import Definition
from retinue.definitions.prompt import FunctionEntry, Prompt, PromptTool
from retinue.definitions.side import Side


def narrowed_definitions(
    before: Mapping[str, Definition], current: Mapping[str, Definition], *, keeping: str
) -> Mapping[str, Definition]:
    """Narrow each; one that is gone is left out, except for `keeping`, whose turn goes on."""
    if before is current:
        return before
    narrowed = {
        name: narrowed_definition(one, current[name]) if name in current else one
        for name, one in before.items()
        if name in current or name == keeping
    }
    is_same = len(narrowed) == len(before) and all(
        one is before[name] for name, one in narrowed.items()
    )
    return before if is_same else narrowed


def narrowed_prompts(
    before: Mapping[str, Prompt], current: Mapping[str, Prompt]
) -> Mapping[str, Prompt]:
    if before is current:
        return before
    narrowed = {
        name: narrowed_prompt(one, current[name]) if name in current else one
        for name, one in before.items()
    }
    is_same = all(one is before[name] for name, one in narrowed.items())
    return before if is_same else narrowed


def narrowed_definition(before: Definition, current: Definition) -> Definition:
    """The same definition with only those rights that both versions give."""
    if before is current:
        return before
    narrowed = before
    if before.rights != current.rights:
        narrowed = replace(narrowed, within=current.rights)
    approvals = tuple(dict.fromkeys((*before.tool_approvals, *current.tool_approvals)))
    if approvals != before.tool_approvals:
        narrowed = replace(narrowed, tool_approvals=approvals)
    if before.ui_visible and not current.ui_visible:
        narrowed = replace(narrowed, ui_visible=False)
    if before.expose_as_tool and not current.expose_as_tool:
        narrowed = replace(narrowed, expose_as_tool=False)
    if before.home is not None and current.home is not None:
        tools = before.home.tools & current.home.tools
        if tools != before.home.tools:
            narrowed = replace(narrowed, home=replace(before.home, tools=tools))
    side_a = _side(before.side_a, current.side_a)
    if side_a is not before.side_a:
        narrowed = replace(narrowed, side_a=side_a)
    if before.side_b is not None and current.side_b is not None:
        side_b = _side(before.side_b, current.side_b)
        if side_b is not before.side_b:
            narrowed = replace(narrowed, side_b=side_b)
    return narrowed


def narrowed_prompt(before: Prompt, current: Prompt) -> Prompt:
    """The same text with only those tools, subagents and handoffs that both versions list."""
    if current.tools is None or before.tools == current.tools:
        return before
    if before.tools is None:
        functions = [entry for entry in current.tools if isinstance(entry, FunctionEntry)]
        return replace(before, tools=tuple(functions))
    listed = {(type(entry), entry.name) for entry in current.tools}
    kept: tuple[PromptTool, ...] = tuple(
        entry for entry in before.tools if (type(entry), entry.name) in listed
    )
    return before if len(kept) == len(before.tools) else replace(before, tools=kept)


def _side(before: Side, current: Side) -> Side:
    prompt = narrowed_prompt(before.prompt, current.prompt)
    return before if prompt is before.prompt else replace(before, prompt=prompt)
