"""Checks that the project provides what its packages need."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution

from retinue.cli.client import Client
from retinue.cli.doctor.finding import Finding, fail, ok, warn
from retinue.definitions.catalog import Catalog
from retinue.definitions.catalog_reader import CatalogReader
from retinue.definitions.installed import installed_packages
from retinue.definitions.manifest import MCP_PREFIX
from retinue.definitions.packages import Package, PackageCatalog
from retinue.errors import RetinueError
from retinue.models.port import Models
from retinue.settings import Settings

_DISTRIBUTION = re.compile(r"[A-Za-z0-9._-]+")


async def packages(settings: Settings, client: Client) -> list[Finding]:
    """Check the models, tools, variables and Python packages that packages need."""
    shelf = await asyncio.to_thread(
        lambda: PackageCatalog(settings.project_dir, installed_packages())
    )
    found = shelf.look().packages
    if not found:
        return []
    catalog = await asyncio.to_thread(
        lambda: CatalogReader(settings.project_dir, packages=shelf).read()
    )
    values = {one.name for one in await client.variables(None)} | set(settings.env)
    models = None if client.app is None else client.app.models
    findings: list[Finding] = []
    for package in found:
        needs = await _needs(package, models, values | _own(package, catalog))
        needs += _missing_mcp_tools(package, settings)
        findings += needs or [ok("packages", f"{_named(package)} has everything it needs")]
    return findings


def _named(package: Package) -> str:
    return f"{package.name} {package.manifest.version}"


def _missing_mcp_tools(package: Package, settings: Settings) -> Iterator[Finding]:
    """Report tools whose MCP server is not configured; a server's own tools are not checked."""
    servers = tuple(f"{MCP_PREFIX}{name}_" for name, one in settings.mcp.items() if one.enabled)
    missing = [tool for tool in package.manifest.needs.tools if not tool.startswith(servers)]
    if missing:
        text = f"{_named(package)} needs tools of MCP servers that are not configured"
        advice = "add [mcp.<server>] to retinue.toml; its tools are mcp_<server>_<tool>"
        yield fail("packages", f"{text}: {', '.join(missing)}", advice)


def _own(package: Package, catalog: Catalog) -> set[str]:
    """Return the variables that the package sets itself or only uses to enable entries."""
    found: set[str] = set()
    for definition in catalog.everything():
        if definition.home is not None and definition.home.package == package.name:
            found |= set(definition.env)
            for _, side in definition.sides():
                found |= {*side.prompt.env, *side.prompt.gates}
    return found


async def _needs(package: Package, models: Models | None, values: set[str]) -> list[Finding]:
    name, needs = _named(package), package.manifest.needs
    found: list[Finding] = []
    missing = [variable for variable in needs.variables if variable not in values]
    if missing:
        text = f"{name} uses variables without a value: {', '.join(missing)}"
        advice = f"run `retinue env set {missing[0]}`, or set it for each agent"
        found.append(warn("packages", text, advice))
    absent = list(_absent(needs.python))
    if absent:
        text = f"{name} needs Python packages that are not installed: {', '.join(absent)}"
        found.append(fail("packages", text, f"pip install {' '.join(absent)}"))
    if models is not None:
        found += [finding async for finding in _unknown(name, needs.models, models)]
    return found


async def _unknown(name: str, needed: Sequence[str], models: Models) -> AsyncIterator[Finding]:
    for model in needed:
        try:
            await models.get(model)
        except RetinueError as error:
            yield fail("packages", f"{name} needs the model {model}: {error.message}")


def _absent(requirements: Sequence[str]) -> Iterator[str]:
    for requirement in requirements:
        named = _DISTRIBUTION.match(requirement)
        try:
            distribution(named[0] if named is not None else requirement)
        except PackageNotFoundError:
            yield requirement
