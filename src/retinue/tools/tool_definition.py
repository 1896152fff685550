"""`define_tool`: defines a tool by its fields, as an alternative to the decorator `tool`."""

import base64
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from retinue.definitions.declarations import DeclaredTool, collect
from retinue.definitions.prompt import Variable
from retinue.definitions.variable_declarations import read_variable
from retinue.errors import DefinitionError, UsageError
from retinue.records import FileReference
from retinue.settings.keys import camel_case, did_you_mean, snake_case
from retinue.tools.docstrings import docstring_of
from retinue.tools.execution import Attachment, as_json, output_of
from retinue.tools.function_tool import tool
from retinue.tools.json_schema import validator
from retinue.tools.port import Check, Invoke, Pending, Tool, ToolContext, ToolOutput, Verified
from retinue.tools.threads import in_thread

_OWN = ("name", "description", "args", "execute", "check", "variables", "uses")
_OPTIONS = ("effect", "capabilities", "timeout_seconds", "output_limit")
_RESULT_KEYS = frozenset({"status", "result", "error", "attachments"})
_NAMELESS = frozenset({"execute", "<lambda>"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedTool:
    """The fields given to `define_tool`."""

    name: str
    execute: Callable[..., Any]
    description: str | None
    args: object
    """a JSON schema, a pydantic model, or None to use the function's signature"""
    check: Callable[..., Any] | None
    variables: Sequence[Variable]
    uses: Sequence[str]
    options: Mapping[str, Any]
    file: str
    line: int

    def as_tool(self, *, source: str = "project") -> Tool:
        """Build the tool; raises `DefinitionError` with file and line if it is invalid."""
        if self.args is None:
            decorate = tool(name=self.name, check=self.check, **self.options)
            made = decorate(self.execute).as_tool(source=source)
        else:
            options: dict[str, Any] = {**self.options, "effect": "once"}
            made = tool(name=self.name, **options)(_nothing).as_tool(source=source)
            text = docstring_of(self.execute)
            schema = _with_descriptions(self._schema(self.args), text.parameters)
            made = replace(
                made,
                description=text.description or self.name.replace("_", " "),
                effect=self.options.get("effect", "once"),
                parameters=schema,
                validate=validator(self.name, schema),
                invoke=self._invoke(),
                check=self._port_check(),
            )
        return replace(
            made,
            description=self.description or made.description,
            variables=tuple(self.variables),
            uses=tuple(self.uses),
        )

    def _schema(self, args: object) -> Mapping[str, Any]:
        describe = getattr(args, "model_json_schema", None)
        schema: object = describe() if describe is not None else args
        if not isinstance(schema, Mapping):
            raise self._complaint("args", "expected a JSON schema or a pydantic model")
        table = cast("Mapping[str, Any]", schema)
        if table.get("type") != "object":
            raise self._complaint("args", "expected a schema of type object")
        return table

    def _invoke(self) -> Invoke:
        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput | Pending:
            value = _understood(await _called(self.execute, ctx, self._given(arguments)))
            if isinstance(value, Pending):
                return value
            return await output_of(ctx, value, tool_name=self.name)

        return invoke

    def _port_check(self) -> Check | None:
        function = self.check
        if function is None:
            if self.options.get("effect") == "verifiable":
                raise self._complaint("check", "is needed for the effect 'verifiable'")
            return None

        async def check(ctx: ToolContext, arguments: Mapping[str, Any]) -> Verified:
            value = await _called(function, ctx, self._given(arguments))
            return value if isinstance(value, Verified) else Verified(happened=bool(value))

        return check

    def _given(self, arguments: Mapping[str, Any]) -> Any:
        make: Callable[[Any], Any] | None = getattr(self.args, "model_validate", None)
        return make(dict(arguments)) if make is not None else dict(arguments)

    def _complaint(self, field: str, reason: str) -> DefinitionError:
        return DefinitionError(reason, file=self.file, line=self.line, field=field)


def define_tool(**fields: Any) -> Any:
    """Define a tool by its fields, in camelCase or snake_case; without `execute`, a decorator.

    `name`, `description`, `args`, `execute`, `effect`, `capabilities`, `timeoutSeconds`,
    `outputLimit`, `check`, `variables`, `uses`. With `args`, a JSON schema or a pydantic model,
    `execute` receives the context and the arguments, and may return `{status, result, error}`.
    """
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    file, line = caller.f_code.co_filename, caller.f_lineno
    given = {snake_case(key): value for key, value in fields.items()}
    for key in fields:
        if snake_case(key) not in (*_OWN, *_OPTIONS):
            spell = str if "_" in key else camel_case
            message = f"unknown key {key!r}{did_you_mean(key, map(spell, (*_OWN, *_OPTIONS)))}"
            raise DefinitionError(message, file=file, field=key, line=line)

    def define(function: Callable[..., Any]) -> DefinedTool:
        own = getattr(function, "__name__", "")
        made = DefinedTool(
            name=given.get("name") or (Path(file).stem if own in _NAMELESS else own),
            execute=function,
            description=given.get("description"),
            args=given.get("args"),
            check=given.get("check"),
            variables=[_variable(one, file, line) for one in given.get("variables", ())],
            uses=given.get("uses", ()),
            options={key: value for key, value in given.items() if key in _OPTIONS},
            file=file,
            line=line,
        )
        collect(DeclaredTool(name=made.name, tool=made, line=line))
        return made

    execute = given.get("execute")
    return define if execute is None else define(execute)


def _with_descriptions(
    schema: Mapping[str, Any], descriptions: Mapping[str, str]
) -> Mapping[str, Any]:
    """Add the docstring's descriptions to properties without one."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    missing: dict[str, Any] = {
        name: {"description": descriptions[name], **value}
        for name, value in properties.items()
        if name in descriptions and isinstance(value, dict)
    }
    return {**schema, "properties": {**properties, **missing}} if missing else schema


def _variable(written: object, file: str, line: int) -> Variable:
    if not isinstance(written, str | Variable | Mapping):
        message = "expected a name or a table of name, type, required, scoped and description"
        raise DefinitionError(message, file=file, field="variables", line=line)
    try:
        return read_variable(cast("str | Variable | Mapping[str, Any]", written))
    except UsageError as error:
        raise DefinitionError(error.message, file=file, field="variables", line=line) from error


async def _called(function: Callable[..., Any], ctx: ToolContext, arguments: Any) -> Any:
    count = len(inspect.signature(function).parameters)
    given = (ctx, arguments) if count > 1 else (arguments,) if count else ()
    if inspect.iscoroutinefunction(function):
        return await function(*given)
    value = await in_thread(lambda: function(*given), name="tool")
    return await value if inspect.isawaitable(value) else value


def _understood(value: Any) -> Any:
    """Unpack `{status, result, error, attachments}`; any other value is the result."""
    if not isinstance(value, Mapping):
        return value
    table = cast("Mapping[str, Any]", value)
    if table.get("status") not in ("success", "error") or not table.keys() <= _RESULT_KEYS:
        return table
    if table["status"] == "error":
        reason = table.get("error") or table.get("result") or "It failed."
        return ToolOutput(text=_as_text(reason), is_error=True)
    files = [_file(one) for one in table.get("attachments") or ()]
    return [_as_text(table.get("result")), *files] if files else table.get("result")


def _as_text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else as_json(value)


def _file(written: Any) -> Attachment | FileReference:
    if isinstance(written, Attachment | FileReference):
        return written
    return Attachment(written["name"], base64.b64decode(written["data"]))


async def _nothing() -> None:
    """A placeholder for a function whose parameters are not used."""
