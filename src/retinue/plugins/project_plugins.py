"""The plugins of a project: `plugins/*.py`, reloaded when they change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from retinue.definitions.declarations import Declared
from retinue.definitions.kept_sources import NOTHING_KEPT, GoodFile, KeptSources
from retinue.errors import DefinitionError
from retinue.plugins.port import Plugin
from retinue.problems import LoadProblem
from retinue.tools.python_folder import PythonFolder


class ProjectPlugins:
    """Reads a folder of Python files; blocking, for one thread at a time."""

    def __init__(self, directory: Path, *, kept: KeptSources = NOTHING_KEPT) -> None:
        self._folder = PythonFolder(directory, self._plugins_in, word="plugin", kept=kept)
        self._plugins: Mapping[str, Plugin] = {}
        self._problems: Sequence[LoadProblem] = ()

    def read(self) -> Mapping[str, Plugin]:
        """The plugins by id, as the files are now: the same mapping when nothing changed."""
        if self._folder.refresh():
            self._collect()
        return self._plugins

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def files(self) -> list[str]:
        return self._folder.names()

    def good_files(self) -> list[GoodFile]:
        return self._folder.good_files()

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
