"""Whether an agent may call a tool: one decision, with one wording, for every face of it."""

from dataclasses import dataclass

from retinue.definitions.scoping import skill_verdict, verdict
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.stores.port import AuditLine
from retinue.tools.port import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """What the caller is told, and what the audit log keeps."""

    text: str
    line: AuditLine


def denial(config: PromptConfig, name: str, tool: Tool | None, *, call: str) -> Denial | None:
    """Say no to a call of what the scope does not hold; `call` names it in the audit log."""
    if tool is not None and config.scoped.get(name) is tool:
        return None
    rule = str(verdict(config.definition.tool_scope, tool)) if tool is not None else "not visible"
    return Denial(
        text=f"The tool {name!r} is not allowed for this agent.",
        line=AuditLine(action="tool_refused", detail={"tool": name, "rule": rule, "call": call}),
    )


def skill_denial(config: PromptConfig, plugin_id: str) -> Denial | None:
    """Say no to the command line of a skill that the lists do not hold."""
    found = skill_verdict(config.definition.skill_scope, plugin_id)
    if found:
        return None
    detail = {"skill": plugin_id, "rule": str(found)}
    return Denial(
        text=f"The skill {plugin_id!r} is not allowed for this agent.",
        line=AuditLine(action="skill_refused", detail=detail),
    )
