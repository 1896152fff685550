"""Variables: their sources, which value applies to an agent, and redaction of secrets.

The first of these with a value applies: the entry in a prompt's tool list (for calls of that
tool), the agent itself, its owner's account, the installation (`[env]`), the definition's `env`,
the prompt's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast

from retinue.agents.state import AgentState
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import Prompt, Variable
from retinue.definitions.subagent_config import is_switched_on
from retinue.errors import RetinueError, UsageError
from retinue.ids import AgentId, OwnerId
from retinue.settings.secrets import Secret
from retinue.stores.variable_port import VariableStore
from retinue.tools.port import Tool

Scope = Literal["call", "thread", "account", "instance", "agent", "prompt"]

LONGEST_NAME = 100
LARGEST_VALUE = 16_384  # bytes
MOST_VALUES = 200  # of one agent or account
SHORTEST_REDACTED = 6
"""Shorter values occur in too many harmless texts to be redacted."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING: Mapping[str, str] = {}
_NO_TOOLS: Mapping[str, Tool] = {}


class Holder(Protocol):
    """An agent, in memory or as stored."""

    @property
    def id(self) -> AgentId: ...

    @property
    def owner(self) -> OwnerId: ...

    @property
    def state(self) -> AgentState: ...

    @property
    def kind(self) -> str: ...


class Seal(Protocol):
    """Encrypts values, each for one place, with a key stored separately."""

    def encrypt(self, value: str, *, place: str, name: str) -> str: ...

    def decrypt(self, encrypted: str, *, place: str, name: str) -> str:
        """Raises `UsageError` with the name of the variable and the reason."""
        ...


class Environment:
    """Values of agents, accounts and the installation; decrypted only on use."""

    def __init__(
        self, *, store: VariableStore, seal: Seal, instance: Mapping[str, Secret] | None = None
    ) -> None:
        self._store = store
        self._seal = seal
        self._instance = instance or {}
        self._accounts: dict[OwnerId, Mapping[str, str]] = {}
        self._is_loaded = False

    async def load(self) -> None:
        """Read the values of accounts once; later changes update the copy in memory."""
        if not self._is_loaded:
            self._accounts = dict(await self._store.all())
            self._is_loaded = True

    def of(
        self,
        holder: Holder,
        definition: Definition,
        prompt: Prompt,
        tools: Mapping[str, Tool] = _NO_TOOLS,
    ) -> "Variables":
        """The variables of an agent whose side uses this prompt and these tools."""
        return Variables(
            environment=self,
            agent_id=holder.id,
            owner=holder.owner,
            own=holder.state.env,
            definition=definition,
            prompt=prompt,
            tools=tools,
        )

    def may_hold_secrets(self, owner: OwnerId, state: AgentState) -> bool:
        """Whether there may be anything to redact; False for nearly every agent."""
        return bool(state.env or self._instance or self._accounts.get(owner))

    # -- accounts

    def account(self, owner: OwnerId) -> Mapping[str, str]:
        """The account's encrypted values, by name."""
        return self._accounts.get(owner, _NOTHING)

    @property
    def instance(self) -> Mapping[str, Secret]:
        return self._instance

    async def set_account(self, owner: OwnerId, name: str, value: str) -> None:
        check_variable(name, value)
        check_room({*self.account(owner), name})
        sealed = self._seal.encrypt(value, place=_account(owner), name=name)
        await self._store.put(owner, name, sealed)
        self._accounts[owner] = {**self.account(owner), name: sealed}

    async def unset_account(self, owner: OwnerId, name: str) -> bool:
        """Delete a value; False if there was none."""
        if name not in self.account(owner):
            return False
        await self._store.remove(owner, name)
        held = self.account(owner).items()
        self._accounts[owner] = {other: sealed for other, sealed in held if other != name}
        return True

    def account_value(self, owner: OwnerId, name: str) -> str | None:
        sealed = self.account(owner).get(name)
        return (
            None if sealed is None else self._seal.decrypt(sealed, place=_account(owner), name=name)
        )

    def instance_value(self, name: str) -> str | None:
        written = self._instance.get(name)
        return None if written is None else written.reveal()

    # -- agents

    def sealed_for(self, agent_id: AgentId, values: Mapping[str, str]) -> dict[str, str]:
        """Encrypt values for one agent's state."""
        for name, value in values.items():
            check_variable(name, value)
        check_room(values)
        return {
            name: self._seal.encrypt(value, place=_agent(agent_id), name=name)
            for name, value in values.items()
        }

    def own_value(self, agent_id: AgentId, own: Mapping[str, str], name: str) -> str | None:
        sealed = own.get(name)
        return (
            None
            if sealed is None
            else self._seal.decrypt(sealed, place=_agent(agent_id), name=name)
        )

    def handed_down(
        self, parent: AgentId, own: Mapping[str, str], child: AgentId, *, without: frozenset[str]
    ) -> dict[str, str]:
        """A parent's own values, encrypted for a child, except those in `without`."""
        return self.sealed_for(
            child,
            {
                name: self._seal.decrypt(sealed, place=_agent(parent), name=name)
                for name, sealed in own.items()
                if name not in without
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """The variables of one agent, as seen by one of its sides."""

    environment: Environment = field(repr=False)
    agent_id: AgentId
    owner: OwnerId
    own: Mapping[str, str] = field(repr=False)  # encrypted
    definition: Definition = field(repr=False)
    prompt: Prompt = field(repr=False)
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool], repr=False)
    call: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def during(self, tool: str) -> "Variables":
        """The variables within a call of this tool, whose entry in the prompt may set values."""
        for entry in self.prompt.tools or ():
            if entry.name == tool and (env := getattr(entry, "env", _NOTHING)):
                return replace(self, call=env)
        return self

    def get(self, name: str) -> str | None:
        """The value that applies. Raises `UsageError` if it cannot be read."""
        scope = self.scope(name)
        match scope:
            case None:
                return None
            case "call":
                return self.call[name]
            case "thread":
                return self.environment.own_value(self.agent_id, self.own, name)
            case "account":
                return self.environment.account_value(self.owner, name)
            case "instance":
                return self.environment.instance_value(name)
            case "agent":
                return self.definition.env[name]
            case "prompt":
                return self.prompt.env[name]

    def scope(self, name: str) -> Scope | None:
        """The source of the value that applies, without reading it."""
        if name in self.call:
            return "call"
        if name in self.own:
            return "thread"
        if name in self.environment.account(self.owner):
            return "account"
        if name in self.environment.instance:
            return "instance"
        if name in self.definition.env:
            return "agent"
        return "prompt" if name in self.prompt.env else None

    def on(self, gates: Iterable[str]) -> frozenset[str]:
        """The variables that switch on optional entries; unreadable ones do not."""
        return frozenset(name for name in gates if is_switched_on(self._readable(name)))

    def _readable(self, name: str) -> str | None:
        try:
            return self.get(name)
        except RetinueError:
            return None

    def check(self, variables: Iterable[Variable], needed_by: str) -> None:
        """Raise `UsageError` that names the required variables without a value."""
        missing = [
            one.name for one in variables if one.is_required and self.scope(one.name) is None
        ]
        if missing:
            raise missing_error(missing, self.agent_id, needed_by=needed_by)

    def require(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise missing_error([name], self.agent_id, needed_by=f"agent {self.definition.name!r}")
        return value

    def redacted(self, text: str) -> str:
        """The text with the values of this agent's secrets redacted."""
        return redact_secrets(text, self.secrets())

    def secrets(self) -> Iterator[tuple[str, str]]:
        """The secrets by name."""
        declared = _types_in(self.tools.values())
        declared |= {one.name: one.type for one in declared_by(self.definition, self.prompt)}
        environment = self.environment
        shared = {*environment.account(self.owner), *environment.instance}
        given = {*self.call, *self.definition.env, *self.prompt.env}
        explicit = {name for name in given if declared.get(name) == "secret"}
        for name in {*self.own, *shared, *explicit}:
            if declared.get(name) != "text":
                for value in self._values(name):
                    yield name, value

    def _values(self, name: str) -> Iterator[str]:
        """Every value of the name from any source: a tool may know one that does not apply."""
        environment = self.environment
        readers = (
            lambda: environment.own_value(self.agent_id, self.own, name),
            lambda: environment.account_value(self.owner, name),
            lambda: environment.instance_value(name),
        )
        for read in readers:
            try:
                value = read()
            except RetinueError:
                continue  # a value that cannot be read cannot appear in a text
            if value is not None:
                yield value
        for values in (self.call, self.definition.env, self.prompt.env):
            if name in values:
                yield values[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountVariables:
    """The variables of an owner in a call that no agent makes."""

    environment: Environment = field(repr=False)
    owner: OwnerId
    texts: frozenset[str] = frozenset()  # names that are not secret
    _read: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    def get(self, name: str) -> str | None:
        value = self.environment.account_value(self.owner, name)
        value = self.environment.instance_value(name) if value is None else value
        if value is not None and name not in self.texts:
            self._read[name] = value
        return value

    def require(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise missing_error([name], None, needed_by="this")
        return value

    def check(self, variables: Iterable[Variable], needed_by: str) -> None:
        held = {*self.environment.account(self.owner), *self.environment.instance}
        missing = [one.name for one in variables if one.is_required and one.name not in held]
        if missing:
            raise missing_error(missing, None, needed_by=needed_by)

    def secrets(self) -> Iterator[tuple[str, str]]:
        """The secrets that this call has read; others are not redacted."""
        yield from self._read.items()


def declared_by(definition: Definition, prompt: Prompt) -> tuple[Variable, ...]:
    """The variables that a side declares; the prompt's declaration takes precedence."""
    own = {variable.name for variable in prompt.variables}
    return (*prompt.variables, *(one for one in definition.variables if one.name not in own))


def _types_in(tools: Iterable[Tool]) -> dict[str, str]:
    """The types that tools declare for their variables; secret takes precedence over text."""
    types: dict[str, str] = {}
    for variable in (one for tool in tools for one in tool.variables):
        if types.get(variable.name) != "secret":
            types[variable.name] = variable.type
    return types


def redact_secrets(text: str, secrets: Iterable[tuple[str, str]]) -> str:
    """Replace secret values with their names, longest first, as one may contain another."""
    found = {value: name for name, value in secrets if len(value) >= SHORTEST_REDACTED}
    for value in sorted(found, key=len, reverse=True):
        if value in text:
            text = text.replace(value, f"[secret {found[value]}]")
    return text


def redacted_json(value: Any, redact: Callable[[str], str]) -> Any:
    """Redact texts before they are encoded as JSON, which may escape characters."""
    match value:
        case str():
            return redact(value)
        case dict():
            entries = cast("dict[str, Any]", value).items()
            return {name: redacted_json(inner, redact) for name, inner in entries}
        case list():
            return [redacted_json(entry, redact) for entry in cast("list[Any]", value)]
        case _:
            return value


def check_variable(name: str, value: str) -> None:
    """Raise `UsageError`; the message never contains the value."""
    check_name(name)
    if "\0" in value or "\ufffd" in value:  # the API replaces invalid characters with these
        raise UsageError(
            f"{name}: the value contains an invalid character", details={"field": name}
        )
    if len(value.encode(errors="surrogatepass")) > LARGEST_VALUE:
        raise UsageError(
            f"{name}: the value is longer than {LARGEST_VALUE} bytes", details={"field": name}
        )


def check_name(name: str) -> None:
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:LONGEST_NAME]!r} is not a valid variable name: use letters, digits and '_', "
            f"no digit first, at most {LONGEST_NAME} characters"
        )


def check_room(names: Mapping[str, str] | set[str]) -> None:
    if len(names) > MOST_VALUES:
        raise UsageError(f"the limit is {MOST_VALUES} variables: unset some first")


def missing_error(names: list[str], agent_id: AgentId | None, *, needed_by: str) -> UsageError:
    """The error that names missing variables and how to set them."""
    first = names[0]
    own = f"for this agent (`retinue env set {first} --agent {agent_id}`), " if agent_id else ""
    return UsageError(
        f"{needed_by} needs a value for {', '.join(names)}: set it {own}for your account (`retinue "
        f"env set {first}`), or for the installation ([env] in retinue.toml)",
        details={"variables": names},
    )


def _agent(agent_id: AgentId) -> str:
    return f"agent/{agent_id}"


def _account(owner: OwnerId) -> str:
    return f"account/{owner}"
