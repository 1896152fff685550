"""Subagents with missing variables: requested from the owner, and started when provided."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
from msgspec import structs

from retinue.agents.command import ProvideCommand
from retinue.agents.deferral import Deferral, endpoint_of
from retinue.agents.form import Field
from retinue.agents.request import Asked, Request, digest_of_call
from retinue.agents.state import Turn
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Variable
from retinue.definitions.subagent_config import SubagentConfig
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.calls.inherited_variables import inherited, scoped_in
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.services import CollaborationServices
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.subagents.creation import ChildRequest, start_child
from retinue.engine.subagents.instances import given, is_for_instances
from retinue.engine.variables.values import Variables
from retinue.errors import NotFoundError, RefusedError
from retinue.ids import AgentId, OwnerId, RequestId, derived_agent_id, new_request_id
from retinue.stores.port import Agent, Effects
from retinue.stores.request_port import Voiding
from retinue.text import clean_json, clean_text
from retinue.tools.port import ToolOutput

ERROR_CODE = "subagent_env_required"
OPEN_FOR = timedelta(hours=24)
MOST_OPEN = 20


def defer(
    services: CollaborationServices, call: CallContext, wish: ChildRequest
) -> ToolOutput | None:
    """Keep the wish and say what is missing, if anything is: the call fails with that."""
    scoped = scoped_in(call, wish.target)
    wanted = [one for one in scoped if one.is_required]
    required = [one.name for one in wanted]
    has = given(call, wish.config, [one.name for one in scoped])
    missing = missing_names(services, call.owner, wish.target, required, given=tuple(has))
    if not missing:
        return None
    now = call.clock.now()
    kept = [one for one in call.state.deferred if one.is_open(now)]
    deferral = next((one for one in kept if _is_same(one, wish)), None)
    if deferral is None:
        if len(kept) >= MOST_OPEN:
            raise RefusedError(f"{MOST_OPEN} subagents are already waiting for their variables")
        deferral = _deferral(call, wish, required, now)
        request = _request(call, deferral, wanted)
        call.emit(Effects(deferred=(deferral,), requests=(request,)))
    return ToolOutput(text=_message(call.agent_id, deferral, missing), is_error=True)


def missing_names(
    services: CollaborationServices,
    owner: OwnerId,
    target: Definition,
    required: Sequence[str],
    given: Sequence[str],
) -> list[str]:
    """The required variables without a value; the parent's own values do not count."""
    sides = [_child(services, owner, target)]
    if target.side_b is not None:
        sides.append(replace(sides[0], prompt=target.side_b.prompt))
    has_value = {name for name in required if any(side.scope(name) for side in sides)}
    return [name for name in required if name not in has_value and name not in given]


def open_deferral(agent: Agent | LiveAgent, request_id: RequestId, now: datetime) -> Deferral:
    for one in agent.state.deferred:
        if one.id == request_id and one.is_open(now):
            return one
    raise NotFoundError(f"there is no open request {request_id[:64]!r} for variables")


class Deferred:
    """Requests for variables, and the subagents that start when they are answered."""

    def __init__(self, services: CollaborationServices) -> None:
        self._services = services

    def missing(self, agent: Agent, deferral: Deferral, given: Sequence[str]) -> list[str]:
        target = self._services.project.current.catalog.definition(deferral.config.key)
        return missing_names(self._services, agent.owner, target, deferral.required, given)

    async def begin(
        self, draft: Draft, live: LiveAgent, prompt_config: PromptConfig, order: ProvideCommand
    ) -> None:
        """Create the requested child; a second answer finds no open request.

        The result reaches the parent as a message, as the call that asked has already failed.
        """
        services = self._services
        deferral = open_deferral(live, order.request_id, draft.at)
        target = prompt_config.snapshot.catalog.definition(deferral.config.key)
        call = _late_call(services, live, prompt_config, deferral, draft.at)
        scoped = scoped_in(call, target)
        env = inherited(call, deferral.child, without=[one.name for one in scoped])
        wish = ChildRequest(
            config=deferral.config,
            target=target,
            side=deferral.side,
            message=deferral.message,
            name=deferral.name,
            attachments=deferral.attachments,
            arguments=deferral.arguments,
            env={**env, **order.env},
            is_late=True,
        )
        await start_child(services, call, wish)
        answered = Voiding(reason="", requests=[deferral.id], status="answered", by=order.by)
        # The current turn, if any, did not write to the child.
        draft.emit(call.effects._replace(posts=(), notices=call.effects.items))
        draft.emit(Effects(voids=(answered,)))
        deferred = [one for one in draft.state.deferred if one.id != deferral.id]
        draft.state = structs.replace(draft.state, deferred=deferred)


def begins_with(
    services: CollaborationServices, call: CallContext, target: Definition, config: SubagentConfig
) -> dict[str, str]:
    """The variables that a child receives from its parent when it is created."""
    parent = call.state.env
    if not parent:
        return {}
    names = [one.name for one in scoped_in(call, target)]
    for_one = [name for name in parent if is_for_instances(config, names, name)]
    child = derived_agent_id(call.idempotency_key)
    environment = services.environment
    passed = inherited(call, child, without=[*names, *for_one])
    own = given(call, config, names)
    call.emit(Effects(moved=tuple(own.values())))
    values = {n: environment.own_value(call.agent_id, parent, held) for n, held in own.items()}
    return {**passed, **environment.sealed_for(child, {n: v for n, v in values.items() if v})}


def _child(services: CollaborationServices, owner: OwnerId, target: Definition) -> Variables:
    """The variables of a child that has received none."""
    return Variables(
        environment=services.environment,
        agent_id=AgentId(""),
        owner=owner,
        own={},
        definition=target,
        prompt=target.side_a.prompt,
    )


def _deferral(
    call: CallContext, wish: ChildRequest, required: list[str], now: datetime
) -> Deferral:
    request_id = new_request_id()
    return Deferral(
        id=request_id,
        call=call.call_id,
        child=derived_agent_id(request_id),
        config=wish.config,
        side=wish.side,
        message=wish.message,
        name=wish.name,
        attachments=list(wish.attachments),
        arguments=clean_json(dict(wish.arguments)),
        trail=call.turn.trail,
        required=required,
        asked_at=now,
        expires_at=now + OPEN_FOR,
    )


def _request(call: CallContext, deferral: Deferral, wanted: Sequence[Variable]) -> Request:
    """The request to the owner, with the same id: names and descriptions, never values."""
    name = call.state.name or getattr(call.descriptor, "name", "")
    fields = [
        Field(
            name=one.name,
            type="secret" if one.type == "secret" else "string",
            description=clean_text(one.description),
            required=True,
        )
        for one in wanted
    ]
    asked = Asked(
        requester=clean_text(name),
        definition=call.definition,
        is_background=not call.descriptor.is_foreground,
        reason=clean_text(deferral.message),
        tool=deferral.config.name,
        title=clean_text(deferral.name),
        fields=fields,
    )
    return Request(
        id=deferral.id,
        owner=call.owner,
        agent_id=call.agent_id,
        call=call.call_id,
        kind="variables",
        asked=asked,
        digest=digest_of_call("$", {"request": deferral.id}),
        created_at=deferral.asked_at,
        expires_at=deferral.expires_at,
    )


def _is_same(deferral: Deferral, wish: ChildRequest) -> bool:
    asked = (wish.config, wish.side, wish.message, wish.name, list(wish.attachments))
    kept = (
        deferral.config,
        deferral.side,
        deferral.message,
        deferral.name,
        deferral.attachments,
    )
    return asked == kept and deferral.arguments == clean_json(dict(wish.arguments))


def _message(parent: AgentId, deferral: Deferral, missing: Sequence[str]) -> str:
    message = {
        "error_code": ERROR_CODE,
        "message": (
            f"The subagent {deferral.config.name!r} needs values that only its owner can provide: "
            f"{', '.join(missing)}. Ask the owner to fill in the form or to post to the endpoint; "
            "the subagent then starts by itself, and its result arrives as a message. Do not ask "
            "for the values in the conversation."
        ),
        "request_id": deferral.id,
        "endpoint": endpoint_of(parent, deferral.id),
        "agent": deferral.config.name,
        "required": deferral.required,
        "missing": list(missing),
    }
    return msgspec.json.encode(message).decode()


def _late_call(
    services: CollaborationServices,
    live: LiveAgent,
    prompt_config: PromptConfig,
    deferral: Deferral,
    at: datetime,
) -> CallContext:
    """The call as if it continued now; the same key gives the same child."""
    return CallContext(
        agent_id=live.id,
        owner=live.owner,
        definition=live.definition,
        call_id=deferral.call,
        descriptor=live.descriptor,
        idempotency_key=deferral.id,
        trees=services.trees,
        grants=live.state.grants,
        turn=Turn(items=[], first_seq=0, trail=deferral.trail),
        state=live.state,
        config=prompt_config,
        tool=deferral.config.name,
        environment=services.environment,
        show=lambda _: None,
        clock=services.clock,
    )
