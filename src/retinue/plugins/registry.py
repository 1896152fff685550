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
    """Implements `PluginSource`: of two plugins with one id, that of the earlier source stands."""

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
        problems: list[LoadProblem] = []
        for plugin in (one for answer in listed for one in answer.values()):
            known = plugins.setdefault(plugin.id, plugin)
            if known is not plugin:
                where = known.file or "built in"
                message = f"there is a plugin {plugin.id!r} already ({where}); it is left out"
                problems.append(LoadProblem(file=plugin.file, line=plugin.line, message=message))
        self._seen, self._plugins, self._problems = listed, plugins, problems
