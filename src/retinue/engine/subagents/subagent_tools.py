"""The tools for a prompt's subagents: one per direct subagent, two for resumable ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from retinue.agents.children import ChildEntry
from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.scoping import is_allowed
from retinue.definitions.subagent_config import MESSAGE_PROPERTY, PLAIN_SCHEMA, SubagentConfig
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.services import CollaborationServices, call_of
from retinue.engine.prompting.prompt_config import PromptCase
from retinue.engine.rules.stopping import as_text, paths_in
from retinue.engine.subagents.creation import (
    ChildRequest,
    pretty,
    refuse_more,
    start_child,
    write_to_child,
)
from retinue.engine.subagents.deferred import begins_with, defer
from retinue.engine.writes.callable_entries import checked_by
from retinue.errors import NotFoundError, RetinueError, UsageError
from retinue.ids import AgentId, SideName
from retinue.tools.json_schema import validator
from retinue.tools.port import Invoke, Pending, Tool, ToolContext, ToolOutput

CREATE_TOOL = "subagent_create"
MESSAGE_TOOL = "subagent_message"
_CAPABILITIES = ("agents.write",)
BEGIN = "Begin."
"""The first message of a child that is started without one."""
_ATTACHMENTS: Mapping[str, Any] = {
    "type": "array",
    "items": {"type": "string"},
    "default": [],
    "description": "paths of your files to copy to the subagent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An entry of a prompt with its target definition."""

    config: SubagentConfig
    target: Definition
    side: SideName  # the side whose prompt lists it

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The arguments required by the side that receives messages from the parent."""
        resumable = self.config.resumable
        receives = resumable.receives_messages if resumable is not None else "side_a"
        return self.target.side(receives).prompt.required_schema

    @property
    def introduced(self) -> str:
        return self.target.tool_description or self.target.description


class SubagentTools:
    """Implements `OwnTools` for the subagents that a side's prompt lists."""

    def __init__(self, services: CollaborationServices) -> None:
        self._services = services

    def __call__(
        self, catalog: Catalog, definition: Definition, side: SideName, case: PromptCase
    ) -> Mapping[str, Tool]:
        offers = _offers(catalog, definition, side)
        tools = [self._direct(offer) for offer in offers if offer.config.resumable is None]
        kept = {
            offer.config.name: offer
            for offer in offers
            if offer.config.resumable is not None
            and is_allowed(definition.tool_scope, _Named(offer.config.name))
        }
        if kept:
            tools.append(self._create(kept))
        if kept or case.has_children:
            tools.append(self._message())
        return {tool.name: tool for tool in tools}

    def _direct(self, offer: Offer) -> Tool:
        services, config = self._services, offer.config
        schema = offer.schema

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput | Pending:
            wish = ChildRequest(
                config=config,
                target=offer.target,
                side=offer.side,
                message=first_message(config, arguments, has_schema=schema is not None),
                name=_given(arguments, config.init_agent_name_property),
                attachments=paths_in(arguments, config.init_attachments_property),
                arguments=arguments if schema is not None else {},
            )
            return await _begun(services, call_of(ctx), wish)

        return _tool(config.name, offer.introduced, schema or PLAIN_SCHEMA, invoke)

    def _create(self, kept: Mapping[str, Offer]) -> Tool:
        services = self._services

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput | Pending:
            offer = kept[arguments["agent"]]
            wish = ChildRequest(
                config=offer.config,
                target=offer.target,
                side=offer.side,
                message=_filled(arguments, MESSAGE_PROPERTY),
                name=_filled(arguments, "name"),
                attachments=paths_in(arguments, "attachments"),
                arguments=_checked(offer, arguments.get("arguments") or {}),
            )
            return await _begun(services, call_of(ctx), wish)

        lines = [_described(offer) for offer in kept.values()]
        text = "\n".join(["Start a subagent that you can write to again later:", *lines])
        return _tool(CREATE_TOOL, text, _create_schema(kept), invoke)

    def _message(self) -> Tool:
        services = self._services

        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput | Pending:
            call = call_of(ctx)
            entry = _entry(call.state.children, arguments["referenceId"])
            paths = paths_in(arguments, "attachments")
            return await write_to_child(
                services, call, entry, _filled(arguments, MESSAGE_PROPERTY), paths
            )

        text = "Write to a subagent that you started with subagent_create."
        return _tool(MESSAGE_TOOL, text, _message_schema(), invoke)


def _offers(catalog: Catalog, definition: Definition, side: SideName) -> Sequence[Offer]:
    prompt = definition.side(side).prompt
    offers: list[Offer] = []
    for entry in prompt.tools or ():
        if isinstance(entry, SubagentConfig):
            target = _target(catalog, entry.key)
            if target is not None:
                offers.append(Offer(config=entry, target=target, side=side))
    return offers


def _target(catalog: Catalog, name: str) -> Definition | None:
    try:
        target = catalog.definition(name)
    except RetinueError:
        return None
    return target if target.is_dual and target.expose_as_tool else None


async def _begun(
    services: CollaborationServices, call: CallContext, wish: ChildRequest
) -> ToolOutput | Pending:
    """Start the child, or ask for its missing variables."""
    refuse_more(call, wish.config)
    deferred = defer(services, call, wish)
    if deferred is not None:
        return deferred
    wish = replace(wish, env=begins_with(services, call, wish.target, wish.config))
    return await start_child(services, call, wish)


@dataclass(frozen=True, slots=True)
class _Named:
    """A target as an argument for scope checks."""

    name: str
    capabilities: Sequence[str] = _CAPABILITIES


def first_message(config: SubagentConfig, arguments: Mapping[str, Any], *, has_schema: bool) -> str:
    """The argument that the entry names, else all of them."""
    chosen = config.init_user_message_property or (None if has_schema else MESSAGE_PROPERTY)
    if chosen is not None and arguments.get(chosen) is not None:
        return as_text(arguments[chosen])
    return pretty(dict(arguments)) if arguments else BEGIN


def _given(arguments: Mapping[str, Any], name: str | None) -> str:
    value = arguments.get(name) if name is not None else None
    return as_text(value) if value is not None else ""


def _filled(arguments: Mapping[str, Any], name: str) -> str:
    text = str(arguments[name]).strip()
    if not text:
        raise UsageError(f"{name}: it is empty")
    return text


def _checked(offer: Offer, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, checked against the schema of the child's prompt."""
    if offer.schema is None:
        return arguments
    try:
        return validator(offer.config.name, offer.schema)(arguments)
    except UsageError as error:
        raise UsageError(
            f"subagent_arguments_required: {error.message}", details=error.details
        ) from error


def _entry(children: Sequence[ChildEntry], reference: str) -> ChildEntry:
    wanted = AgentId(reference.strip())
    entry = next((e for e in children if e.reference == wanted and e.is_addressable), None)
    if entry is None:
        live = ", ".join(e.reference for e in children if e.is_addressable) or "none"
        raise NotFoundError(f"the subagent {reference!r} is not active (active: {live})")
    return entry


def _described(offer: Offer) -> str:
    resumable = offer.config.resumable
    most = resumable.max_instances if resumable is not None else None
    how = "you wait for its result" if offer.config.blocking else "runs in the background"
    cap = f", at most {most} at a time" if most is not None else ""
    return f"- {offer.config.name}: {offer.introduced} ({how}{cap})"


def _create_schema(kept: Mapping[str, Offer]) -> Mapping[str, Any]:
    schemas = [offer.schema for offer in kept.values() if offer.schema is not None]
    arguments: Mapping[str, Any] = {"type": "object"}
    if len(kept) == 1 and schemas:
        arguments = schemas[0]
    elif schemas:
        arguments = {"anyOf": [*schemas, {"type": "object"}]}
    needs = len(kept) == 1 and bool(schemas) and bool(schemas[0].get("required"))
    return {
        "type": "object",
        "properties": {
            "agent": {"type": "string", "enum": list(kept), "description": "which subagent"},
            "name": {"type": "string", "minLength": 1, "description": "a name for the subagent"},
            MESSAGE_PROPERTY: {"type": "string", "minLength": 1, "description": "the task"},
            "attachments": _ATTACHMENTS,
            "arguments": {"description": "values for the subagent's prompt", **arguments},
        },
        "required": ["agent", "name", MESSAGE_PROPERTY, *(["arguments"] if needs else [])],
        "additionalProperties": False,
    }


def _message_schema() -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {
            "referenceId": {"type": "string", "description": "the reference of the subagent"},
            MESSAGE_PROPERTY: {
                "type": "string",
                "minLength": 1,
                "description": "the message to the subagent",
            },
            "attachments": _ATTACHMENTS,
        },
        "required": ["referenceId", MESSAGE_PROPERTY],
        "additionalProperties": False,
    }


def _tool(name: str, description: str, schema: Mapping[str, Any], invoke: Invoke) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=schema,
        invoke=invoke,
        validate=checked_by(name, schema),
        effect="keyed",
        capabilities=_CAPABILITIES,
    )
