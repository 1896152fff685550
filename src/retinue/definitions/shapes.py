"""What definition and prompt files may hold, field by field."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, StringConstraints

from retinue.definitions.definition import ToolExposure
from retinue.definitions.prompt import ReasoningEffort, ToolChoice
from retinue.definitions.subagent import ParentCommunication, SideName
from retinue.settings.shapes import Shape


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Text = Annotated[str, Field(min_length=1)]
Names = tuple[Name, ...]
Positive = Annotated[StrictInt, Field(ge=1)]
Temperature = Annotated[StrictFloat, Field(ge=0, le=2)]


class BindingShape(Shape):
    """`"tool"` or `{name, messageProperty, attachmentsProperty}`."""

    shorthand: ClassVar[str | None] = "name"

    name: Name
    message_property: Name | None = None
    attachments_property: Name | None = None


class SideShape(Shape):
    """`[sideA]`, `[sideB]`."""

    deprecated: ClassVar[Mapping[str, str]] = {
        "end_session_tool": "session_stop",
        "fail_session_tool": "session_fail",
        "status_tool": "session_status",
    }
    foreign: ClassVar[Mapping[str, str]] = {
        "system_prompt": "a side names a prompt of prompts/ (prompt = ...)",
        "tools": "tools are listed in the side's prompt",
        "model": "the model stands in the side's prompt or in the definition",
    }

    prompt: Name | None = None
    label: Text | None = None
    stop_on_response: StrictBool = True
    stop_tool: Name | None = None
    stop_tool_response_property: Name | None = None
    max_steps: Positive | None = None
    session_stop: BindingShape | None = None
    session_fail: BindingShape | None = None
    session_status: BindingShape | None = None


class ChatShape(Shape):
    """`[chat]`."""

    shorthand: ClassVar[str | None] = "provider"

    provider: Name | None = None


class ExternalShape(Shape):
    """`[external]`."""

    input_url: Text
    callback_base_url: Text


class ReasoningShape(Shape):
    """`"high"` or `{effort}`."""

    shorthand: ClassVar[str | None] = "effort"

    effort: ReasoningEffort


class VariableShape(Shape):
    """`"NAME"` or `{name, type, required, scoped, description}`."""

    shorthand: ClassVar[str | None] = "name"

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    type: Literal["text", "secret"] = "secret"
    required: StrictBool = False
    scoped: StrictBool = False
    description: str = ""


class DefinitionShape(Shape):
    """One definition, or one template."""

    synonyms: ClassVar[Mapping[str, str]] = {"agent_id": "name", "fallbacks": "fallback_models"}
    deprecated: ClassVar[Mapping[str, str]] = {"title": "display_name", "tenvs": "env"}
    retired: ClassVar[Mapping[str, str]] = {
        "pinned": "is deprecated and has no effect: pin a conversation instead (pinnedAt)",
    }
    foreign: ClassVar[Mapping[str, str]] = {
        "tools": "use toolAllowlist, or list them in a prompt of prompts/ that sideA names",
        "prompt": "use systemPrompt for a text, or sideA.prompt for a prompt of prompts/",
        "instructions": "use systemPrompt",
        "id": "use name",
    }

    name: Name | None = None
    extends: Annotated[Names, BeforeValidator(_listed)] = ()
    display_name: Text | None = None
    description: Text | None = None
    type: Literal["ai_human", "dual_ai", "chat", "external"] | None = None
    chat: ChatShape | None = None
    external: ExternalShape | None = None
    system_prompt: Text | None = None
    side_a: SideShape | None = None
    side_b: SideShape | None = None
    max_session_turns: Positive | None = None
    model: Name | None = None
    fallback_models: Names = ()
    temperature: Temperature | None = None
    max_tokens: Positive | None = None
    reasoning: ReasoningShape | None = None
    tool_allowlist: Names | None = None
    tool_denylist: Names | None = None
    tool_exposure: ToolExposure = "tools"
    tool_approvals: Names = ()
    skill_allowlist: Names | None = None
    skill_denylist: Names | None = None
    capability_allowlist: Names | None = None
    capability_denylist: Names | None = None
    agent_allowlist: Names | None = None
    agent_denylist: Names | None = None
    ui_visible: StrictBool = True
    api_exposed: StrictBool = False
    icon: Text | None = None
    color: Text | None = None
    expose_as_tool: StrictBool = False
    tool_description: Text | None = None
    variables: tuple[VariableShape, ...] = ()
    env: Mapping[str, str] = {}
    hooks: Names = ()
    package_name: Text | None = None
    version: Text | None = None
    author: Text | None = None
    license: Text | None = None


class ImmediateShape(Shape):
    """`true` or `{nameEnv, descriptionEnv, scopedEnv}`."""

    is_switch: ClassVar[bool] = True

    name_env: Name | None = None
    description_env: Name | None = None
    scoped_env: Names = ()


class ResumableShape(Shape):
    """`false`, or `{receives_messages, maxInstances, parentCommunication}`."""

    is_switch: ClassVar[bool] = True

    receives_messages: SideName = "side_a"
    max_instances: Positive | None = None
    parent_communication: ParentCommunication = "implicit"


class ToolShape(Shape):
    """An entry of a prompt's `tools`: which of its fields fit depends on what its name names."""

    shorthand: ClassVar[str | None] = "name"

    name: Name
    optional: Name | None = None
    env: Mapping[str, str] | None = None
    options: Mapping[str, object] | None = None
    include_text_response: StrictBool | None = None
    include_tool_calls: StrictBool | None = None
    include_errors: StrictBool | None = None
    init_user_message_property: Name | None = None
    init_attachments_property: Name | None = None
    init_agent_name_property: Name | None = None
    blocking: StrictBool | None = None
    immediate: ImmediateShape | None = None
    resumable: ResumableShape | None = None


class PromptShape(Shape):
    """One prompt."""

    synonyms: ClassVar[Mapping[str, str]] = {"text": "prompt", "fallbacks": "fallback_models"}
    deprecated: ClassVar[Mapping[str, str]] = {"tenvs": "env"}
    retired: ClassVar[Mapping[str, str]] = {
        "include_chat": "has no effect: a side always sees the chat so far",
        "include_past_tools": "has no effect: a side always sees the tool results of its turn",
    }
    foreign: ClassVar[Mapping[str, str]] = {
        "description": "use toolDescription",
        "system_prompt": "the text of the file is the prompt",
    }

    name: Name | None = None
    prompt: str = ""
    tool_description: str = ""
    model: Name | None = None
    fallback_models: Names = ()
    temperature: Temperature | None = None
    max_tokens: Positive | None = None
    reasoning: ReasoningShape | None = None
    tools: tuple[ToolShape, ...] | None = None
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: StrictBool = True
    required_schema: Mapping[str, object] | None = None
    variables: tuple[VariableShape, ...] = ()
    env: Mapping[str, str] = {}
    hooks: Names = ()
