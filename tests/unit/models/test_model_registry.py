"""Finding models by name, and what is said when that fails."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from retinue.errors import UnknownModelError
from retinue.models.model_registry import ModelRegistry
from retinue.models.scripted import ScriptedModel
from retinue.settings import load_settings


def registry(tmp_path: Path, toml: str = "", env: Mapping[str, str] | None = None) -> ModelRegistry:
    (tmp_path / "retinue.toml").write_text(toml)
    environment = env or {}
    settings = load_settings(tmp_path, environment)
    return ModelRegistry.from_settings(settings, environment)


async def refusal(models: ModelRegistry, name: str) -> str:
    with pytest.raises(UnknownModelError) as raised:
        await models.get(name)
    return raised.value.message


LOCAL = """
[providers.local]
kind = "openai-compatible"
base_url = "http://127.0.0.1:9/v1"
models = ["small", "large"]
"""


async def test_offline_is_always_there(tmp_path: Path) -> None:
    assert (await registry(tmp_path).get("offline")).name == "offline"


async def test_a_script_is_found_from_the_project_folder_or_by_an_absolute_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.json").write_text('[{"reply": {"text": "hi"}}]')
    models = registry(tmp_path)
    assert (await models.get("scripted:script.json")).name == "scripted:script.json"
    absolute = f"scripted:{tmp_path / 'script.json'}"
    assert (await models.get(absolute)).name == absolute


async def test_a_model_that_is_given_is_found_by_its_name(tmp_path: Path) -> None:
    mine = ScriptedModel([], name="scripted:mine")
    settings = load_settings(tmp_path, {})
    models = ModelRegistry.from_settings(settings, {}, extra={"scripted:mine": mine})
    assert await models.get("scripted:mine") is mine


async def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "none.json" in await refusal(registry(tmp_path), "scripted:none.json")


async def test_an_unknown_provider_lists_the_known_ones_and_the_nearest(tmp_path: Path) -> None:
    message = await refusal(registry(tmp_path, LOCAL), "opnai:gpt-5")
    assert "did you mean 'openai'?" in message
    assert "anthropic, google, local, ollama, openai" in message
    assert "[providers.opnai]" in message


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("gpt-5", "openai:gpt-5"), ("ofline", "offline"), ("claude-sonnet-5", "anthropic:claude")],
)
async def test_a_name_without_a_provider_gets_a_suggestion(
    tmp_path: Path, name: str, suggestion: str
) -> None:
    assert f"did you mean '{suggestion}" in await refusal(registry(tmp_path), name)


@pytest.mark.parametrize("name", ["", ":", "openai:", ":gpt-5"])
async def test_half_a_name_says_how_names_are_written(tmp_path: Path, name: str) -> None:
    assert "provider:model" in await refusal(registry(tmp_path), name)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-3-pro", "GEMINI_API_KEY or GOOGLE_API_KEY"),
    ],
)
async def test_a_missing_key_is_named(tmp_path: Path, name: str, variable: str) -> None:
    message = await refusal(registry(tmp_path), name)
    provider = name.partition(":")[0]
    assert f"set {variable} or add [providers.{provider}] api_key in retinue.toml" in message


async def test_a_secret_that_is_not_set_is_named(tmp_path: Path) -> None:
    toml = LOCAL + 'api_key = "${secret:LOCAL_KEY}"\n'
    assert "LOCAL_KEY" in await refusal(registry(tmp_path, toml), "local:small")


async def test_a_model_that_the_provider_does_not_list_gets_the_nearest(tmp_path: Path) -> None:
    message = await refusal(registry(tmp_path, LOCAL), "local:smal")
    assert "lists small, large; did you mean 'small'?" in message


async def test_an_unknown_kind_lists_the_known_ones(tmp_path: Path) -> None:
    toml = '[providers.x]\nkind = "antropic"\napi_key = "k"\n'
    message = await refusal(registry(tmp_path, toml), "x:y")
    assert "did you mean 'anthropic'?" in message


async def test_a_window_comes_from_the_settings_or_from_what_is_published(tmp_path: Path) -> None:
    toml = LOCAL + "context_window = 8192\n"
    models = registry(tmp_path, toml, {"OPENAI_API_KEY": "k"})
    assert (await models.get("local:small")).window == 8192
    assert (await models.get("openai:gpt-5")).window == 400_000
    assert (await models.get("openai:nobody-knows")).window is None
    await models.close()


async def test_a_key_is_found_among_the_secret_files(tmp_path: Path) -> None:
    secrets = tmp_path / ".retinue" / "secrets"
    secrets.mkdir(parents=True)
    file = secrets / "OPENAI_API_KEY"
    file.write_text("k")
    file.chmod(0o644)
    models = registry(tmp_path)
    assert "chmod 600" in await refusal(models, "openai:gpt-5")
    file.chmod(0o600)
    assert (await models.get("openai:gpt-5")).name == "openai:gpt-5"
    await models.close()


async def test_a_model_is_made_once(tmp_path: Path) -> None:
    models = registry(tmp_path, LOCAL)
    one, two = await asyncio.gather(models.get("local:small"), models.get("local:small"))
    assert one is two
    await models.close()


def test_names_lists_what_is_configured(tmp_path: Path) -> None:
    assert list(registry(tmp_path, LOCAL).names()) == ["local:large", "local:small", "offline"]


def test_importing_the_registry_loads_no_vendor() -> None:
    code = (
        "import sys, retinue.models.model_registry;"
        "print(*{'pydantic_ai', 'openai', 'anthropic', 'google.genai', 'httpx2'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
