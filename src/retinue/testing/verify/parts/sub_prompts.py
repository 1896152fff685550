"""Prompts that are called like tools: repeated only if that is safe."""

from collections.abc import Iterator

from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.verify.evidence import Evidence, records_of, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import texts_of
from retinue.testing.verify.trial_client import TrialClient

_CALLER = "caller"
_ENTRY = "{{name: {0}, initUserMessageProperty: question}}"
_SCHEMA = "requiredSchema: {type: object, properties: {question: {type: string}}}\n"


def consult(client: TrialClient) -> None:
    client.wait(client.post("asks", "consult expert tides", key="k-expert", definition=_CALLER))


def act(client: TrialClient) -> None:
    client.wait(client.post("acts", "consult doer deed", key="k-doer", definition=_CALLER))


def spread(client: TrialClient) -> None:
    hearer = client.wait(client.post("hearer", "listen", key="k-listen"))
    text = f"consult herald {hearer.agent}"
    client.wait(client.post("spreads", text, key="k-herald", definition=_CALLER))


def say(request: ModelRequest) -> Answer | None:
    texts = texts_of(request.messages[-1])
    if request.system.startswith("You know."):
        return f"known: {texts[-1]}"
    if request.system.startswith("You do."):
        return Reply(text="did", calls=[Call(name="once", arguments={"what": texts[-1]})])
    if request.system.startswith("You spread."):
        return Reply(text="said", calls=[Call(name="tell", arguments={"what": texts[-1]})])
    if not request.system.startswith("You call."):
        return None
    if isinstance(request.messages[-1], ToolMessage):
        return "heard"
    _, name, question = texts[-1].split(" ")
    return Reply(calls=[Call(name=name, arguments={"question": question})])


def answered(evidence: Evidence) -> Iterator[str]:
    """Each call has one result, which matches the effects of the call."""
    for channel, name in (("asks", "expert"), ("acts", "doer"), ("spreads", "herald")):
        results = [r for agent in evidence.at(channel) for r in results_of(agent)]
        allowed = ("ok",) if name == "expert" else ("ok", "unknown")
        if [r["name"] for r in results] != [name] or results[0]["status"] not in allowed:
            yield f"prompt: {name} ended as {[(r['name'], r['status']) for r in results]}"
            continue
        if name == "expert" and results[0]["text"] != "known: tides":
            yield f"prompt: the expert said {results[0]['text']!r}"
        is_ok = results[0]["status"] == "ok"
        if name == "doer" and is_ok and len(evidence.done("once")) != 1:
            yield f"prompt: the deed was done {len(evidence.done('once'))} times"
        if name == "herald":
            heard = [r for agent in evidence.at("hearer") for r in records_of(agent, "system")]
            if len(heard) != is_ok:
                yield f"prompt: {len(heard)} posts arrived after {results[0]['status']!r}"


SUB_PROMPTS = Part(
    name="sub-prompts",
    summary="prompts that are called like tools, with and without their own tools",
    steps=(consult, act, spread),
    judges=(answered,),
    speak=say,
    files={
        "agents/caller.toml": (
            'name = "caller"\ndisplayName = "Caller"\ndescription = "Calls."\n'
            '[sideA]\nprompt = "caller"\n'
        ),
        "prompts/caller.md": "---\ntools: [{}]\n---\nYou call.".format(
            ", ".join(_ENTRY.format(name) for name in ("expert", "doer", "herald"))
        ),
        "prompts/expert.md": f"---\ntools: []\n{_SCHEMA}---\nYou know.",
        "prompts/doer.md": f"---\ntools: [once]\n{_SCHEMA}---\nYou do.",
        "prompts/herald.md": f"---\ntools: [tell]\n{_SCHEMA}---\nYou spread.",
    },
)
