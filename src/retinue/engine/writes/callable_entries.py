"""What a prompt's entries offer beside plain tools: agents and other prompts, callable as tools."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from retinue.definitions.prompt import HandoffEntry, Prompt, SubPromptEntry
from retinue.definitions.subagent_config import SubagentConfig
from retinue.engine.rules.stopping import as_text, paths_in
from retinue.records import FileReference
from retinue.text import clean_text
from retinue.tools.json_schema import Validate, validator
from retinue.tools.port import AgentFiles

CallableEntry = HandoffEntry | SubPromptEntry | SubagentConfig


def parameters_of(prompt: Prompt, entry: CallableEntry) -> Mapping[str, Any]:
    """What a call of a prompt, or of the agent whose it is, takes."""
    if prompt.required_schema is not None:
        return prompt.required_schema
    properties: dict[str, Any] = {}
    if entry.init_user_message_property is not None:
        text = {"type": "string", "description": "what it is told first"}
        properties[entry.init_user_message_property] = text
    if entry.init_attachments_property is not None:
        paths = {"type": "array", "items": {"type": "string"}, "description": "paths of files"}
        properties[entry.init_attachments_property] = paths
    return {"type": "object", "properties": properties}


def checked_by(name: str, schema: Mapping[str, Any]) -> Validate:
    """Check arguments by a schema, which is looked at when the first call comes."""

    @cache
    def made() -> Validate:
        return validator(name, schema)

    return lambda arguments: made()(arguments)


def first_words(entry: CallableEntry, arguments: Mapping[str, Any]) -> str:
    """The argument that is said first; empty when the entry names none."""
    named = entry.init_user_message_property
    value = arguments.get(named) if named is not None else None
    return "" if value is None else clean_text(as_text(value))


async def first_files(
    entry: CallableEntry, arguments: Mapping[str, Any], files: AgentFiles
) -> list[FileReference]:
    """The files that an argument names; one that is not there raises."""
    return [await files.stat(path) for path in paths_in(arguments, entry.init_attachments_property)]
