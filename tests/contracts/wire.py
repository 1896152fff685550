"""A project in a folder whose models are on a scripted server, to read what is sent to them."""

import textwrap
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retinue.assembly import App, open_app
from retinue.engine.feed.outcomes import Outcome
from retinue.ids import LOCAL_OWNER
from retinue.testing.kit import PATIENCE_SECONDS
from retinue.testing.model_server import Act, ModelServer, ReceivedRequest, ScriptedAnswer
from tests.contracts.model_bench import KEYS, TOML


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProject:
    """An open project and the server that its models are on."""

    app: App
    server: ModelServer

    async def ask(self, definition: str, text: str = "hello") -> Outcome:
        """Say something to a new agent and wait until that has an end."""
        engine = self.app.engine
        agent = await engine.create(LOCAL_OWNER, definition)
        receipt = await engine.post(LOCAL_OWNER, agent.id, text)
        return await engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=PATIENCE_SECONDS)

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        """What was sent, one body for each request."""
        return [asked.body for asked in self.server.asked]


@asynccontextmanager
async def wire_project(
    folder: Path,
    files: Mapping[str, str],
    script: Callable[[ReceivedRequest], Act] = lambda _: ScriptedAnswer(text="Fine."),
) -> AsyncGenerator[WireProject]:
    """Write the files, add the providers to `retinue.toml`, and open the project."""
    async with ModelServer(script) as server:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        with (folder / "retinue.toml").open("a", encoding="utf-8") as settings:
            settings.write(TOML.format(url=server.url))
        app = await open_app(folder, KEYS)
        try:
            yield WireProject(app=app, server=server)
        finally:
            await app.close()


def sent_tools(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The JSON schemas of the tools in a request of any provider, by the tools' names."""
    found: dict[str, Mapping[str, Any]] = {}
    for tool in body.get("tools", ()):
        for one in tool.get("functionDeclarations") or [tool.get("function", tool)]:
            schema = one.get("parameters") or one.get("parameters_json_schema")
            found[one["name"]] = schema or one.get("input_schema") or {}
    return found


def descriptions(schema: Mapping[str, Any]) -> dict[str, str | None]:
    """Each property of an object's schema with its description, also of objects within."""
    return dict(_described(schema, schema.get("$defs", {}), ""))


def _described(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], path: str
) -> list[tuple[str, str | None]]:
    if "$ref" in schema:
        named = str(schema["$ref"]).rpartition("/")[2]
        return _described(definitions[named], definitions, path)
    found: list[tuple[str, str | None]] = []
    for name, value in schema.get("properties", {}).items():
        found.append((f"{path}{name}", value.get("description")))
        found += _described(value, definitions, f"{path}{name}.")
    for several in ("anyOf", "oneOf", "allOf"):
        for value in schema.get(several, ()):
            found += _described(value, definitions, path)
    if isinstance(schema.get("items"), dict):
        found += _described(schema["items"], definitions, path)
    return found
