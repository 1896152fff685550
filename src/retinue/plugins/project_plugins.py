"""The plugins of a project: `plugins/*.py`, reloaded when they change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from retinue.definitions.declarations import Declared
from retinue.errors import DefinitionError
from retinue.plugins.port import Plugin
from retinue.problems import LoadProblem
from retinue.tools.python_folder import PythonFolder


class ProjectPlugins:
    """Implements `PluginSource` over a folder of Python files."""

    def __init__(self, directory: Path) -> None:
        self._folder = PythonFolder(directory, self._plugins_in, word="plugin")
        self._plugins: Mapping[str, Plugin] = {}
        self._problems: Sequence[LoadProblem] = ()

    async def plugins(self) -> Mapping[str, Plugin]:
        if await self._folder.refresh():
            self._collect()
        return self._plugins

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def _plugins_in(self, module: ModuleType, declared: Sequence[Declared]) -> Mapping[str, Plugin]:
        file = str(module.__file__)
        for one in declared:
            message = "only plugins can be defined here; move tools, hooks, prompts and agents to"
            raise DefinitionError(f"{message} their own folders", file=file, line=one.line)
        shown = self._folder.shown(Path(file))
        found = {id(value): value for value in vars(module).values() if isinstance(value, Plugin)}
        plugins: dict[str, Plugin] = {}
        for plugin in found.values():
            if plugin.id in plugins:
                message = f"the plugin {plugin.id!r} is defined twice"
                raise DefinitionError(message, file=file, line=plugin.line)
            plugins[plugin.id] = replace(plugin, file=shown)
        if not plugins:
            raise DefinitionError("no plugin is defined: call define_plugin", file=file)
        return plugins

    def _collect(self) -> None:
        plugins: dict[str, Plugin] = {}
        problems = [problem for file in self._folder.files.values() for problem in file.problems]
        for plugin in (one for file in self._folder.files.values() for one in file.made.values()):
            known = plugins.setdefault(plugin.id, plugin)
            if known is not plugin:
                message = f"the plugin {plugin.id!r} is already defined in {known.file}"
                message += "; this one is ignored"
                problems.append(LoadProblem(file=plugin.file, line=plugin.line, message=message))
        self._plugins, self._problems = plugins, problems
