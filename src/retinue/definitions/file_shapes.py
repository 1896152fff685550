"""What definition and prompt files may hold, field by field."""

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
        raise ValueError(f"expected letters, digits and '_', not a digit first, got {name[:60]!r}")
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
    """the tool that is bound"""
    message_property: Name | None = None
    """the argument whose text is told; absent: the result of the call"""
    attachments_property: Name | None = None
    """the argument that names files to hand over"""


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
    """a prompt of prompts/"""
    label: Text | None = None
    """what people see of this side"""
    stop_on_response: StrictBool = True
    """whether words without a call end the turn"""
    stop_tool: Name | None = None
    """the tool whose call ends the turn"""
    stop_tool_response_property: Name | None = None
    """the stop tool's argument that is the side's message"""
    max_steps: Positive | None = None
    """of one turn; more than that fails the run"""
    session_stop: BindingShape | None = None
    """the tool that ends the run, done"""
    session_fail: BindingShape | None = None
    """the tool that ends the run, failed"""
    session_status: BindingShape | None = None
    """the tool that sets what the parent's registry says"""


class ChatShape(Shape):
    """`[chat]`."""

    shorthand: ClassVar[str | None] = "provider"

    provider: Name | None = None
    """refused: the provider stands before the model's name (`model = "openai:gpt-5"`)"""


class ReasoningShape(Shape):
    """`"high"` or `{effort, budgetTokens}`."""

    synonyms: ClassVar[Mapping[str, str]] = {"budget": "budget_tokens"}
    shorthand: ClassVar[str | None] = "effort"

    effort: ReasoningEffort | None = None
    budget_tokens: Positive | None = None
    """how many tokens the model may spend on reasoning"""

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
    """only text can be shown to a model"""
    required: StrictBool = False
    """without a value nothing is begun"""
    scoped: StrictBool = False
    """each subagent is given its own"""
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
        "tools": "use toolAllowlist, or list them in a prompt of prompts/ that sideA names",
        "prompt": "use systemPrompt for a text, or sideA.prompt for a prompt of prompts/",
        "instructions": "use systemPrompt",
        "id": "use name",
        "external": "agents of other systems are not supported",
    }

    name: Name | None = None
    """absent: that of the file"""
    extends: Annotated[Names, BeforeValidator(_listed)] = ()
    """templates to begin with, of which later ones win"""
    display_name: Text | None = None
    """what people see; absent: the name"""
    description: Text | None = None
    """what people and other agents read; absent: the display name"""
    type: Literal["ai_human", "dual_ai", "chat"] | None = None
    """absent: `ai_human`, which `chat` is another word for"""
    chat: ChatShape | None = None
    system_prompt: Text | None = None
    """a text in the place of a prompt of side A"""
    side_a: SideShape | None = None
    """who answers"""
    side_b: SideShape | None = None
    """the other model of a `dual_ai`"""
    max_session_turns: Positive | None = None
    """of both sides together; more than that fails the run"""
    model: Name | None = None
    """absent: that of the settings"""
    fallback_models: Names = ()
    """asked in this order when the model fails"""
    temperature: Temperature | None = None
    """0 to 2; for prompts that leave it open, as all options below"""
    max_tokens: Positive | None = None
    """of one response"""
    top_p: Probability | None = None
    """0 to 1"""
    stop: StopTexts | None = None
    """texts that end a response: one, or a list"""
    seed: StrictInt | None = None
    reasoning: ReasoningShape | None = None
    """how much the model reasons before it answers"""
    tool_choice: ToolChoice | None = None
    """absent: `auto`; `required` makes every response call a tool, `none` lets none call one"""
    parallel_tool_calls: StrictBool | None = None
    """whether one response may call several tools; absent: as the provider has it"""
    provider_options: Mapping[str, object] = {}
    """merged into the body of the request as written"""
    tool_allowlist: Names | None = None
    """names or patterns; absent: every tool, `[]`: none"""
    tool_denylist: Names | None = None
    """taken away from what is allowed"""
    tool_exposure: ToolExposure = "tools"
    """whether plugins are offered as tools, as skills, or both"""
    tool_approvals: Names = ()
    """tools that the owner is asked about before each call"""
    skill_allowlist: Names | None = None
    """names or patterns; absent: every skill"""
    skill_denylist: Names | None = None
    capability_allowlist: Names | None = None
    """a tool passes if all of its capabilities are here; absent: all pass"""
    capability_denylist: Names | None = None
    """a tool with any of these does not pass"""
    agent_allowlist: Names | None = None
    """agents that it may see and ask; absent: all that are visible"""
    agent_denylist: Names | None = None
    ui_visible: StrictBool = True
    """whether people and other agents see it"""
    icon: Text | None = None
    """for the web app"""
    color: Text | None = None
    """for the web app"""
    expose_as_tool: StrictBool = False
    """whether prompts may list it: as a handoff, or as a subagent if it is `dual_ai`"""
    tool_description: Text | None = None
    """what a model is told of it then"""
    variables: tuple[VariableShape, ...] = ()
    """that its turns need"""
    env: Mapping[str, str] = {}
    """values of variables, for those that nobody has set"""
    hooks: Names = ()
    """ids of hooks, in their order"""
    package_name: Text | None = None
    """for `retinue pack`; absent: the name"""
    version: Text | None = None
    """for `retinue pack`"""
    author: Text | None = None
    license: Text | None = None


class ImmediateShape(Shape):
    """`true` or `{nameEnv, descriptionEnv, scopedEnv}`."""

    is_switch: ClassVar[bool] = True

    name_env: VariableName | None = None
    """the variable that names the child"""
    description_env: VariableName | None = None
    """the variable that is its first message"""
    scoped_env: tuple[VariableName, ...] = ()
    """variables that it is given outside the model's sight"""


class ResumableShape(Shape):
    """`false`, or `{receives_messages, maxInstances, parentCommunication}`."""

    is_switch: ClassVar[bool] = True

    receives_messages: SideName = "side_a"
    """the side that later messages are for"""
    max_instances: Positive | None = None
    """how many of it there may be"""
    parent_communication: ParentCommunication = "implicit"
    """`explicit`: the parent hears only what `notify_parent` and `set_status` say"""


class ToolShape(Shape):
    """An entry of a prompt's `tools`: which of its fields fit depends on what its name names."""

    shorthand: ClassVar[str | None] = "name"

    name: Name
    """a tool, else an agent that is exposed, else a prompt"""
    optional: VariableName | None = None
    """a variable; the entry is there while it is `true`, `1` or `yes`"""
    env: Mapping[str, str] | None = None
    """values of variables for calls of this entry"""
    options: Mapping[str, object] | None = None
    include_text_response: StrictBool | None = None
    """of a prompt: whether its words are in the result"""
    include_tool_calls: StrictBool | None = None
    """of a prompt: whether what its calls gave is"""
    include_errors: StrictBool | None = None
    """of a prompt: whether what failed is"""
    init_user_message_property: Name | None = None
    """the argument that is told first; absent: all of them, as JSON"""
    init_attachments_property: Name | None = None
    """the argument that names files to hand over"""
    init_agent_name_property: Name | None = None
    """the argument that names the child"""
    blocking: StrictBool | None = None
    """of a subagent: whether the call waits for its result"""
    immediate: ImmediateShape | None = None
    """of a subagent: whether it is called as soon as the prompt is active"""
    resumable: ResumableShape | None = None
    """of a subagent: whether it stays after its result"""


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
    """absent: that of the file"""
    prompt: str = ""
    """the text, in Markdown files what is below the front matter"""
    tool_description: str = ""
    """what a model is told of it where it is called like a tool"""
    model: Name | None = None
    """absent: that of the definition"""
    fallback_models: Names = ()
    temperature: Temperature | None = None
    """0 to 2; absent: the definition's, as for all options below"""
    max_tokens: Positive | None = None
    """of one response"""
    top_p: Probability | None = None
    """0 to 1"""
    stop: StopTexts | None = None
    """texts that end a response: one, or a list"""
    seed: StrictInt | None = None
    reasoning: ReasoningShape | None = None
    """how much the model reasons before it answers"""
    tool_choice: ToolChoice | None = None
    """absent: `auto`; `required` makes every response call a tool, `none` lets none call one"""
    parallel_tool_calls: StrictBool | None = None
    """whether one response may call several tools; absent: as the provider has it"""
    provider_options: Mapping[str, object] = {}
    """merged into the body of the request as written"""
    tools: tuple[ToolShape, ...] | None = None
    """absent: every tool that the definition allows; `[]`: none"""
    required_schema: Mapping[str, object] | None = None
    """of the arguments that it is called with; their names can be shown in the text"""
    variables: tuple[VariableShape, ...] = ()
    """that it needs"""
    env: Mapping[str, str] = {}
    """values of variables, after those of the definition"""
    hooks: Names = ()
    """ids of hooks; they take the place of the definition's"""
