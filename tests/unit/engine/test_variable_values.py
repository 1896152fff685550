"""Which value of a variable counts, and what is blotted out of texts."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Struct

from retinue.agents.state import AgentState
from retinue.definitions.definition import Definition
from retinue.definitions.prompt import FunctionEntry, Prompt, Variable
from retinue.definitions.side import Side
from retinue.engine.variables.values import Environment, Scope, Variables
from retinue.errors import UsageError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.settings.encryption import KEY_FILE, KeySeal
from retinue.settings.secrets import Secret, Vault
from retinue.stores.sqlite.store import SqliteStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = AgentId("a" * 24)
SCOPES: list[Scope] = ["call", "thread", "account", "instance", "agent", "prompt"]


class Somebody(Struct, frozen=True, kw_only=True):
    state: AgentState
    id: AgentId = AGENT
    owner: OwnerId = LOCAL_OWNER
    kind: str = "user"


async def variables_in(tmp_path: Path, *scopes: Scope, name: str = "KEY") -> Variables:
    """Set the variable in these scopes, each to a value that tells the scope."""
    store = SqliteStore(tmp_path / "data")
    await store.open()
    values = {scope: {name: f"the {scope}'s"} if scope in scopes else {} for scope in SCOPES}
    vault = Vault(environment={}, directory=tmp_path)
    seal = KeySeal(tmp_path / "data" / KEY_FILE)
    environment = Environment(
        store=store.variables,
        seal=seal,
        instance={key: Secret(value, vault) for key, value in values["instance"].items()},
    )
    for key, value in values["account"].items():
        await environment.set_account(LOCAL_OWNER, key, value)
    again = Environment(store=store.variables, seal=seal, instance=environment.instance)
    await again.load()
    await store.close()
    prompt = Prompt(
        name="p", env=values["prompt"], tools=(FunctionEntry(name="t", env=values["call"]),)
    )
    definition = Definition(
        name="d",
        display_name="D",
        description="D",
        side_a=Side(prompt=prompt),
        env=values["agent"],
    )
    own = environment.sealed_for(AGENT, values["thread"])
    holder = Somebody(state=AgentState(created_at=NOW, updated_at=NOW, env=own))
    return again.of(holder, definition, prompt).during("t")


@pytest.mark.parametrize("first", range(len(SCOPES)))
async def test_the_first_scope_that_has_a_value_gives_it(tmp_path: Path, first: int) -> None:
    variables = await variables_in(tmp_path, *SCOPES[first:])
    assert variables.get("KEY") == f"the {SCOPES[first]}'s"
    assert variables.scope("KEY") == SCOPES[first]


async def test_a_variable_that_nobody_set_has_no_value(tmp_path: Path) -> None:
    variables = await variables_in(tmp_path)
    assert variables.get("KEY") is None
    with pytest.raises(UsageError, match=r"needs a value for KEY: .*retinue env set KEY --agent"):
        variables.require("KEY")


async def test_a_tools_own_values_hold_for_its_calls_alone(tmp_path: Path) -> None:
    variables = await variables_in(tmp_path, "call", "prompt")
    assert replace(variables, call={}).during("another").get("KEY") == "the prompt's"


async def test_an_accounts_values_are_its_owners_alone(tmp_path: Path) -> None:
    variables = await variables_in(tmp_path, "account")
    stranger = replace(variables, owner=OwnerId("stranger"))
    assert (variables.get("KEY"), stranger.get("KEY")) == ("the account's", None)


@pytest.mark.parametrize("scope", ["thread", "account", "instance"])
async def test_secrets_are_blotted_out_of_texts(tmp_path: Path, scope: Scope) -> None:
    variables = await variables_in(tmp_path, scope)
    assert variables.redacted(f"I saw the {scope}'s key") == "I saw [secret KEY] key"


async def test_text_and_what_files_say_openly_is_not_blotted_out(tmp_path: Path) -> None:
    variables = await variables_in(tmp_path, "thread", "agent")
    as_text = replace(
        variables, prompt=replace(variables.prompt, variables=(Variable(name="KEY", type="text"),))
    )
    assert as_text.redacted("the thread's") == "the thread's"
    openly = await variables_in(tmp_path / "other", "agent")
    assert openly.redacted("the agent's") == "the agent's"


async def test_a_declared_secret_is_blotted_out_wherever_it_was_set(tmp_path: Path) -> None:
    variables = await variables_in(tmp_path, "agent")
    declared = replace(
        variables, prompt=replace(variables.prompt, variables=(Variable(name="KEY"),))
    )
    assert declared.redacted("the agent's") == "[secret KEY]"


@pytest.mark.parametrize("name", ["", "1ST", "A-B", "A B", "Ä", "A" * 101])
async def test_names_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    variables = await variables_in(tmp_path)
    with pytest.raises(UsageError, match="not a valid variable name"):
        variables.environment.sealed_for(AGENT, {name: "value"})


async def test_a_refusal_does_not_quote_the_value(tmp_path: Path) -> None:
    environment = (await variables_in(tmp_path)).environment
    for value in ("long secret " * 2000, "nul\0secret", "half \ud800 secret"):
        with pytest.raises(UsageError) as raised:
            environment.sealed_for(AGENT, {"KEY": value})
        assert "secret" not in str(raised.value)
