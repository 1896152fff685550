"""Decides which skills an agent is offered, and which tools they replace."""

from collections.abc import Mapping, Sequence

from retinue.agents.prompt_entries import KnownSkill, SkillEntry
from retinue.definitions.definition import Definition
from retinue.definitions.project_skills import Skill
from retinue.definitions.scoping import skill_verdict
from retinue.engine.prompting.prompt_sources import SkillOffer
from retinue.plugins.skill_folders import PLACE, PluginSkill
from retinue.project.snapshot import ProjectSnapshot
from retinue.tools.port import Tool

SHELL_TOOL = "shell"
READING_TOOL = "skills_read"
_PLUGIN = "plugin:"


class SkillCatalog:
    """Implements `Skills` over the skills of plugins and those of the project."""

    def offered(
        self, snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
    ) -> SkillOffer:
        commands = skill_commands(snapshot, definition, tools)
        entries = [
            SkillEntry(
                name=skill.id,
                description=skill.description,
                file=skill.document,
                command=skill.command,
            )
            for skill in commands
        ]
        entries += [
            SkillEntry(
                name=skill.name,
                description=skill.description,
                file=f"{PLACE}/{skill.name}/{skill.document}",
            )
            for skill in skill_instructions(snapshot, definition, tools)
        ]
        replaces = _replaced(snapshot, definition, tools, commands)
        return SkillOffer(entries=entries, replaces=replaces)


def known_skills(snapshot: ProjectSnapshot) -> Sequence[KnownSkill]:
    """All skills there are, whoever may use them."""
    of_plugins = [
        KnownSkill(name=skill.id, description=skill.description, kind="plugin")
        for skill in snapshot.plugin_skills.values()
    ]
    of_project = [
        KnownSkill(
            name=skill.name,
            description=skill.description,
            kind="project",
            file=skill.file,
            license=skill.license,
            compatibility=skill.compatibility,
        )
        for name, skill in snapshot.skills.items()
        if name not in snapshot.plugin_skills
    ]
    return [*of_plugins, *of_project]


def skill_commands(
    snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
) -> Sequence[PluginSkill]:
    """The plugins that are used by their command lines: only where there is a shell."""
    if definition.tool_exposure == "tools" or SHELL_TOOL not in tools:
        return ()
    usable = {_plugin_of(tool) for tool in tools.values() if _is_command(definition, tool)}
    return [
        skill
        for skill in snapshot.plugin_skills.values()
        if skill.id in usable and skill_verdict(definition.skill_scope, skill.id)
    ]


def skill_instructions(
    snapshot: ProjectSnapshot, definition: Definition, tools: Mapping[str, Tool]
) -> Sequence[Skill]:
    """The project's skills that the agent has a way to read; a package knows none of them."""
    has_way = READING_TOOL in tools or SHELL_TOOL in tools
    if definition.home is not None or not has_way:
        return ()
    return [
        skill
        for name, skill in snapshot.skills.items()
        if name not in snapshot.plugin_skills and skill_verdict(definition.skill_scope, name)
    ]


def _replaced(
    snapshot: ProjectSnapshot,
    definition: Definition,
    tools: Mapping[str, Tool],
    commands: Sequence[PluginSkill],
) -> frozenset[str]:
    if definition.tool_exposure == "tools" or SHELL_TOOL not in tools:
        return frozenset()
    ids = {skill.id for skill in commands}
    if definition.tool_exposure == "skills":
        ids |= snapshot.plugin_skills.keys()
    return frozenset(
        name
        for name, tool in tools.items()
        if _plugin_of(tool) in ids and _is_command(definition, tool)
    )


def _plugin_of(tool: Tool) -> str:
    return tool.source.removeprefix(_PLUGIN) if tool.source.startswith(_PLUGIN) else ""


def _is_command(definition: Definition, tool: Tool) -> bool:
    """Whether a command line can replace it: not if each call needs an approval."""
    return bool(_plugin_of(tool)) and not definition.needs_approval(tool.name)
