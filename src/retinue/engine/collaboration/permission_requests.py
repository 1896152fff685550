"""`request_permission`, `request_permission_via_parent`, `ask_user`: questions to the owner."""

import os
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from retinue.agents.form import parse_form
from retinue.agents.permission import Permission, is_held, parse_permission
from retinue.agents.request import Asked, Question
from retinue.engine.collaboration.services import CollaborationServices, call_of
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.requests.ask import AskDesk
from retinue.errors import ConflictError, RefusedError, UsageError
from retinue.stores.port import Effects
from retinue.text import clean_text
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import Pending, ToolContext, ToolOutput

LONGEST_REASON = 2_000
LONGEST_TITLE = 500
_UNTOUCHABLE = ("/proc", "/sys", "/dev", "/work")

Tag = Annotated[
    str, Field(description="@network, @read:<absolute path>, @write:<absolute path>, @tool:<name>")
]
Reason = Annotated[str, Field(description="why you need it, shown to the owner")]


def permission_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    desk = AskDesk(services.store, services.clock, services.limits)

    async def ask(ctx: ToolContext, kind: Question, asked: Asked) -> ToolOutput | Pending:
        call = call_of(ctx)
        agent = await services.store.agent(ctx.owner, ctx.agent_id)
        try:
            request = await desk.ask(agent, ctx.call_id, kind, asked)
        except ConflictError as error:
            return ToolOutput(text=error.message)
        notices = await desk.notices(agent, request)
        call.emit(Effects(requests=(request,), notices=tuple(notices)))
        return Pending(reason="permission", request=request.id)

    async def ask_permission(ctx: ToolContext, tag: str, reason: str) -> ToolOutput | Pending:
        permission = parse_permission(tag)
        _check(services, ctx, permission)
        reason = _text(reason, "reason", LONGEST_REASON)
        if is_held(permission, ctx.grants):
            return ToolOutput(text=f"You already have {permission.tag}. Continue.")
        return await ask(ctx, "permission", Asked(permission=permission.tag, reason=reason))

    @tool(name="request_permission", effect="keyed")
    async def request_permission(
        ctx: ToolContext, permission: Tag, reason: Reason
    ) -> ToolOutput | Pending:
        """Ask the owner for a permission. The call waits for the decision and returns it."""
        return await ask_permission(ctx, permission, reason)

    @tool(name="request_permission_via_parent", effect="keyed")
    async def request_permission_via_parent(
        ctx: ToolContext, permission: Tag, reason: Reason
    ) -> ToolOutput | Pending:
        """Ask the owner for a permission from a background agent; their chat is notified too."""
        return await ask_permission(ctx, permission, reason)

    @tool(name="ask_user", effect="keyed")
    async def ask_user(
        ctx: ToolContext,
        schema: Annotated[
            dict[str, Any],
            Field(
                description="a JSON schema of an object with at most 20 fields: string (also with "
                'enum, format "date" or "multiline"), number, integer, boolean'
            ),
        ],
        title: Annotated[str, Field(description="a one-line title")] = "",
    ) -> ToolOutput | Pending:
        """Ask the owner to fill in a form. The call waits and returns the values as JSON."""
        fields = parse_form(schema)
        return await ask(ctx, "question", Asked(title=_line(title), fields=fields))

    return [request_permission, request_permission_via_parent, ask_user]


def _line(text: str) -> str:
    text = " ".join(clean_text(text).split())
    if len(text) > LONGEST_TITLE:
        raise UsageError(f"title: at most {LONGEST_TITLE} characters")
    return text


def _text(text: str, name: str, longest: int) -> str:
    text = clean_text(text).strip()
    if not text:
        raise UsageError(f"{name}: it is empty")
    if len(text) > longest:
        raise UsageError(f"{name}: at most {longest} characters")
    return text


def _check(services: CollaborationServices, ctx: ToolContext, permission: Permission) -> None:
    """Refuse what could not be granted before the owner is asked."""
    if permission.kind == "tool":
        _check_tool(call_of(ctx).config, permission.target)
    elif permission.kind in ("read", "write"):
        _check_path(services, permission.target)


def _check_tool(config: PromptConfig, name: str) -> None:
    if name not in config.tools:
        raise RefusedError(
            f"permission: you do not have the tool {name!r}, and a permission cannot add it: "
            "your definition decides which tools you have"
        )
    if not config.definition.needs_approval(name):
        raise UsageError(f"permission: {name!r} needs no permission; call it directly")


def _check_path(services: CollaborationServices, path: str) -> None:
    asked = PurePosixPath(path)
    if path == "/" or any(asked.is_relative_to(one) for one in _UNTOUCHABLE):
        raise RefusedError(f"permission: {path} cannot be granted; name a folder of the project")
    real = os.path.realpath(path)
    if real != path:
        raise UsageError(
            f"permission: {path} is a symbolic link to {real}; ask for that path instead"
        )
    if not os.path.exists(path):  # noqa: PTH110
        raise UsageError(f"permission: {path} does not exist")
    data = os.path.realpath(services.settings.data_dir)
    if asked.is_relative_to(data):
        raise RefusedError(f"permission: {path} holds Retinue's own data and cannot be granted")
