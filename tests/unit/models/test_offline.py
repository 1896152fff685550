"""The offline model: commands into calls, results into words, and honesty about the rest."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from retinue.clock import SystemClock
from retinue.definitions.model_options import ModelOptions, ToolChoice
from retinue.ids import CallId
from retinue.model_messages import (
    AssistantMessage,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.offline.offline_model import OfflineModel
from retinue.models.port import Completed, ModelEvent, ModelRequest, TextDelta, ToolSpec
from retinue.records import CallPart, TextPart, ThinkingPart


class NotedSleeps(SystemClock):
    def __init__(self) -> None:
        self.slept = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds


def spec(name: str, *required: str, **optional: str) -> ToolSpec:
    """Make a tool of string arguments; `optional` gives names and types."""
    known: dict[str, Any] = {argument: {"type": "string"} for argument in required}
    known |= {argument: {"type": kind} for argument, kind in optional.items()}
    return ToolSpec(
        name=name,
        description=f"The {name} tool.",
        parameters={"type": "object", "properties": known, "required": list(required)},
    )


TOOLS = (
    spec("time", timezone="string"),
    spec("files_list", path="string", recursive="boolean"),
    spec("files_read", "path"),
    spec("files_write", "path", "content"),
    spec("files_delete", "path"),
    spec("files_edit", "path", "old", "new"),
    spec("web_fetch", "url"),
    spec("shell", "command"),
    spec("lists_add", "listId", "title"),
    spec("schedules_create", "cron", "text"),
    spec("agents_message", "agentId", "content", mode="string"),
    spec("notes_create", "content"),
    spec("search", "query", limit="integer"),
    spec("lists_item_update", "item", list="string", title="string", completed="boolean"),
    spec("views_query", "query", limit="integer"),
)


def user(*texts: str) -> UserMessage:
    return UserMessage(content=[TextContent(text=text) for text in texts])


def result(text: str, *, name: str = "files_list", is_error: bool = False) -> ToolMessage:
    return ToolMessage(call=CallId("c"), name=name, text=text, is_error=is_error)


def called(name: str, **arguments: Any) -> AssistantMessage:
    return AssistantMessage(
        parts=[CallPart(id=CallId("c"), name=name, arguments=arguments)], model="offline"
    )


async def events(
    *messages: ModelMessage | str, tools: Sequence[ToolSpec] = TOOLS, choice: ToolChoice = "auto"
) -> list[ModelEvent]:
    said = [user(message) if isinstance(message, str) else message for message in messages]
    options = ModelOptions(tool_choice=choice)
    request = ModelRequest(system="You help.", messages=said, tools=tools, options=options)
    return [event async for event in OfflineModel(NotedSleeps()).stream(request)]


async def completed(
    *messages: ModelMessage | str, tools: Sequence[ToolSpec] = TOOLS, choice: ToolChoice = "auto"
) -> Completed:
    last = (await events(*messages, tools=tools, choice=choice))[-1]
    assert isinstance(last, Completed)
    return last


async def call(
    *messages: ModelMessage | str, tools: Sequence[ToolSpec] = TOOLS, choice: ToolChoice = "auto"
) -> tuple[str, Mapping[str, Any]]:
    parts = (await completed(*messages, tools=tools, choice=choice)).parts
    calls = [part for part in parts if isinstance(part, CallPart)]
    assert len(calls) == 1, parts
    return calls[0].name, calls[0].arguments


async def words(*messages: ModelMessage | str, tools: Sequence[ToolSpec] = TOOLS) -> str:
    parts = (await completed(*messages, tools=tools)).parts
    assert not any(isinstance(part, CallPart) for part in parts), parts
    return "".join(part.text for part in parts if isinstance(part, TextPart))


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [
        ("what time is it?", "time", {}),
        ("What time is it in Europe/Berlin?", "time", {"timezone": "Europe/Berlin"}),
        ("list files", "files_list", {}),
        ("List my files in /drafts", "files_list", {"path": "/drafts"}),
        ("read notes.txt", "files_read", {"path": "notes.txt"}),
        ("Read notes.txt.", "files_read", {"path": "notes.txt"}),
        ("write hello to notes.txt", "files_write", {"content": "hello", "path": "notes.txt"}),
        (
            "write talk to Ann\nand go to bed to todo/a.md",
            "files_write",
            {"content": "talk to Ann\nand go to bed", "path": "todo/a.md"},
        ),
        ("delete notes.txt", "files_delete", {"path": "notes.txt"}),
        (
            "replace milk with oat milk in notes.txt",
            "files_edit",
            {"old": "milk", "new": "oat milk", "path": "notes.txt"},
        ),
        ("fetch https://example.com/a?b=c.", "web_fetch", {"url": "https://example.com/a?b=c."}),
        ("run echo hi!", "shell", {"command": "echo hi!"}),
        ("add milk to groceries", "lists_add", {"title": "milk", "listId": "groceries"}),
        (
            "add oat milk to my shopping list",
            "lists_add",
            {"title": "oat milk", "listId": "shopping"},
        ),
        (
            "remind me at 9 to water the plants",
            "schedules_create",
            {"cron": "0 9 * * *", "text": "water the plants"},
        ),
        (
            "remind me at 9:30 pm to sleep",
            "schedules_create",
            {"cron": "30 21 * * *", "text": "sleep"},
        ),
        (
            "ask todo to plan my day",
            "agents_message",
            {"agentId": "todo", "content": "plan my day"},
        ),
        ("mark oat milk as done", "lists_item_update", {"item": "oat milk", "completed": True}),
        (
            "mark milk on my shopping list done",
            "lists_item_update",
            {"item": "milk", "list": "shopping", "completed": True},
        ),
        ("find oat milk", "views_query", {"query": "oat milk"}),
        ("remember that the key is here", "notes_create", {"content": "the key is here"}),
        ('call search {"query": "x", "limit": 3}', "search", {"query": "x", "limit": 3}),
        ("call search red shoes", "search", {"query": "red shoes"}),
        ("call time", "time", {}),
        ("time {}", "time", {}),
    ],
)
async def test_a_plain_command_becomes_a_call(
    said: str, name: str, arguments: dict[str, Any]
) -> None:
    assert await call(said) == (name, arguments)


@pytest.mark.parametrize(
    "tool",
    [spec("write_file", "file_name", "text"), spec("box_files_write", "p", "q")],
    ids=["other names", "unknown names"],
)
async def test_arguments_are_found_by_name_or_else_by_what_is_required(tool: ToolSpec) -> None:
    name, arguments = await call("write hello to a.txt", tools=[tool])
    assert name == tool.name
    assert set(arguments.values()) == {"hello", "a.txt"}


async def test_a_command_line_is_split_where_the_tool_wants_a_list() -> None:
    tool = spec("shell", command="array")
    assert await call("run echo 'a b'", tools=[tool]) == ("shell", {"command": ["echo", "a b"]})


async def test_commands_with_then_between_them_run_one_after_the_other() -> None:
    said = "list files then read a.txt"
    assert await call(said) == ("files_list", {})
    second = await completed(user(said), called("files_list"), result("a.txt"))
    assert [type(part) for part in second.parts] == [TextPart, CallPart]
    assert await call(user(said), called("files_list"), result("a.txt")) == (
        "files_read",
        {"path": "a.txt"},
    )
    end = [called("files_read"), result("hello", name="files_read")]
    assert await words(user(said), called("files_list"), result("a.txt"), *end) == (
        "`files_read` returned: hello"
    )


async def test_a_failed_command_ends_the_sequence_and_is_explained() -> None:
    text = await words(
        user("list files then read a.txt"),
        called("files_list"),
        result("no such folder", is_error=True),
    )
    assert "call to `files_list` failed" in text
    assert "no such folder" in text


async def test_a_burst_of_messages_is_worked_off_in_order() -> None:
    burst = user("add milk to groceries", "add eggs to groceries")
    assert (await call(burst))[1]["title"] == "milk"
    assert (await call(burst, called("lists_add"), result("ok")))[1]["title"] == "eggs"


async def test_long_output_stands_in_a_block_that_nothing_inside_can_end() -> None:
    text = await words(user("list files"), called("files_list"), result("a\n```\nb"))
    assert "````\na\n```\nb\n````" in text


async def test_very_long_output_is_cut_and_says_so() -> None:
    text = await words(user("list files"), called("files_list"), result("x" * 9_000))
    assert len(text) < 5_000
    assert "(5000 more characters)" in text


async def test_an_empty_result_is_told_as_one() -> None:
    text = await words(user("list files"), called("files_list"), result(""))
    assert "finished without output" in text


async def test_the_answer_of_another_agent_is_told_in_its_words() -> None:
    asked = called("agents_message", agentId="todo", content="plan it")
    outcome = '{"agentId":"todo","status":"complete","response":"It is **planned**."}'
    said = await words("ask todo to plan it", asked, result(outcome, name="agents_message"))
    assert said == "`todo` answers:\n\nIt is **planned**."
    late = '{"agentId":"todo","status":"timeout","timeoutSeconds":1.0}'
    said = await words("ask todo to plan it", asked, result(late, name="agents_message"))
    assert "timeout" in said


async def test_help_shows_a_way_to_use_every_tool() -> None:
    text = await words("help")
    for tool in TOOLS:
        assert f"`{tool.name}`" in text
    assert "`what time is it`" in text
    assert '`call search {"query": "..."}`' in text
    assert await words("Hello there, what can you do?") == text


async def test_help_without_tools_says_so() -> None:
    assert "no tools" in await words("help", tools=[])


async def test_other_text_is_echoed_with_the_way_to_a_real_model() -> None:
    text = await words("Why is the sky blue?")
    assert "offline model" in text
    assert "> Why is the sky blue?" in text
    assert "retinue.toml" in text
    assert "OPENAI_API_KEY" in text


async def test_the_second_time_it_is_brief() -> None:
    before = AssistantMessage(parts=[TextPart(text="...")], model="offline")
    assert "OPENAI_API_KEY" not in await words(user("Why?"), before, user("Why not?"))


async def test_a_command_without_its_tool_says_that() -> None:
    text = await words("run ls", tools=[])
    assert "no tool for it" in text


@pytest.mark.parametrize(
    ("said", "expected"),
    [("call nothing {}", "no tool `nothing`"), ("call search {bad", "not a JSON object")],
)
async def test_a_call_that_cannot_be_made_is_explained(said: str, expected: str) -> None:
    assert expected in await words(said)


async def test_a_very_long_text_is_answered_at_once() -> None:
    assert "offline model" in await words("put a to " + "b to " * 50_000)


@pytest.mark.parametrize("said", ["tell me a joke", "show me the money", "remember?"])
async def test_ordinary_talk_calls_nothing(said: str) -> None:
    assert "offline model" in await words(said)


async def test_the_markdown_sample_has_one_of_each() -> None:
    text = await words("show markdown")
    for mark in ("# A heading", "1. First", "|---|---|", "```python"):
        assert mark in text


async def test_counting_is_long_and_takes_two_seconds_at_most() -> None:
    clock = NotedSleeps()
    request = ModelRequest(system="", messages=[user("count to 500")])
    deltas = [event async for event in OfflineModel(clock).stream(request)][:-1]
    text = "".join(event.text for event in deltas if isinstance(event, TextDelta))
    assert text.startswith("1, 2, 3,")
    assert text.endswith("500.")
    assert 50 <= len(deltas) <= 100
    assert 1 <= clock.slept <= 2.01


async def test_the_deltas_add_up_to_the_answer_word_by_word() -> None:
    *deltas, last = await events("show markdown")
    assert isinstance(last, Completed)
    text = "".join(event.text for event in deltas if isinstance(event, TextDelta))
    assert last.parts == [TextPart(text=text)]
    assert len(deltas) > 20


async def test_thinking_is_a_part_of_its_own() -> None:
    parts = (await completed("think about rain")).parts
    assert [type(part) for part in parts] == [ThinkingPart, TextPart]


async def test_usage_is_estimated() -> None:
    usage = (await completed("hello")).usage
    assert usage is not None
    assert usage.input > 100
    assert usage.output > 10


async def test_words_of_other_agents_are_commands_too() -> None:
    framed = '<system_message origin="abc">list files</system_message>'
    assert await call(framed) == ("files_list", {})


async def test_the_engines_summary_beside_a_message_is_no_command() -> None:
    summary = '<system_message origin="system">## Goal\n- list files</system_message>'
    assert await call(user(summary, "what time is it")) == ("time", {})


async def test_a_reminder_of_the_engine_that_names_a_tool_is_followed() -> None:
    done = spec("finish", "message")
    said = AssistantMessage(parts=[TextPart(text="It is done.")], model="offline")
    reminder = '<system_message origin="system">End with `finish`.</system_message>'
    assert await call(user("go"), said, user(reminder), tools=[done]) == (
        "finish",
        {"message": "It is done."},
    )


async def test_a_tool_that_the_request_insists_on_is_called() -> None:
    assert (await call("hello", choice="required"))[0] == "time"


async def test_no_tool_is_called_when_the_request_forbids_it() -> None:
    parts = (await completed("list files", choice="none")).parts
    assert not any(isinstance(part, CallPart) for part in parts)


async def test_surrogates_in_arguments_are_cleaned() -> None:
    _, arguments = await call('call search {"query": "a\\ud800b"}')
    assert arguments == {"query": "a\ufffdb"}


async def test_a_summary_has_its_headings_and_keeps_what_matters() -> None:
    text = await summarised(
        user("Plan a trip to Rome. We must not fly."),
        called("search", query="trains"),
        result("three trains", name="search"),
        AssistantMessage(parts=[TextPart(text="I decided on the night train.")], model="x"),
        user("And the hotel?"),
    )
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## Goal", "## Constraints", "## Progress", "## Decisions", "## Next steps"]
    assert "- We must not fly." in text
    assert "- `search` returned: three trains" in text
    assert "night train" in text.split("## Decisions")[1]
    assert "And the hotel?" in text.split("## Next steps")[1]


async def test_a_conversation_in_one_message_is_taken_apart() -> None:
    """As the engine asks for it: see `retinue.engine.rules.context_policy`."""
    first = await summarised(user("Plan a trip to Rome. We must not fly."))
    indented = first.replace("\n", "\n  ")
    text = await summarised(
        user(
            f"Summary of what came before: {indented}\n\n"
            "User: And the hotel?\n  \n  Near the station.\n  \n  Assistant: I decided to fly.\n\n"
            "Assistant: I decided to look.\n[calls search {'query': 'hotel'}]\n\n"
            "Result of search (error): no network\n\n"
            "User: Try again.\n\n"
            "Summarise it now."
        )
    )
    goal, constraints, progress, decisions, steps = text.split("## ")[1:]
    assert goal.splitlines()[1:3] == [
        "- Plan a trip to Rome. We must not fly.",
        "- And the hotel? Near the station. Assistant: I decided to fly.",
    ]
    assert "We must not fly." in constraints
    assert "Called `search`" in progress
    assert "`search` failed: no network" in progress
    assert "I decided to look." in decisions
    assert steps.splitlines()[1] == "- Continue with the last request: Try again."


async def test_a_summary_of_a_summary_keeps_the_first_goal() -> None:
    first = await summarised(user("Plan a trip to Rome. We must not fly."))
    frame = f'<system_message origin="system">{first}</system_message>'
    second = await summarised(user(frame, "And the hotel?"))
    assert "Plan a trip to Rome" in second.split("## Constraints")[0]
    assert "We must not fly" in second


async def test_a_summary_is_short_however_long_the_conversation_was() -> None:
    many = [user(f"You must do {number}. {'x' * 500}") for number in range(2_000)]
    assert len(await summarised(*many)) < 8_000


async def summarised(*messages: ModelMessage) -> str:
    request = ModelRequest(system="Summarise the conversation\nbriefly.", messages=messages)
    last = [event async for event in OfflineModel(NotedSleeps()).stream(request)][-1]
    assert isinstance(last, Completed)
    (part,) = last.parts
    assert isinstance(part, TextPart)
    return part.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("remind me at 9 to water the plants", {"at": "09:00", "prompt": "water the plants"}),
        ("remind me in 20 minutes to stretch", {"at": "20 minutes", "prompt": "stretch"}),
        (
            "every weekday at 8 what time is it",
            {"cron": "0 8 * * MON-FRI", "prompt": "what time is it"},
        ),
        ("every Monday at 6:30 pm, read a.md", {"cron": "30 18 * * MON", "prompt": "read a.md"}),
        ("every hour tell me the news", {"cron": "0 * * * *", "prompt": "tell me the news"}),
    ],
)
async def test_times_become_schedules(text: str, expected: dict[str, str]) -> None:
    tools = [spec("schedule_create", "prompt", cron="string", at="string", title="string")]
    assert await call(text, tools=tools) == ("schedule_create", expected)


async def test_a_schedule_is_carried_out_or_told() -> None:
    header = "[schedule] Plants\nid: plants\ndue: 2026-11-16 09:00 (UTC)\n\n"
    framed = '<system_message origin="plants">{}</system_message>'
    assert await words(framed.format(header + "Water them.")) == "Reminder: Water them."
    assert await words(framed.format(header + "call mum")) == "Reminder: call mum"
    name, _ = await call(framed.format(header + "what time is it"))
    assert name == "time"
