"""Commands: each is acknowledged when it is stored, and must then apply exactly once."""

from collections.abc import Callable, Iterator, Sequence

from retinue.errors import RetinueError
from retinue.testing.verify.evidence import Evidence, Told, records_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import LEADER, LEADING
from retinue.testing.verify.parts.subagents import SUBAGENTS
from retinue.testing.verify.parts.variables import VARIABLES, say
from retinue.testing.verify.trial_client import TrialClient

_RESETS = 2
_TITLE = "Titled"
_FAMILY = ("keeper", "kept")
_NAMES = frozenset(
    {"stop", "reset", "compact", "patch", "terminate", "switch", "delete", "provide"}
)


def stop(client: TrialClient) -> None:
    text = "use stuck:halted"
    sent = client.post("halted", text, key="k-halted", may_be_cancelled=True)
    client.until_effect("halted", sent)
    behind = client.post("halted", "behind it", key="k-behind-it", may_be_cancelled=True)
    client.order(sent, {"type": "stop"})
    client.wait(sent)
    client.wait(behind)


def reset(client: TrialClient) -> None:
    for number in range(_RESETS):
        sent = client.wait(client.post("cleared", f"old {number}", key=f"k-old-{number}"))
        command = {"type": "reset", "reason": f"trial {number}"}
        client.order(sent, command, key=f"k-reset-{number}")
    fresh = client.wait(client.post("cleared", "fresh", key="k-cleared"))
    if fresh.reply != "re fresh, 1 lines":
        raise RetinueError(f"the context before the reset is still there: {fresh.reply!r}")


def compact(client: TrialClient) -> None:
    parts = [client.post("shortened", f"piece {n}", key=f"k-piece-{n}") for n in range(3)]
    sent = client.wait(parts[-1])
    client.order(sent, {"type": "stop"}, key="k-idle-stop")  # it finds nothing to stop
    client.order(sent, {"type": "compact"})


def rename(client: TrialClient) -> None:
    """While a tool is running: the command applies beside it."""
    sent = client.post("titled", "use hold:titled", key="k-titled")
    client.until_effect("titled", sent)
    client.order(sent, {"type": "patch", "patch": {"name": _TITLE}})
    client.log.names[str(sent.agent)] = _TITLE
    client.release("titled")
    client.wait(sent)


def switch_back(client: TrialClient) -> None:
    home = client.wait(client.post("homed", "at home", key="k-home"))
    away = client.wait(client.post("visited", "on a visit", key="k-visit"))
    command = {"type": "switch", "isReturn": True, "leaving": away.agent}
    client.order(home, command)


def terminate(client: TrialClient) -> None:
    sent = client.wait(client.post("ended", "hello", key="k-ended", definition="keeper"))
    client.until_idle(sent)
    client.order(sent, {"type": "terminate", "reason": "trial"})


def delete(client: TrialClient) -> None:
    sent = client.post("deleted", "use stuck:deleted", key="k-deleted", may_be_cancelled=True)
    client.until_effect("deleted", sent)
    client.log.deleted.append(str(sent.agent))
    client.order(sent, {"type": "delete"})


def provide(client: TrialClient) -> None:
    sent = client.wait(client.post(LEADING, "create vault gold", key="k-gold", definition=LEADER))
    request = client.command("wanted", sent)
    if request:
        client.order(sent, {"type": "provide", "request": request, "values": {"KEY": "gold"}})


def applied(evidence: Evidence) -> Iterator[str]:
    """Whatever was stored was applied, and nothing twice."""
    missing = _NAMES - {one.name for one in evidence.log.ordered}
    if missing:
        yield f"command: {sorted(missing)} were never stored"
    for one in evidence.log.ordered:
        if one.fate != "answered":
            yield f"command: {one.name} is {one.fate} ({one.code})"
        if one.name not in ("stop", "delete") and one.code:
            yield f"command: {one.name} found nothing to do"
    yield from _counted(evidence)
    for agent_id, name in evidence.log.names.items():
        if evidence.agents[agent_id]["name"] != name:
            yield "command: an agent does not have its new name"
    for agent_id in evidence.log.deleted:
        if agent_id in evidence.agents:
            yield "command: an agent was deleted and is still there"


def _counted(evidence: Evidence) -> Iterator[str]:
    """The records of the commands: one for each of them."""
    stops = sum(one.name == "stop" and not one.code for one in evidence.log.ordered)
    due: Sequence[tuple[str, str, int, Callable[[Told], int]]] = (
        ("halted", "stops", stops, _notes("stopped")),
        ("cleared", "resets", _RESETS, lambda agent: len(records_of(agent, "reset"))),
        ("shortened", "summaries", 1, lambda agent: len(records_of(agent, "summary"))),
        ("homed", "accounts", 1, lambda agent: len(records_of(agent, "system"))),
        ("ended", "ends", 1, _notes("terminated")),
    )
    for channel, what, expected, count in due:
        found = sum(count(agent) for agent in evidence.at(channel))
        if found != expected:
            yield f"command: {channel!r} has {found} {what}, not {expected}"
    vaults = len(evidence.of("vault"))
    if vaults != 1:
        yield f"command: {vaults} subagents began with their variables"


def _notes(code: str) -> Callable[[Told], int]:
    return lambda agent: sum(record["code"] == code for record in records_of(agent, "note"))


def families(evidence: Evidence) -> Iterator[str]:
    """Children end with their parent."""
    for parent in evidence.at("ended"):
        children = [one for one in evidence.agents.values() if one["parent"] == parent["id"]]
        if parent["isActive"] or not children or any(child["isActive"] for child in children):
            yield f"command: {1 + len(children)} agents of a terminated family are not all ended"


COMMANDS = Part(
    name="commands",
    summary="stop, reset, compact, rename, switch back, terminate, delete and provide as items",
    steps=(stop, reset, compact, rename, switch_back, terminate, delete, provide),
    judges=(applied, families),
    speak=say,
    files={
        **VARIABLES.files,
        **{f"agents/{name}.toml": SUBAGENTS.files[f"agents/{name}.toml"] for name in _FAMILY},
        "prompts/keeper.md": SUBAGENTS.files["prompts/keeper.md"],
    },
)
