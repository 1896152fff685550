"""The models that the project names: whether they could be called, and whether they answer."""

import asyncio

from retinue.cli.client import Client
from retinue.cli.doctor.finding import Finding, fail, ok
from retinue.clock import SystemClock
from retinue.definitions.catalog import Catalog
from retinue.definitions.model_options import ModelOptions
from retinue.errors import RetinueError
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import Model, ModelRequest, Models
from retinue.server.wire import ProblemEntry
from retinue.settings import Settings

_PATIENCE_SECONDS = 30.0


async def models(settings: Settings, client: Client, *, is_online: bool) -> list[Finding]:
    """Resolve each model, and call it when that was asked for."""
    named = await asyncio.to_thread(named_models, settings)
    if client.app is None:
        problems = (await client.definitions()).problems
        return [_told(name, users, problems) for name, users in named.items()]
    known = client.app.models
    return [await _model(known, name, users, is_online=is_online) for name, users in named.items()]


def _told(name: str, users: list[str], problems: list[ProblemEntry]) -> Finding:
    """Take the running server's word: it has the keys."""
    begin = f"model {name!r}: "
    message = next((one.message for one in problems if one.message.startswith(begin)), None)
    if message is not None:
        return fail("models", message)
    return ok("models", f"{_used_by(name, users)}: the running server can use it")


def _used_by(name: str, users: list[str]) -> str:
    return f"{name} (named by {', '.join(users)})"


def named_models(settings: Settings) -> dict[str, list[str]]:
    """Which models are named, and by whom."""
    named: dict[str, list[str]] = {settings.model: ["retinue.toml"]}
    catalog = Catalog(settings.project_dir, SystemClock())
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
            await asyncio.wait_for(_call(model), _PATIENCE_SECONDS)
            return ok("models", f"{by} answers")
    except TimeoutError:
        return fail("models", f"{by} did not answer within {_PATIENCE_SECONDS:.0f} s")
    except RetinueError as error:
        return fail("models", error.message)
    return ok("models", f"{by} can be used")


async def _call(model: Model) -> None:
    """Ask for as little as possible; the first sign of an answer is enough."""
    request = ModelRequest(
        system="Answer with one word.",
        messages=[UserMessage(content=[TextContent(text="Say: ok")])],
        options=ModelOptions(max_tokens=16),
    )
    async for _ in model.stream(request):
        return
