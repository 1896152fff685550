"""Whether an agent may call a tool: one decision, with one wording, for every face of it."""

from dataclasses import dataclass

from retinue.definitions.scoping import verdict
from retinue.engine.prompting.planning import Plan
from retinue.stores.port import AuditLine
from retinue.tools.port import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """What the caller is told, and what the audit log keeps."""

    text: str
    line: AuditLine


def denial(plan: Plan, name: str, tool: Tool | None, *, call: str) -> Denial | None:
    """Say no to a call of what the plan does not hold; `call` names it in the audit log."""
    if name in plan.tools:
        return None
    rule = str(verdict(plan.definition.tool_scope, tool)) if tool is not None else "not visible"
    return Denial(
        text=f"The tool {name!r} is not allowed for this agent.",
        line=AuditLine(action="tool_refused", detail={"tool": name, "rule": rule, "call": call}),
    )
