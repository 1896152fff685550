"""Immediate subagents: started when the prompt that lists them becomes active, before its model.

They are ordinary calls. The engine writes them in place of the model, as the first step of that
prompt; scope, waiting, results and crashes work as for any other call.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from retinue.agents.inbox import ItemBody, Sender
from retinue.agents.state import AgentState, Turn
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt
from retinue.definitions.subagent_config import MESSAGE_PROPERTY, SubagentConfig
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.subagents.instances import indexed, instances, is_for_instances
from retinue.engine.subagents.subagent_tools import BEGIN, CREATE_TOOL
from retinue.engine.variables.required import scoped_variables
from retinue.engine.variables.values import Environment
from retinue.errors import RetinueError
from retinue.ids import new_call_id, new_item_id
from retinue.records import AssistantRecord, CallPart
from retinue.stores.port import Agent, NewItem, Post

Value = Callable[[str], str | None]


class Boots:
    """Writes the calls of a prompt's immediate subagents, once per activation of the prompt.

    One that is switched on while the prompt is active starts before the next step of its model.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def are_due(self, live: LiveAgent, prompt_config: PromptConfig) -> bool:
        booted = live.state.booted
        return any(
            _mark(live, prompt_config, config) not in booted for config in prompt_config.immediate
        )

    def write(self, draft: Draft, live: LiveAgent, prompt_config: PromptConfig) -> None:
        """Record that the prompt is active, and call its immediate subagents."""
        value = self._environment.of(live, prompt_config.definition, prompt_config.side.prompt).get
        calls = [
            (_call(config, prompt_config, value, number), number)
            for config in prompt_config.immediate
            if _mark(live, prompt_config, config) not in draft.state.booted
            and _can_be_called(config, prompt_config)
            for number in _due(config, draft.state, self._scoped(config, live, prompt_config))
        ]
        kept = [one for one in draft.state.booted if one.startswith(f"{live.definition}/")]
        turn = draft.state.turn
        if calls:
            turn = turn or Turn(items=[], first_seq=draft.next_seq)
            side = turn.side if prompt_config.is_dual else ""
            draft.add(AssistantRecord(parts=[call for call, _ in calls], model="", side=side))
            numbers = {call.id: number for call, number in calls}
            turn = structs.replace(turn, boots=numbers, calls_epoch=draft.epoch)
        booted = [
            *kept,
            *(_mark(live, prompt_config, config) for config in prompt_config.immediate),
        ]
        draft.state = structs.replace(draft.state, booted=list(dict.fromkeys(booted)), turn=turn)

    def _scoped(
        self, config: SubagentConfig, live: LiveAgent, prompt_config: PromptConfig
    ) -> Sequence[str]:
        """The variables that each instance receives separately, if the parent has any."""
        if not live.state.env:
            return ()
        try:
            target = prompt_config.snapshot.catalog.definition(config.key)
        except RetinueError:
            return ()

        def gates(definition: Definition, prompt: Prompt) -> frozenset[str]:
            return self._environment.of(live, definition, prompt).on(prompt.gates)

        found = scoped_variables(target, prompt_config.snapshot, gates)
        return [one.name for one in found]


def boots(definition: Definition) -> bool:
    """Whether a new agent of this definition starts something immediately."""
    return any(_immediate(definition.side_a.prompt.tools or ()))


def boot_post(agent: Agent, at: datetime) -> Post:
    """The item that wakes a new agent before anyone has written to it."""
    body = ItemBody(text="", sender=Sender(type="engine"))
    item = NewItem(id=new_item_id(), kind="boot", body=body, admitted_at=at, silent=True)
    return Post(to=agent.id, item=item, owner=agent.owner)


def _immediate(entries: Sequence[object]) -> Iterator[SubagentConfig]:
    for entry in entries:
        if isinstance(entry, SubagentConfig) and entry.immediate is not None:
            yield entry


def _mark(live: LiveAgent, prompt_config: PromptConfig, config: SubagentConfig) -> str:
    """The mark of a handled entry; an optional entry may be switched on after the others."""
    side = live.state.turn.side if live.state.turn is not None else "side_a"
    place = f"{prompt_config.definition.name}/{side}"
    return place if config.optional is None else f"{place}/{config.name}"


def _can_be_called(config: SubagentConfig, prompt_config: PromptConfig) -> bool:
    return (config.name if config.resumable is None else CREATE_TOOL) in prompt_config.tools


def _due(config: SubagentConfig, state: AgentState, scoped: Sequence[str]) -> list[int]:
    """The instances to start: none that already exists, within the limit."""
    assert config.immediate is not None  # the caller filters
    live = sum(entry.is_addressable and entry.name == config.name for entry in state.children)
    numbers = instances(config.immediate, scoped, state.env)
    most = config.resumable.max_instances if config.resumable is not None else None
    if live and not any(is_for_instances(config, scoped, name) for name in state.env):
        return []
    return numbers if most is None else numbers[: max(0, most - live)]


def _call(
    config: SubagentConfig, prompt_config: PromptConfig, value: Value, number: int
) -> CallPart:
    immediate = config.immediate
    assert immediate is not None  # the caller filters

    def hint(name: str | None) -> str | None:
        return value(indexed(name, number)) if name is not None else None

    name, described = hint(immediate.name_env), hint(immediate.description_env)
    if config.resumable is not None:
        arguments: Mapping[str, Any] = {
            "agent": config.name,
            "name": name or config.name,
            MESSAGE_PROPERTY: described or BEGIN,
        }
        return CallPart(id=new_call_id(), name=CREATE_TOOL, arguments=dict(arguments))
    wanted = prompt_config.tools[config.name].parameters.get("properties", {})
    hints = {config.init_user_message_property or MESSAGE_PROPERTY: described or BEGIN}
    if name is not None and config.init_agent_name_property is not None:
        hints[config.init_agent_name_property] = name
    given = {key: text for key, text in hints.items() if key in wanted}
    return CallPart(id=new_call_id(), name=config.name, arguments=given)
