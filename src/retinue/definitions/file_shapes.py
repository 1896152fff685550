"""The fields of definition and prompt files."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    model_validator,
)

from retinue.definitions.definition import ToolExposure
from retinue.definitions.model_options import ReasoningEffort, ToolChoice
from retinue.definitions.subagent_config import ParentCommunication
from retinue.ids import SideName
from retinue.settings.table_reader import Shape


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _variable_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"expected letters, digits and '_', no digit first, got {name[:60]!r}")
    return name


Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Text = Annotated[str, Field(min_length=1)]
Names = tuple[Name, ...]
VariableName = Annotated[Name, AfterValidator(_variable_name)]
Positive = Annotated[StrictInt, Field(ge=1)]
Temperature = Annotated[StrictFloat, Field(ge=0, le=2)]
Probability = Annotated[StrictFloat, Field(ge=0, le=1)]
StopTexts = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(min_length=1)]


class BindingShape(Shape):
    """`"tool"` or `{name, messageProperty, attachmentsProperty}`."""

    shorthand: ClassVar[str | None] = "name"

    name: Name
    """the name of the tool"""
    message_property: Name | None = None
    """the argument that contains the message; default: the result of the call"""
    attachments_property: Name | None = None
    """the argument with the paths of files to pass on"""


class SideShape(Shape):
    """`[sideA]`, `[sideB]`."""

    deprecated: ClassVar[Mapping[str, str]] = {
        "end_session_tool": "session_stop",
        "fail_session_tool": "session_fail",
        "status_tool": "session_status",
    }
    foreign: ClassVar[Mapping[str, str]] = {
        "system_prompt": "a side names a prompt in prompts/ (prompt = ...)",
        "tools": "list tools in the side's prompt",
        "model": "set the model in the side's prompt or in the definition",
    }

    prompt: Name | None = None
    """a prompt in prompts/"""
    label: Text | None = None
    """the name of this side in the user interface"""
    stop_on_response: StrictBool = True
    """whether a response without calls ends the turn"""
    stop_tool: Name | None = None
    """the tool whose call ends the turn"""
    stop_tool_response_property: Name | None = None
    """the argument of the stop tool that contains the side's message"""
    max_steps: Positive | None = None
    """per turn; exceeding it fails the run"""
    session_stop: BindingShape | None = None
    """the tool that ends the run as done"""
    session_fail: BindingShape | None = None
    """the tool that ends the run as failed"""
    session_status: BindingShape | None = None
    """the tool that sets the status in the parent's registry"""


class ChatShape(Shape):
    """`[chat]`."""

    shorthand: ClassVar[str | None] = "provider"

    provider: Name | None = None
    """not supported: the provider is part of the model's name (`model = "openai:gpt-5"`)"""


class ReasoningShape(Shape):
    """`"high"` or `{effort, budgetTokens}`."""

    synonyms: ClassVar[Mapping[str, str]] = {"budget": "budget_tokens"}
    shorthand: ClassVar[str | None] = "effort"

    effort: ReasoningEffort | None = None
    budget_tokens: Positive | None = None
    """the token limit for reasoning"""

    @model_validator(mode="after")
    def _says_how_much(self) -> "ReasoningShape":
        if self.effort is None and self.budget_tokens is None:
            raise ValueError("expected effort, budgetTokens or both")
        return self


class VariableShape(Shape):
    """`"NAME"` or `{name, type, required, scoped, description}`."""

    shorthand: ClassVar[str | None] = "name"

    name: VariableName
    type: Literal["text", "secret"] = "secret"
    """only text can be shown to models"""
    required: StrictBool = False
    """whether work can only start with a value"""
    scoped: StrictBool = False
    """whether each subagent needs its own value"""
    description: str = ""


class DefinitionShape(Shape):
    """One definition, or one template."""

    synonyms: ClassVar[Mapping[str, str]] = {"agent_id": "name", "fallbacks": "fallback_models"}
    deprecated: ClassVar[Mapping[str, str]] = {"title": "display_name", "tenvs": "env"}
    retired: ClassVar[Mapping[str, str]] = {
        "pinned": "is deprecated and has no effect: pin a conversation instead (pinnedAt)",
        "api_exposed": "has no effect: there is no API that offers agents as models",
    }
    foreign: ClassVar[Mapping[str, str]] = {
        "tools": "use toolAllowlist, or list them in a prompt in prompts/ that sideA names",
        "prompt": "use systemPrompt for a text, or sideA.prompt for a prompt in prompts/",
        "instructions": "use systemPrompt",
        "id": "use name",
        "external": "agents of other systems are not supported",
    }

    name: Name | None = None
    """default: the name of the file"""
    extends: Annotated[Names, BeforeValidator(_listed)] = ()
    """templates to inherit from; later ones win"""
    display_name: Text | None = None
    """the name in the user interface; default: the name"""
    description: Text | None = None
    """shown to users and other agents; default: the display name"""
    type: Literal["ai_human", "dual_ai", "chat"] | None = None
    """default: `ai_human`; `chat` is a synonym"""
    chat: ChatShape | None = None
    system_prompt: Text | None = None
    """the prompt of side A as text"""
    side_a: SideShape | None = None
    """the side that answers"""
    side_b: SideShape | None = None
    """the second model of a `dual_ai`"""
    max_session_turns: Positive | None = None
    """for both sides together; exceeding it fails the run"""
    model: Name | None = None
    """default: the model in the settings"""
    fallback_models: Names = ()
    """tried in this order when the model fails"""
    temperature: Temperature | None = None
    """0 to 2; like all options below, for prompts that do not set it"""
    max_tokens: Positive | None = None
    """per response"""
    top_p: Probability | None = None
    """0 to 1"""
    stop: StopTexts | None = None
    """texts that end a response: one, or a list"""
    seed: StrictInt | None = None
    reasoning: ReasoningShape | None = None
    """how much the model reasons before it answers"""
    tool_choice: ToolChoice | None = None
    """default: `auto`; `required` forces a tool call in every response, `none` forbids calls"""
    parallel_tool_calls: StrictBool | None = None
    """whether a response may contain several tool calls; default: up to the provider"""
    provider_options: Mapping[str, object] = {}
    """merged into the request body as written"""
    tool_allowlist: Names | None = None
    """names or patterns; default: every tool, `[]`: none"""
    tool_denylist: Names | None = None
    """removed from the allowed tools"""
    tool_exposure: ToolExposure = "tools"
    """whether plugins are offered as tools, as skills, or both"""
    tool_approvals: Names = ()
    """tools that need the owner's approval before each call"""
    skill_allowlist: Names | None = None
    """names or patterns; default: every skill"""
    skill_denylist: Names | None = None
    capability_allowlist: Names | None = None
    """a tool is allowed if all its capabilities are listed; default: all are allowed"""
    capability_denylist: Names | None = None
    """a tool with any of these is not allowed"""
    agent_allowlist: Names | None = None
    """agents that it may see and ask; default: all visible ones"""
    agent_denylist: Names | None = None
    ui_visible: StrictBool = True
    """whether users and other agents see it"""
    icon: Text | None = None
    """for the web app"""
    color: Text | None = None
    """for the web app"""
    expose_as_tool: StrictBool = False
    """whether prompts may list it: as a handoff, or as a subagent if it is `dual_ai`"""
    tool_description: Text | None = None
    """its description as a tool"""
    variables: tuple[VariableShape, ...] = ()
    """the variables that its turns need"""
    env: Mapping[str, str] = {}
    """default values of variables"""
    hooks: Names = ()
    """ids of hooks, in order"""
    package_name: Text | None = None
    """for `retinue pack`; default: the name"""
    version: Text | None = None
    """for `retinue pack`"""
    author: Text | None = None
    license: Text | None = None


class ImmediateShape(Shape):
    """`true` or `{nameEnv, descriptionEnv, scopedEnv}`."""

    is_switch: ClassVar[bool] = True

    name_env: VariableName | None = None
    """the variable with the name of the child"""
    description_env: VariableName | None = None
    """the variable with its first message"""
    scoped_env: tuple[VariableName, ...] = ()
    """variables passed to the child without the model seeing them"""


class ResumableShape(Shape):
    """`false`, or `{receives_messages, maxInstances, parentCommunication}`."""

    is_switch: ClassVar[bool] = True

    receives_messages: SideName = "side_a"
    """the side that receives later messages"""
    max_instances: Positive | None = None
    """the greatest number of instances"""
    parent_communication: ParentCommunication = "implicit"
    """`explicit`: the parent only receives `notify_parent` and `set_status`"""


class ToolShape(Shape):
    """An entry of a prompt's `tools`; the allowed fields depend on what the name refers to."""

    retired: ClassVar[Mapping[str, str]] = {
        "options": "has no effect: tools take arguments, and values of variables from `env`",
    }
    shorthand: ClassVar[str | None] = "name"

    name: Name
    """a tool, else an exposed agent, else a prompt"""
    optional: VariableName | None = None
    """a variable; the entry is available while it is `true`, `1` or `yes`"""
    env: Mapping[str, str] | None = None
    """values of variables for calls of this entry"""
    include_text_response: StrictBool | None = None
    """of a prompt: whether its text is part of the result"""
    include_tool_calls: StrictBool | None = None
    """of a prompt: whether the results of its calls are"""
    include_errors: StrictBool | None = None
    """of a prompt: whether its failed calls are"""
    init_user_message_property: Name | None = None
    """the argument with the first message; default: all arguments, as JSON"""
    init_attachments_property: Name | None = None
    """the argument with the paths of files to pass on"""
    init_agent_name_property: Name | None = None
    """the argument with the name of the child"""
    blocking: StrictBool | None = None
    """of a subagent: whether the call waits for its result"""
    immediate: ImmediateShape | None = None
    """of a subagent: whether it is called as soon as the prompt becomes active"""
    resumable: ResumableShape | None = None
    """of a subagent: whether it is kept after its result"""


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
    """default: the name of the file"""
    prompt: str = ""
    """the text; in Markdown files, everything below the front matter"""
    tool_description: str = ""
    """its description when it is called as a tool"""
    model: Name | None = None
    """default: the definition's model"""
    fallback_models: Names = ()
    temperature: Temperature | None = None
    """0 to 2; default: the definition's value, as for all options below"""
    max_tokens: Positive | None = None
    """per response"""
    top_p: Probability | None = None
    """0 to 1"""
    stop: StopTexts | None = None
    """texts that end a response: one, or a list"""
    seed: StrictInt | None = None
    reasoning: ReasoningShape | None = None
    """how much the model reasons before it answers"""
    tool_choice: ToolChoice | None = None
    """default: `auto`; `required` forces a tool call in every response, `none` forbids calls"""
    parallel_tool_calls: StrictBool | None = None
    """whether a response may contain several tool calls; default: up to the provider"""
    provider_options: Mapping[str, object] = {}
    """merged into the request body as written"""
    tools: tuple[ToolShape, ...] | None = None
    """default: every tool that the definition allows; `[]`: none"""
    required_schema: Mapping[str, object] | None = None
    """the JSON schema of its arguments, which the text can use as variables"""
    variables: tuple[VariableShape, ...] = ()
    """the variables it needs"""
    env: Mapping[str, str] = {}
    """default values of variables; the definition's take precedence"""
    hooks: Names = ()
    """ids of hooks; they replace the definition's"""
