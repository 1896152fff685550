"""Providers on a scripted server, for the contracts of models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from retinue.errors import ModelError
from retinue.model_messages import ModelMessage, TextContent, UserMessage
from retinue.models.model_registry import ModelRegistry
from retinue.models.port import Completed, Model, ModelEvent, ModelRequest, ToolSpec
from retinue.models.providers.connection import Timeouts
from retinue.settings import load_settings
from retinue.settings.secrets import Vault
from retinue.testing.model_server import Act, ModelServer

TOML = """
[providers.openai]
base_url = "{url}/v1"
[providers.responses]
kind = "openai"
api = "responses"
base_url = "{url}/v1"
api_key = "secret-responses"
[providers.anthropic]
base_url = "{url}"
[providers.google]
base_url = "{url}"
[providers.ollama]
base_url = "{url}/v1"
[providers.local]
kind = "openai-compatible"
base_url = "{url}/v1"
api_key = "secret-local"
"""
KEYS = {
    "OPENAI_API_KEY": "secret-openai",
    "ANTHROPIC_API_KEY": "secret-anthropic",
    "GEMINI_API_KEY": "secret-google",
}
NAMES = {
    "openai": "openai:gpt-5",
    "responses": "responses:gpt-5",
    "anthropic": "anthropic:claude-opus-5",
    "google": "google:gemini-2.5-pro",
    "ollama": "ollama:llama3",
    "local": "local:small",
}
TOOL = ToolSpec(
    name="order",
    description="Order something.",
    parameters={
        "type": "object",
        "properties": {"item": {"type": "string"}},
        "required": ["item"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider on the scripted server."""

    kind: str
    server: ModelServer
    model: Model


class Bench:
    """Starts servers with a script, and models that talk to them."""

    def __init__(self, kind: str, tmp_path: Path) -> None:
        self.kind = kind
        self._tmp_path = tmp_path
        self._servers: list[ModelServer] = []
        self._registries: list[ModelRegistry] = []

    async def provider(
        self, *script: Act, first_event: float = 20, idle: float = 20, kind: str | None = None
    ) -> Provider:
        server = await ModelServer(script).__aenter__()
        self._servers.append(server)
        kind = kind or self.kind
        timeouts = Timeouts(first_event=first_event, idle=idle)
        model = await self._model(server.url, kind, timeouts)
        return Provider(kind=kind, server=server, model=model)

    async def nobody(self) -> Model:
        """Give a model whose server has gone."""
        async with ModelServer() as server:
            url = server.url
        return await self._model(url, self.kind, Timeouts())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for registry in self._registries:
            await registry.close()
        for server in self._servers:
            await server.__aexit__(None, None, None)

    async def _model(self, url: str, kind: str, timeouts: Timeouts) -> Model:
        (self._tmp_path / "retinue.toml").write_text(TOML.format(url=url))
        settings = load_settings(self._tmp_path, KEYS)
        registry = ModelRegistry(
            settings.providers,
            vault=Vault(environment=KEYS, directory=self._tmp_path),
            project_dir=self._tmp_path,
            timeouts=timeouts,
        )
        self._registries.append(registry)
        return await registry.get(NAMES[kind])


def only(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bench", kinds, indirect=True)


def asked(
    *messages: ModelMessage | str, tools: Sequence[ToolSpec] = (TOOL,), **more: Any
) -> ModelRequest:
    said = [
        UserMessage(content=[TextContent(text=message)]) if isinstance(message, str) else message
        for message in messages
    ]
    return ModelRequest(system="You help.", messages=said, tools=tools, **more)


async def drained(model: Model, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def completed(model: Model, request: ModelRequest) -> Completed:
    last = (await drained(model, request))[-1]
    assert isinstance(last, Completed)
    return last


async def failure(model: Model, request: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await drained(model, request or asked("hi"))
    return raised.value


def sent(provider: Provider, index: int = -1) -> str:
    """Give a request's body as text, to look for what must or must not be in it."""
    return str(provider.server.asked[index].body)
