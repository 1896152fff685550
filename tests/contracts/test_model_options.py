"""Model options, from the files of a project to the bytes that a provider gets."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from retinue.ids import LOCAL_OWNER
from retinue.testing.model_server import Act, ReceivedRequest, ScriptedAnswer
from retinue.testing.model_wire import ToolUse
from tests.contracts.wire import WireProject, wire_project

# Models that take sampling options; those of other models are left out, and the log says so.
MODELS = {
    "openai": "openai:gpt-4o",
    "responses": "responses:gpt-4o",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "google": "google:gemini-2.5-pro",
    "ollama": "ollama:llama3",
    "local": "local:small",
}
OPTIONS = """
temperature = 0.5
maxTokens = 300
top_p = 0.9
stop = ["END"]
seed = 7
toolChoice = "required"
parallel_tool_calls = false
[providerOptions]
some_field = {deep = [1, 2]}
"""
CHAT: Mapping[str, Any] = {
    "temperature": 0.5,
    "max_completion_tokens": 300,
    "top_p": 0.9,
    "stop": ["END"],
    "seed": 7,
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "some_field": {"deep": [1, 2]},
}
OLDER: Mapping[str, Any] = {
    "max_tokens" if name == "max_completion_tokens" else name: value for name, value in CHAT.items()
}
EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "openai": CHAT,
    "ollama": OLDER,
    "local": OLDER,
    "responses": {
        "temperature": 0.5,
        "max_output_tokens": 300,
        "top_p": 0.9,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "some_field": {"deep": [1, 2]},
    },
    "anthropic": {
        "temperature": 0.5,
        "max_tokens": 300,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "some_field": {"deep": [1, 2]},
    },
    "google": {
        "generationConfig.temperature": 0.5,
        "generationConfig.maxOutputTokens": 300,
        "generationConfig.topP": 0.9,
        "generationConfig.stopSequences": ["END"],
        "generationConfig.seed": 7,
        "toolConfig.functionCallingConfig.mode": "ANY",
        "some_field": {"deep": [1, 2]},
    },
}
REASONING: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    '"high"': {
        "openai": {"reasoning_effort": "high"},
        "ollama": {"reasoning_effort": "high"},
        "local": {"reasoning_effort": "high"},
        "responses": {"reasoning.effort": "high"},
        "anthropic": {"thinking.type": "adaptive", "output_config.effort": "high"},
        "google": {"generationConfig.thinkingConfig.thinking_budget": 24_576},
    },
    "{budget = 2345}": {
        "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 2345}},
        "google": {"generationConfig.thinkingConfig.thinking_budget": 2345},
    },
}
NOT_SENT = {
    "openai": {"reasoning.budgetTokens"},
    "ollama": {"reasoning.budgetTokens"},
    "local": {"reasoning.budgetTokens"},
    "responses": {"reasoning.budgetTokens", "seed", "stop"},
    "anthropic": {"seed"},
    "google": {"parallel_tool_calls"},
}


def definition(model: str, options: str, *, name: str = "helper", more: str = "") -> str:
    head = f'name = "{name}"\ndescription = "Helps."\nmodel = "{model}"\ntoolAllowlist = ["time"]\n'
    return head + options + more


def found(body: Mapping[str, Any], path: str) -> Any:
    value: Any = body
    for step in path.split("."):
        value = value.get(step) if value else None
    return value


def shown(body: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    return {path: found(body, path) for path in expected}


@pytest.mark.parametrize("kind", MODELS)
async def test_options_of_a_definition_reach_the_provider(kind: str, tmp_path: Path) -> None:
    files = {"agents/helper.toml": definition(MODELS[kind], OPTIONS)}
    async with wire_project(tmp_path, files) as wire:
        assert (await wire.ask("helper")).reply == "Fine."
        assert shown(wire.bodies[0], EXPECTED[kind]) == EXPECTED[kind]


@pytest.mark.parametrize(
    ("kind", "written"),
    [(kind, written) for written, kinds in REASONING.items() for kind in kinds],
)
async def test_reasoning_reaches_the_provider(kind: str, written: str, tmp_path: Path) -> None:
    files = {"agents/helper.toml": definition(MODELS[kind], f"reasoning = {written}\n")}
    async with wire_project(tmp_path, files) as wire:
        assert (await wire.ask("helper")).reply == "Fine."
        expected = REASONING[written][kind]
        assert shown(wire.bodies[0], expected) == expected


@pytest.mark.parametrize("kind", MODELS)
async def test_a_prompt_wins_field_by_field(kind: str, tmp_path: Path) -> None:
    prompt = """\
        ---
        temperature: 0.25
        max_tokens: 200
        toolChoice: auto
        providerOptions: {other_field: mine}
        ---
        You help.
        """
    side = '[sideA]\nprompt = "p"\n'
    files = {
        "agents/helper.toml": definition(MODELS[kind], OPTIONS, more=side),
        "prompts/p.md": prompt,
    }
    async with wire_project(tmp_path, files) as wire:
        assert (await wire.ask("helper")).reply == "Fine."
        body = wire.bodies[0]
    changes: dict[Any, Any] = {0.5: 0.25, 300: 200}
    expected = {
        path: changes.get(value, value) if isinstance(value, int | float) else value
        for path, value in EXPECTED[kind].items()
        if "tool_choice" not in path and "toolConfig" not in path
    }
    assert shown(body, expected) == expected
    assert body["other_field"] == "mine"
    assert "required" not in str(body.get("tool_choice"))
    assert "ANY" not in str(body.get("toolConfig"))


@pytest.mark.parametrize("kind", MODELS)
async def test_a_sub_prompt_has_its_own_options(kind: str, tmp_path: Path) -> None:
    def script(asked: ReceivedRequest) -> Act:
        if "You ask." not in str(asked.body) or len(wire.server.asked) > 1:
            return ScriptedAnswer(text="Fine.")
        return ScriptedAnswer(calls=[ToolUse(name="expert", arguments='{"question": "what"}')])

    files = {
        "agents/helper.toml": definition(
            MODELS[kind], "temperature = 0.5\ntopP = 0.9\n", more='[sideA]\nprompt = "p"\n'
        ).replace('["time"]', '["*"]'),
        "prompts/p.md": """\
            ---
            tools: [{name: expert, initUserMessageProperty: question}]
            ---
            You ask.
            """,
        "prompts/expert.md": "---\ntemperature: 0.25\ntools: []\n---\nYou know.",
    }
    async with wire_project(tmp_path, files, script) as wire:
        assert (await wire.ask("helper")).reply == "Fine."
        asked, within = wire.bodies[:2]
    prefix = "generationConfig." if kind == "google" else ""
    top_p = f"{prefix}topP" if kind == "google" else "top_p"
    assert (found(asked, f"{prefix}temperature"), found(asked, top_p)) == (0.5, 0.9)
    assert "You know." in str(within)
    assert (found(within, f"{prefix}temperature"), found(within, top_p)) == (0.25, 0.9)


async def test_a_summary_takes_the_options_that_suit_it(tmp_path: Path) -> None:
    files = {"agents/helper.toml": definition(MODELS["local"], OPTIONS)}
    async with wire_project(tmp_path, files) as wire:
        engine = wire.app.engine
        agent = await engine.create(LOCAL_OWNER, "helper")
        for text in ("one", "two", "three"):
            receipt = await engine.post(LOCAL_OWNER, agent.id, text * 200)
            await engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=20)
        await engine.compact(LOCAL_OWNER, agent.id)
        body = wire.bodies[-1]
    assert "Summarise" in str(body["messages"])
    kept = ("temperature", "top_p", "seed", "some_field")
    assert shown(body, OLDER) == {
        name: value if name in kept else None for name, value in OLDER.items()
    }


@pytest.mark.parametrize("kind", MODELS)
async def test_what_a_provider_does_not_support_is_said_when_files_load(
    kind: str, tmp_path: Path
) -> None:
    options = 'reasoning = {effort = "low", budgetTokens = 2000}\n' + OPTIONS
    files = {"agents/helper.toml": definition(MODELS[kind], options)}
    async with wire_project(tmp_path, files) as wire:
        problems = warned(wire)
    message = f"is not sent: {MODELS[kind]} does not support it"
    assert problems == dict.fromkeys(NOT_SENT[kind], message)


async def test_a_prompt_without_a_model_is_checked_with_that_of_its_agent(tmp_path: Path) -> None:
    model = MODELS["anthropic"]
    files = {
        "agents/helper.toml": definition(model, "", more='[sideA]\nprompt = "p"\n'),
        "prompts/p.md": "---\nseed: 3\n---\nYou help.",
        "prompts/own.md": f"---\nmodel: {model}\nseed: 3\n---\nYou know.",
    }
    async with wire_project(tmp_path, files) as wire:
        assert warned(wire) == {
            "sideA.prompt": f"seed is not sent: {model} does not support it",
            "seed": f"is not sent: {model} does not support it",
        }


def warned(wire: WireProject) -> dict[str, str]:
    return {
        problem.field or "": problem.message
        for problem in wire.app.engine.catalog.errors()
        if not problem.is_error
    }


@pytest.mark.parametrize("model", ["openai:gpt-5", "responses:gpt-5", "anthropic:claude-opus-5"])
async def test_what_one_model_refuses_is_left_out_and_logged_once(
    model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = "temperature = 0.5\nmaxTokens = 300\n"
    files = {"agents/helper.toml": definition(model, options)}
    async with wire_project(tmp_path, files) as wire:
        with caplog.at_level(logging.WARNING, logger="retinue"):
            assert (await wire.ask("helper")).reply == "Fine."
            assert (await wire.ask("helper")).reply == "Fine."
        for body in wire.bodies:
            assert "temperature" not in body
            assert 300 in body.values()
    said = f"the option temperature is not sent: {model} does not support it"
    assert [one.getMessage() for one in caplog.records].count(said) == 1


@pytest.mark.parametrize(
    ("written", "field", "message"),
    [
        ("temperature = 3.0", "temperature", "expected a number of 2.0 or less, got 3.0"),
        ('temperature = "hot"', "temperature", "expected a number, got 'hot'"),
        ("maxTokens = 0", "maxTokens", "expected a number of 1 or more, got 0"),
        ("top_p = 1.5", "top_p", "expected a number of 1.0 or less, got 1.5"),
        ("stop = [3]", "stop[0]", "expected text, got a number"),
        ("stop = []", "stop", "expected a list that is not empty"),
        ("seed = 1.5", "seed", "expected a whole number, got 1.5"),
        ("reasoning = {}", "reasoning", "expected effort, budgetTokens or both"),
        ("reasoning = {budget = 0}", "reasoning.budget", "expected a number of 1 or more, got 0"),
        ('tool_choice = "any"', "tool_choice", "expected one of"),
        ("parallelToolCalls = 1", "parallelToolCalls", "expected true or false, got 1"),
        ("providerOptions = 1", "providerOptions", "expected a table, got 1"),
    ],
)
async def test_wrong_values_are_errors_that_name_file_and_field(
    written: str, field: str, message: str, tmp_path: Path
) -> None:
    files = {"agents/helper.toml": definition(MODELS["local"], f"{written}\n")}
    async with wire_project(tmp_path, files) as wire:
        (problem,) = [one for one in wire.app.engine.catalog.errors() if one.is_error]
    assert (problem.file, problem.field) == ("agents/helper.toml", field)
    assert message in problem.message


async def test_only_openai_has_a_responses_api(tmp_path: Path) -> None:
    settings = '[providers.other]\nkind = "anthropic"\napi = "responses"\napi_key = "secret"\n'
    files = {
        "retinue.toml": settings,
        "agents/helper.toml": definition("other:m", ""),
    }
    async with wire_project(tmp_path, files) as wire:
        assert "api 'responses'" in warned(wire)["model"]
