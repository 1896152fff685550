"""Combines the built-in plugins and those of the project."""

from collections.abc import Mapping, Sequence

from retinue.plugins.port import Plugin, PluginSource
from retinue.problems import LoadProblem


class BuiltinPlugins:
    """Implements `PluginSource` for a fixed set of plugins."""

    def __init__(self, *plugins: Plugin) -> None:
        self._plugins = {plugin.id: plugin for plugin in plugins}

    async def plugins(self) -> Mapping[str, Plugin]:
        return self._plugins

    def problems(self) -> Sequence[LoadProblem]:
        return ()


class Plugins:
    """Implements `PluginSource` over several sources; on a conflict, the first plugin wins.

    Plugins conflict if they share an id or a tool name. Different ids can lead to the same tool
    name: operation `c` of `a-b` and operation `b-c` of `a`.
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
            reason = _conflict(plugin, plugins, tools)
            if reason:
                message = f"{reason}; this plugin is ignored"
                problems.append(LoadProblem(file=plugin.file, line=plugin.line, message=message))
                continue
            plugins[plugin.id] = plugin
            tools |= {plugin.tool_name(one): plugin for one in plugin.operations}
        self._seen, self._plugins, self._problems = listed, plugins, problems


def _conflict(plugin: Plugin, plugins: Mapping[str, Plugin], tools: Mapping[str, Plugin]) -> str:
    """Describe a conflict with another plugin, or return an empty string."""
    known = plugins.get(plugin.id)
    if known is not None:
        return f"the plugin {plugin.id!r} already exists ({known.file or 'built in'})"
    for name in map(plugin.tool_name, plugin.operations):
        if name in tools:
            return f"the tool {name!r} already exists in the plugin {tools[name].id!r}"
    return ""
