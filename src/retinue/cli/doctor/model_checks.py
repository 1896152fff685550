"""Checks of the models that the project uses."""

import asyncio

from retinue.cli.client import Client
from retinue.cli.doctor.finding import Finding, fail, ok
from retinue.definitions.catalog_reader import CatalogReader
from retinue.definitions.model_options import ModelOptions
from retinue.errors import RetinueError
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import Model, ModelRequest, Models
from retinue.server.wire import ProblemEntry
from retinue.settings import Settings

_TIMEOUT_SECONDS = 30.0


async def models(settings: Settings, client: Client, *, is_online: bool) -> list[Finding]:
    """Resolve each model; with `is_online`, also call it."""
    named = await asyncio.to_thread(named_models, settings)
    if client.app is None:
        problems = (await client.definitions()).problems
        return [_reported(name, users, problems) for name, users in named.items()]
    known = client.app.models
    return [await _model(known, name, users, is_online=is_online) for name, users in named.items()]


def _reported(name: str, users: list[str], problems: list[ProblemEntry]) -> Finding:
    """Return what the running server, which has the keys, reports."""
    begin = f"model {name!r}: "
    message = next((one.message for one in problems if one.message.startswith(begin)), None)
    if message is not None:
        return fail("models", message)
    return ok("models", f"{_used_by(name, users)} is available")


def _used_by(name: str, users: list[str]) -> str:
    return f"{name} (used by {', '.join(users)})"


def named_models(settings: Settings) -> dict[str, list[str]]:
    """Return the models that the project names, each with its users."""
    named: dict[str, list[str]] = {settings.model: ["retinue.toml"]}
    catalog = CatalogReader(settings.project_dir).read()
    for definition in catalog.definitions():
        sides = (definition.side_a, definition.side_b)
        prompts = [side.prompt for side in sides if side is not None]
        chain = [definition.model, *definition.fallback_models]
        for prompt in prompts:
            chain += [prompt.model, *prompt.fallback_models]
        for name in filter(None, chain):
            users = named.setdefault(name, [])
            if definition.name not in users:
                users.append(definition.name)
    return named


async def _model(known: Models, name: str, users: list[str], *, is_online: bool) -> Finding:
    by = _used_by(name, users)
    try:
        model = await known.get(name)
        if is_online:
            await asyncio.wait_for(_call(model), _TIMEOUT_SECONDS)
            return ok("models", f"{by} responds")
    except TimeoutError:
        return fail("models", f"{by} did not respond within {_TIMEOUT_SECONDS:.0f} s")
    except RetinueError as error:
        return fail("models", error.message)
    return ok("models", f"{by} is available")


async def _call(model: Model) -> None:
    """Make a minimal call and stop at the first chunk of the answer."""
    request = ModelRequest(
        system="Answer with one word.",
        messages=[UserMessage(content=[TextContent(text="Say: ok")])],
        options=ModelOptions(max_tokens=16),
    )
    async for _ in model.stream(request):
        return
