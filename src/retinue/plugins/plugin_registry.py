"""All plugins there are: the built-in ones, and then those of the project."""

from collections.abc import Mapping, Sequence

from retinue.plugins.port import Plugin, PluginSource
from retinue.problems import LoadProblem


class BuiltinPlugins:
    """Implements `PluginSource` over plugins that never change."""

    def __init__(self, *plugins: Plugin) -> None:
        self._plugins = {plugin.id: plugin for plugin in plugins}

    async def plugins(self) -> Mapping[str, Plugin]:
        return self._plugins

    def problems(self) -> Sequence[LoadProblem]:
        return ()


class Plugins:
    """Implements `PluginSource`: of two with one id, or with a tool of one name, the first stands.

    Ids differ where names of tools do not: `a-b` and `c` give the same as `a` and `b-c`.
    """

    def __init__(self, *sources: PluginSource) -> None:
        self._sources = sources
        self._seen: Sequence[Mapping[str, Plugin]] = ()
        self._plugins: Mapping[str, Plugin] = {}
        self._problems: Sequence[LoadProblem] = ()

    async def plugins(self) -> Mapping[str, Plugin]:
        listed = [await source.plugins() for source in self._sources]
        unchanged = len(listed) == len(self._seen) and all(
            new is old for new, old in zip(listed, self._seen, strict=True)
        )
        if not unchanged:
            self._combine(listed)
        return self._plugins

    def problems(self) -> Sequence[LoadProblem]:
        return [one for source in self._sources for one in source.problems()] + [*self._problems]

    def _combine(self, listed: Sequence[Mapping[str, Plugin]]) -> None:
        plugins: dict[str, Plugin] = {}
        tools: dict[str, Plugin] = {}
        problems: list[LoadProblem] = []
        for plugin in (one for answer in listed for one in answer.values()):
            reason = _taken(plugin, plugins, tools)
            if reason:
                message = f"{reason}; it is left out"
                problems.append(LoadProblem(file=plugin.file, line=plugin.line, message=message))
                continue
            plugins[plugin.id] = plugin
            tools |= {plugin.tool_name(one): plugin for one in plugin.operations}
        self._seen, self._plugins, self._problems = listed, plugins, problems


def _taken(plugin: Plugin, plugins: Mapping[str, Plugin], tools: Mapping[str, Plugin]) -> str:
    """Say what of the plugin another one has already, if anything."""
    known = plugins.get(plugin.id)
    if known is not None:
        return f"there is a plugin {plugin.id!r} already ({known.file or 'built in'})"
    for name in map(plugin.tool_name, plugin.operations):
        if name in tools:
            return f"there is a tool {name!r} already, of the plugin {tools[name].id!r}"
    return ""
