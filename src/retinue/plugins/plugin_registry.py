"""Combines the built-in plugins and those of the project."""

from collections.abc import Mapping, Sequence

from retinue.plugins.port import Plugin
from retinue.problems import LoadProblem


def combined_plugins(
    listings: Sequence[Mapping[str, Plugin]],
) -> tuple[Mapping[str, Plugin], Sequence[LoadProblem]]:
    """Merge listings of plugins; on a conflict, the first plugin wins.

    Plugins conflict if they share an id or a tool name. Different ids can lead to the same tool
    name: operation `c` of `a-b` and operation `b-c` of `a`.
    """
    plugins: dict[str, Plugin] = {}
    tools: dict[str, Plugin] = {}
    problems: list[LoadProblem] = []
    for plugin in (one for listing in listings for one in listing.values()):
        reason = _conflict(plugin, plugins, tools)
        if reason:
            message = f"{reason}; this plugin is ignored"
            problems.append(LoadProblem(file=plugin.file, line=plugin.line, message=message))
            continue
        plugins[plugin.id] = plugin
        tools |= {plugin.tool_name(one): plugin for one in plugin.operations}
    return plugins, problems


def _conflict(plugin: Plugin, plugins: Mapping[str, Plugin], tools: Mapping[str, Plugin]) -> str:
    """Describe a conflict with another plugin, or return an empty string."""
    known = plugins.get(plugin.id)
    if known is not None:
        return f"the plugin {plugin.id!r} already exists ({known.file or 'built in'})"
    for name in map(plugin.tool_name, plugin.operations):
        if name in tools:
            return f"the tool {name!r} already exists in the plugin {tools[name].id!r}"
    return ""
