"""Requests as the API returns them: complete, with hidden characters made visible."""

import json

from retinue.agents.form import Field
from retinue.agents.permission import permissions_of
from retinue.agents.request import Request
from retinue.agents.visible_text import visible
from retinue.events import FieldView, RequestView


def request_view(request: Request) -> RequestView:
    asked = request.asked
    return RequestView(
        id=request.id,
        agent_id=request.agent_id,
        kind=request.kind,
        status=request.status,
        headline=headline(request),
        consequence=consequence(request),
        created_at=request.created_at,
        expires_at=request.expires_at,
        call=visible(request.call),
        digest=request.digest,
        requester=visible(asked.requester),
        definition=asked.definition,
        is_background=asked.is_background,
        permission=visible(asked.permission),
        reason=visible(asked.reason),
        tool=visible(asked.tool),
        arguments=shown_arguments(request) if request.kind == "approval" else "",
        title=visible(asked.title),
        fields=[_field_view(field) for field in asked.fields],
        decided_at=request.decided_at,
        decided_by=request.decided_by,
        note=visible(request.note),
        values=request.values,
    )


def _field_view(field: Field) -> FieldView:
    return FieldView(
        name=field.name,
        type=field.type,
        label=visible(field.label),
        description=visible(field.description),
        required=field.required,
        default=visible(field.default) if isinstance(field.default, str) else field.default,
        choices=field.choices,
        minimum=field.minimum,
        maximum=field.maximum,
    )


def shown_arguments(request: Request) -> str:
    """All arguments as they will be used; invisible characters are escaped."""
    return visible(json.dumps(request.asked.arguments, indent=2, ensure_ascii=False))


def headline(request: Request) -> str:
    asked = request.asked
    match request.kind:
        case "permission":
            permissions = permissions_of([asked.permission])
            wish = str(permissions[0]) if permissions else asked.permission
            return f"wants to {one_line(wish)}"
        case "approval":
            return f"wants to run {one_line(asked.tool)}"
        case "question":
            return one_line(asked.title) if asked.title else "has a question for you"
        case "variables":
            return f"needs values to start its subagent {one_line(asked.title or asked.tool)}"


def consequence(request: Request) -> str:
    match request.kind:
        case "permission":
            return "If you allow this, the agent has the permission from now on."
        case "approval":
            return "If you allow this, the call runs once, with exactly these arguments."
        case "question":
            return "Your answers are sent to the agent."
        case "variables":
            return (
                "With these values the subagent starts. They are stored encrypted, for it alone, "
                "and are not shown again; agents never see secret values."
            )


def one_line(text: str) -> str:
    return visible(text).replace("\n", "\u240a")
