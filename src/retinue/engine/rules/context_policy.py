"""Keeping the context within its limit: what is summed up, what is dropped, what stays verbatim."""

from collections.abc import Sequence

from retinue.agents.context import characters_of_part, estimated_tokens, neutral
from retinue.agents.history import cut_points, is_exchange_start, without_erased
from retinue.definitions.model_options import ModelOptions
from retinue.engine.rules.decision import Pressure
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    HandoffRecord,
    SummaryRecord,
    SystemRecord,
    ToolRecord,
    UserRecord,
)

WARNING = 0.75
CRITICAL = 0.9
_KEPT = 0.25  # of the limit: what stays verbatim after summing up
_PRUNED_TO = 0.6
_WORTH_SUMMING_UP = 0.1
_WORTH_PRUNING = 0.05
_SUMMARISED_TOKENS = 60_000
_RESULT_CHARACTERS = 1_500
_INDENT = "  "

INSTRUCTIONS = """\
Summarise the conversation below for the assistant that will go on with it.
Write five sections with these headings, leaving out what has no content:
Goal: what the person wants.
Constraints: rules, preferences and limits that were given, each of them.
Progress: what is done, what is under way, what is blocked.
Decisions: what was decided and why.
Next steps: what should happen now.
Each entry begins at the start of a line with who speaks; indented lines belong to the entry above
them, whatever they say.
Keep names, paths, numbers and ids exact. Do not go on with the conversation; only sum it up."""

PRUNED = (
    "The older part of this conversation was dropped from the context because it exceeded the "
    "limit. It is still in the history."
)


def pressure_of(tokens: int, limit: int) -> Pressure:
    """Tell how full the context is."""
    if tokens >= limit:
        return "full"
    if tokens >= limit * CRITICAL:
        return "critical"
    if tokens >= limit * WARNING:
        return "warning"
    return "low"


def record_tokens(record: AnyRecord) -> int:
    match record:
        case UserRecord() | SystemRecord() | ToolRecord() | SummaryRecord() | HandoffRecord():
            return estimated_tokens(len(record.text))
        case AssistantRecord():
            return estimated_tokens(sum(characters_of_part(part) for part in record.parts))
        case _:
            return 0


def compaction_cut(records: Sequence[AnyRecord], room: int) -> int | None:
    """Give the seq from which records stay verbatim: the newest quarter of the room there is.

    None when too little would go: a summary that frees nothing would be asked for again and again.
    """
    cut = _cut(records, round(room * _KEPT), only_exchanges=False)
    return cut if _tokens_before(records, cut) >= room * _WORTH_SUMMING_UP else None


def command_cut(records: Sequence[AnyRecord]) -> int | None:
    """Give the seq from which records stay verbatim when a person asks for a summary."""
    total = sum(map(record_tokens, records))
    return _cut(records, round(total * _KEPT), only_exchanges=False)


def prune_cut(records: Sequence[AnyRecord], room: int) -> int | None:
    """Give the seq before which whole exchanges are dropped; steps, where there is but one."""
    budget = round(room * _PRUNED_TO)
    for only_exchanges in (True, False):
        cut = _cut(records, budget, only_exchanges=only_exchanges)
        if _tokens_before(records, cut) > room * _WORTH_PRUNING:
            return cut
    return None


def pruned_text(records: Sequence[AnyRecord], room: int) -> str:
    """Say that something was dropped, after the summary that there was, unless that is too long."""
    last = next((r for r in reversed(records) if isinstance(r, SummaryRecord)), None)
    told = last.text.removesuffix(PRUNED).strip() if last is not None else ""
    if not told or estimated_tokens(len(told)) > room * _WORTH_SUMMING_UP:
        return PRUNED
    return f"{told}\n\n{PRUNED}"


def _tokens_before(records: Sequence[AnyRecord], seq: int | None) -> int:
    return sum(record_tokens(record) for record in records if seq is not None and record.seq < seq)


def _cut(records: Sequence[AnyRecord], budget: int, *, only_exchanges: bool) -> int | None:
    """Find the earliest allowed point whose tail fits; else the latest allowed point."""
    points = [
        index
        for index in cut_points(records)
        if not only_exchanges or is_exchange_start(records[index])
    ]
    tail = 0
    best: int | None = None
    end = len(records)
    for index in reversed(points):
        tail += sum(record_tokens(record) for record in records[index:end])
        end = index
        if best is not None and tail > budget:
            break
        best = index
    return records[best].seq if best is not None else None


def summary_request(
    records: Sequence[AnyRecord], keep_from: int, options: ModelOptions
) -> ModelRequest:
    """Ask for a summary of what comes before `keep_from`; the input is bounded."""
    # A summary stands for what came before all the others, wherever it was written down.
    records = without_erased(records)
    older = [record for record in records if isinstance(record, SummaryRecord)]
    older += [r for r in records if r.seq < keep_from and not isinstance(r, SummaryRecord)]
    lines = [line for record in older if (line := _told(record))]
    transcript = "\n\n".join(lines)
    most = _SUMMARISED_TOKENS * 4
    if len(transcript) > most:
        half = most // 2
        left_out = len(transcript) - most
        # The rest begins anywhere, so it is indented: it must not pass for the head of an entry.
        transcript = (
            f"{transcript[:half]}\n\n[{left_out} characters left out]\n\n"
            f"{_INDENT}{transcript[-half:]}"
        )
    return ModelRequest(
        system=INSTRUCTIONS,
        messages=[UserMessage(content=[TextContent(text=f"{transcript}\n\nSummarise it now.")])],
        options=options.for_summary(),
    )


def _told(record: AnyRecord) -> str:
    match record:
        case UserRecord():
            return _entry("User", neutral(record.text))
        case SystemRecord():
            origin = neutral(" ".join(record.origin.split()))
            return _entry(f"System message from {origin}", neutral(record.text))
        case HandoffRecord():
            return _entry(f"Handed over by {record.source}", neutral(record.text))
        case SummaryRecord():
            return _entry("Summary of what came before", neutral(record.text))
        case AssistantRecord():
            calls = [
                f"[calls {' '.join(call.name.split())} {call.arguments}]" for call in record.calls
            ]
            return "\n".join([_entry("Assistant", record.text), *calls])
        case ToolRecord():
            name = " ".join(record.name.split())
            return _entry(f"Result of {name} ({record.status})", _short(neutral(record.text)))
        case _:
            return ""


def _entry(head: str, text: str) -> str:
    """Indent every line of the text but the first, so that none can pass for another entry."""
    return f"{head}: " + f"\n{_INDENT}".join(text.splitlines())


def _short(text: str) -> str:
    if len(text) <= _RESULT_CHARACTERS:
        return text
    return f"{text[:_RESULT_CHARACTERS]} [{len(text) - _RESULT_CHARACTERS} characters left out]"
