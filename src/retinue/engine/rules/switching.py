"""A person goes from one agent to another: what each of them writes, and where replies go then."""

from collections.abc import Collection

from msgspec import structs

from retinue.agents.command import SwitchCommand
from retinue.agents.descriptor import Route, UserDescriptor
from retinue.agents.inbox import Item, ItemBody, Sender, seen_text
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.ids import AgentId, new_item_id
from retinue.records import AssistantRecord, NoteRecord, SystemRecord, UserRecord
from retinue.stores.port import (
    Departure,
    Effects,
    FateChange,
    NewAgent,
    NewItem,
    Post,
    command_item,
)

WEB = "web"
"""Its people follow by themselves: nothing has to be delivered to another place."""

_ARRIVAL = "The person comes from"
_TEXTS = 6
_CHARACTERS = 300

Place = tuple[str, str]
"""A connector and a channel."""


def departed(draft: Draft, live: LiveAgent, departure: Departure) -> None:
    """The agent that the person leaves: a note for people, an account for the next agent."""
    route, target = route_of(live), departure.target
    note = NoteRecord(code="switched", text=f"Switched to {departure.name}.", agent=target)
    draft.add(note)
    is_return = route is not None and route.agent_id == target
    switch = SwitchCommand(is_chat=True) if is_return else SwitchCommand(route=route)
    _send(draft, _switch(draft, live, departure.to, switch, account_of(live)))
    if departure.message:
        _send(draft, _first_words(draft, live, departure))
    if route is not None and route.agent_id == live.id:
        draft.state = structs.replace(draft.state, switched_to=target)
    elif route is not None:
        draft.state = structs.replace(draft.state, route=None)
        if not is_return:
            switch = SwitchCommand(is_chat=True, to=target)
            post = _switch(draft, live, route.agent_id, switch)
            _send(draft, structs.replace(post, is_optional=True))


def switched(draft: Draft, live: LiveAgent, item: Item, switch: SwitchCommand) -> bool:
    """The agents that a switch concerns: where the person comes from or goes to, their chat's own.

    False when a person wants to come back and nobody answers instead of this agent.
    """
    if switch.is_return:
        return _went_back(draft, live, item, switch.leaving)
    seq: int | None = None
    if item.body.text:
        origin = item.body.sender.id
        record = SystemRecord(item=item.id, text=item.body.text, origin=origin, silent=True)
        seq = draft.add(record).seq
    if switch.is_chat:
        draft.state = structs.replace(draft.state, switched_to=switch.to)
    else:
        came_from = AgentId(item.body.sender.id) if switch.tells is None else None
        draft.state = structs.replace(draft.state, route=switch.route, came_from=came_from)
    if switch.tells is not None:
        back = SwitchCommand(is_chat=True)
        post = _switch(draft, live, switch.tells, back, account_of(live))
        _send(draft, structs.replace(post, is_optional=True))
    draft.fates.append(FateChange(item_id=item.id, fate="answered", reply_seq=seq))
    draft.state = structs.replace(draft.state, updated_at=draft.at)
    return True


def _went_back(draft: Draft, live: LiveAgent, item: Item, leaving: AgentId | None) -> bool:
    """The person's own command; the agent that they leave sends its account after them."""
    away = leaving or draft.state.switched_to
    if away is None:
        return False
    draft.state = structs.replace(draft.state, switched_to=None, updated_at=draft.at)
    post = _switch(draft, live, away, SwitchCommand(tells=live.id))
    _send(draft, structs.replace(post, is_optional=True))
    draft.fates.append(FateChange(item_id=item.id, fate="answered"))
    return True


def route_of(live: LiveAgent) -> Route | None:
    """The chat in which the person is who talks to this agent; None in the web app."""
    descriptor = live.descriptor
    if live.state.route is not None:
        return live.state.route
    if isinstance(descriptor, UserDescriptor) and descriptor.connector != WEB:
        return Route(
            agent_id=live.id, connector=descriptor.connector, channel=descriptor.channel_id
        )
    return None


def account_of(live: LiveAgent) -> str:
    """Where the person comes from and what was said there last, in few words."""
    lines: list[str] = []
    for record in reversed(live.history.records):
        if isinstance(record, SystemRecord) and record.text.startswith(_ARRIVAL):
            break
        if isinstance(record, UserRecord) and seen_text(record.text, record.sender).strip():
            lines.append(f"- person: {_clipped(seen_text(record.text, record.sender))}")
        elif isinstance(record, AssistantRecord) and record.text.strip():
            lines.append(f"- {live.definition}: {_clipped(record.text)}")
        if len(lines) == _TEXTS:
            break
    where = f'{_ARRIVAL} the agent "{live.state.name or live.definition}" ({live.id})'
    return "\n".join([f"{where}. What was said there last:", *reversed(lines)]) if lines else where


def destinations(live: LiveAgent, connectors: Collection[str]) -> list[Place]:
    """Where the reply of the turn goes: to whoever spoke, else to the chat that is open."""
    turn, descriptor = live.state.turn, live.descriptor
    own = None
    if isinstance(descriptor, UserDescriptor):
        own = (descriptor.connector, descriptor.channel_id)
    items = [live.running[i] for i in turn.items if i in live.running] if turn else []
    spoken = [item for item in items if item.is_from_person]
    if spoken:
        places = [_place(item.body.route) or own for item in spoken]
    elif items and all(item.body.reply_to is not None for item in items):
        places = []  # the answer goes to the agents that asked
    else:
        places = [_place(live.state.route) or own]
    known = [place for place in places if place is not None and place[0] in connectors]
    return list(dict.fromkeys(known))


def _place(route: Route | None) -> Place | None:
    return (route.connector, route.channel) if route is not None else None


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1]}…"


def _send(draft: Draft, post: Post) -> None:
    draft.emit(Effects(notices=(post,)))


def _switch(
    draft: Draft, live: LiveAgent, to: AgentId | NewAgent, switch: SwitchCommand, text: str = ""
) -> Post:
    item = command_item(switch, Sender(type="agent", id=live.id), draft.at, text=text)
    return Post(to=to, item=item, owner=live.owner)


def _first_words(draft: Draft, live: LiveAgent, departure: Departure) -> Post:
    sender = Sender(type="agent", id=live.id)
    body = ItemBody(text=departure.message, sender=sender, trail=departure.trail)
    item = NewItem(id=new_item_id(), kind="message", body=body, admitted_at=draft.at)
    return Post(to=departure.to, item=item, owner=live.owner)
