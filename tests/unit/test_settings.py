import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from retinue.errors import UsageError
from retinue.settings import Settings, Vault, load_settings
from retinue.settings.env_settings import variable_names

Load = Callable[..., Settings]

SPECIFICATION_SAMPLE = """
model = "openai:gpt-5"                 # default for definitions that name none
[providers.local]                      # any OpenAI-compatible server
kind = "openai-compatible"
base_url = "http://127.0.0.1:9000/v1"
api_key = "${secret:LOCAL_KEY}"
models = ["small"]                     # used as "local:small"
[server]
host = "127.0.0.1"
port = 8420
[agents]
emergencyContextLimit = 200000
[limits]
delegationDepth = 3
"""


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load_text(text: str | None = None, env: Mapping[str, str] | None = None) -> Settings:
        if text is not None:
            (tmp_path / "retinue.toml").write_text(text, "utf-8")
        return load_settings(tmp_path, {} if env is None else env)

    return load_text


def write_secret(project_dir: Path, name: str, value: str, mode: int = 0o600) -> None:
    file = project_dir / ".retinue" / "secrets" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(value)
    file.chmod(mode)


def test_a_project_without_a_file_has_the_defaults(load: Load, tmp_path: Path) -> None:
    settings = load()

    assert settings.model == "offline"
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8420)
    assert settings.limits.tool_time_limit_seconds == 60
    assert settings.limits.steps_per_run == 250
    assert settings.data_dir == tmp_path / ".retinue"
    assert settings.warnings == ()


def test_the_sample_of_the_specification_loads_without_a_warning(load: Load) -> None:
    settings = load(SPECIFICATION_SAMPLE)

    assert settings.model == "openai:gpt-5"
    assert settings.providers["local"].kind == "openai-compatible"
    assert str(settings.providers["local"].base_url) == "http://127.0.0.1:9000/v1"
    assert settings.providers["local"].models == ("small",)
    assert settings.agents.emergency_context_limit == 200_000
    assert settings.limits.delegation_depth == 3
    assert settings.warnings == ()


@pytest.mark.parametrize("key", ["emergencyContextLimit", "emergency_context_limit"])
def test_a_key_is_read_in_both_spellings(load: Load, key: str) -> None:
    assert load(f"[agents]\n{key} = 1000").agents.emergency_context_limit == 1000


def test_a_server_may_be_called_as_the_engines_own_tools_begin(load: Load) -> None:
    assert list(load('[mcp.system_x]\nurl = "http://x"').mcp) == ["system_x"]


def test_a_key_in_both_spellings_at_once_is_refused(load: Load) -> None:
    with pytest.raises(UsageError, match=r"providers\.x\.baseUrl: is set twice"):
        load('[providers.x]\nbaseUrl = "http://a"\nbase_url = "http://b"')


def test_an_unknown_key_is_a_warning_with_the_nearest_known_one(load: Load) -> None:
    settings = load("[server]\nprot = 1\n[limits]\ndelegatonDepth = 1\n[zzz]\na = 1")

    assert settings.warnings == (
        "retinue.toml: unknown key 'server.prot'; did you mean 'server.port'?",
        "retinue.toml: unknown key 'limits.delegatonDepth'; did you mean 'limits.delegationDepth'?",
        "retinue.toml: unknown key 'zzz'",
    )
    assert settings.server.port == 8420


def test_a_top_level_key_that_belongs_in_a_table_says_so(load: Load) -> None:
    assert load("port = 1").warnings == ("retinue.toml: unknown key 'port'; write it in [server]",)


def test_an_unknown_key_below_a_named_table_keeps_the_name_as_written(load: Load) -> None:
    (warning,) = load('[providers.my_own-Server]\nbase_ur = "http://x"').warnings

    assert "'providers.my_own-Server.base_ur'" in warning
    assert "'providers.my_own-Server.base_url'" in warning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[server]\nport = "8420"', "server.port: expected a whole number, got '8420'"),
        ("[server]\nport = true", "server.port: expected a whole number, got true"),
        ("[server]\nport = 70000", "server.port: expected a number of 65535 or less, got 70000"),
        ("server = 3", "server: expected a table, got 3"),
        ("model = 3", "model: expected text, got a number"),
        ('model = ""', "model: expected text that is not empty, got ''"),
        ('[server]\nallowedHosts = "a"', "server.allowedHosts: expected a list, got 'a'"),
        ("[server]\nallowed_hosts = [1]", "server.allowed_hosts[0]: expected text, got a number"),
        (
            "[limits]\ntoolTimeLimitSeconds = 0",
            "limits.toolTimeLimitSeconds: expected a number above 0.0, got 0",
        ),
        (
            "[limits]\ntoolTimeLimitSeconds = inf",
            "limits.toolTimeLimitSeconds: expected a finite number, got inf",
        ),
        ("providers = []", "providers: expected a table, got a list"),
        ('[tools.shell]\nenabled = "yes"', "tools.shell.enabled: expected true or false"),
        ("[mcp.x]\nenabled = true", "mcp.x: set either command or url"),
        (
            '[mcp.x]\nurl = "http://x"\nargs = ["a"]',
            "mcp.x: args cannot be used with a url",
        ),
        ('[mcp."a b"]\nurl = "http://x"', "mcp: expected names of at most 32 letters, digits"),
        (
            '[providers.x]\nkind = "openai-compatible"',
            "providers.x: kind 'openai-compatible' requires a base_url",
        ),
        ('model = "${env:M}"', "model: this key does not support references"),
    ],
)
def test_a_wrong_value_is_refused_with_file_key_and_expectation(
    load: Load, tmp_path: Path, text: str, expected: str
) -> None:
    with pytest.raises(UsageError) as caught:
        load(text)

    assert f"{tmp_path / 'retinue.toml'}: {expected}" in caught.value.message


def test_all_wrong_values_are_told_at_once(load: Load) -> None:
    with pytest.raises(UsageError) as caught:
        load('model = 1\n[server]\nport = "x"')

    assert caught.value.details["keys"] == ["model", "server.port"]


def test_a_syntax_error_names_the_line(load: Load, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"retinue\.toml:2: not valid TOML") as caught:
        load('model = "x"\nport = = 3')

    assert caught.value.details == {"file": str(tmp_path / "retinue.toml"), "line": 2}


def test_a_file_that_is_not_utf8_is_refused(load: Load, tmp_path: Path) -> None:
    (tmp_path / "retinue.toml").write_bytes(b'model = "\xff"')

    with pytest.raises(UsageError, match="cannot be read"):
        load()


def test_a_byte_order_mark_is_ignored(load: Load, tmp_path: Path) -> None:
    (tmp_path / "retinue.toml").write_bytes(b'\xef\xbb\xbfmodel = "a:b"')

    assert load().model == "a:b"


def test_the_environment_wins_over_the_file(load: Load) -> None:
    settings = load(
        SPECIFICATION_SAMPLE,
        {
            "RETINUE_MODEL": "anthropic:x",
            "RETINUE_SERVER__PORT": "9000",
            "RETINUE_SERVER__ALLOWED_HOSTS": "a.example, b.example",
            "RETINUE_SERVER__ALLOWED_ORIGINS": '["https://a.example"]',
            "RETINUE_LIMITS__TOOL_TIME_LIMIT_SECONDS": "2.5",
            "RETINUE_TOOLS__SHELL__ENABLED": "false",
            "RETINUE_PROVIDERS__LOCAL__API_KEY": "12345",
        },
    )

    assert settings.model == "anthropic:x"
    assert settings.server.port == 9000
    assert settings.server.allowed_hosts == ("a.example", "b.example")
    assert settings.server.allowed_origins == ("https://a.example",)
    assert settings.limits.tool_time_limit_seconds == 2.5
    assert settings.tools.shell.enabled is False
    provider = settings.providers["local"]
    assert provider.api_key is not None
    assert provider.api_key.reveal() == "12345"
    assert provider.models == ("small",)


def test_a_variable_finds_the_named_table_of_the_file_in_any_spelling(load: Load) -> None:
    settings = load(
        '[providers.My-Server]\nmodels = ["a"]', {"RETINUE_PROVIDERS__MY_SERVER__MODELS": "b,c"}
    )

    assert list(settings.providers) == ["My-Server"]
    assert settings.providers["My-Server"].models == ("b", "c")


def test_a_variable_can_add_a_named_table_and_a_free_key(load: Load) -> None:
    settings = load(
        None,
        {
            "RETINUE_MCP__GIT__COMMAND": "git-mcp",
            "RETINUE_MCP__GIT__ENV__GIT_TOKEN": "x",
            "RETINUE_ENV__CITY": "Paris",
        },
    )

    assert settings.mcp["git"].env["GIT_TOKEN"].reveal() == "x"
    assert settings.env["CITY"].reveal() == "Paris"


def test_a_wrong_variable_is_named_in_the_error(load: Load) -> None:
    with pytest.raises(UsageError) as caught:
        load(None, {"RETINUE_SERVER__PORT": "many"})

    assert caught.value.message == (
        "environment: RETINUE_SERVER__PORT: server.port: expected a whole number, got 'many'"
    )


def test_a_variable_replaces_a_value_of_the_wrong_kind(load: Load) -> None:
    assert load("server = 3", {"RETINUE_SERVER__PORT": "1"}).server.port == 1


@pytest.mark.parametrize(
    ("variable", "suggested"),
    [
        ("RETINUE_MODL", "RETINUE_MODEL"),
        ("RETINUE_SERVER__PRT", "RETINUE_SERVER__PORT"),
        ("RETINUE_SERVERS__PORT", "RETINUE_SERVER__PORT"),
    ],
)
def test_a_mistyped_variable_is_a_warning(load: Load, variable: str, suggested: str) -> None:
    assert load(None, {variable: "1"}).warnings == (
        f"environment: unknown variable {variable!r}; did you mean {suggested!r}?",
    )


@pytest.mark.parametrize("variable", ["RETINUE_SERVER", "RETINUE_PROVIDERS__X", "RETINUE_MODEL__X"])
def test_a_variable_for_a_whole_table_or_below_a_value_is_a_warning(
    load: Load, variable: str
) -> None:
    (warning,) = load(None, {variable: "1"}).warnings

    assert f"unknown variable {variable!r}" in warning


def test_a_variable_of_another_program_is_left_alone(load: Load) -> None:
    assert load(None, {"RETINUE_XYZZY_XYZZY_XYZZY_XYZZY": "x", "PATH": "/bin"}).warnings == ()


def test_every_plain_setting_has_a_variable() -> None:
    names = variable_names(Settings)

    assert "RETINUE_MODEL" in names
    assert "RETINUE_TOOLS__WEB_FETCH__MAX_BYTES" in names


def key_of(settings: Settings) -> str:
    api_key = settings.providers["x"].api_key
    assert api_key is not None
    return api_key.reveal()


def test_a_secret_comes_from_the_environment_before_the_file(load: Load, tmp_path: Path) -> None:
    write_secret(tmp_path, "KEY", "from file\n")
    text = '[providers.x]\napi_key = "${secret:KEY}"'

    assert key_of(load(text)) == "from file"
    assert key_of(load(text, {"KEY": "from environment"})) == "from environment"
    assert key_of(load(text, {"KEY": ""})) == "from file"


def test_a_secret_is_read_when_it_is_used(load: Load) -> None:
    environment: dict[str, str] = {}
    settings = load('[providers.x]\napi_key = "${env:KEY}"', environment)

    environment["KEY"] = "late"

    assert key_of(settings) == "late"


def test_an_unset_secret_is_an_error_by_name_only_when_used(load: Load, tmp_path: Path) -> None:
    settings = load('[providers.x]\napi_key = "${secret:MISSING}"')

    with pytest.raises(UsageError, match="secret 'MISSING' is not set") as caught:
        key_of(settings)
    assert str(tmp_path / ".retinue/secrets/MISSING") in caught.value.message


def test_an_unset_variable_is_an_error_by_name_only_when_used(load: Load) -> None:
    settings = load('[providers.x]\napi_key = "${env:MISSING}"')

    with pytest.raises(UsageError, match="environment variable 'MISSING' is not set"):
        key_of(settings)


def test_a_secret_file_that_others_can_read_is_refused(load: Load, tmp_path: Path) -> None:
    write_secret(tmp_path, "KEY", "value", mode=0o644)

    with pytest.raises(UsageError, match="readable by other users; run: chmod 600"):
        key_of(load('[providers.x]\napi_key = "${secret:KEY}"'))


def test_a_reference_may_stand_inside_text(load: Load) -> None:
    settings = load(
        '[mcp.x]\nurl = "http://x"\n[mcp.x.headers]\nAuthorization = "Bearer ${env:T}"',
        {"T": "abc"},
    )

    assert settings.mcp["x"].headers["Authorization"].reveal() == "Bearer abc"


def test_a_revealed_value_is_not_searched_for_references(load: Load) -> None:
    settings = load('[providers.x]\napi_key = "${env:A}"', {"A": "${env:B}", "B": "no"})

    assert key_of(settings) == "${env:B}"


@pytest.mark.parametrize(
    "written", ["${KEY}", "${secrets:KEY}", "${secret:../x}", "${secret:", "${}"]
)
def test_a_malformed_reference_is_refused_at_load(load: Load, written: str) -> None:
    with pytest.raises(UsageError, match=r"providers\.x\.api_key: invalid reference"):
        load(f'[providers.x]\napi_key = "{written}"')


def test_no_rendering_of_the_settings_shows_a_secret(load: Load, tmp_path: Path) -> None:
    write_secret(tmp_path, "KEY", "hunter2")
    settings = load(
        'env = {A = "hunter2"}\n[providers.x]\napi_key = "hunter2"\n'
        '[server]\ntoken = "${secret:KEY}"\n[mcp.y]\nurl = "http://y"\nheaders = {K = "hunter2"}'
    )
    assert settings.server.token is not None
    settings.server.token.reveal()

    shown = (
        repr(settings) + str(settings) + settings.model_dump_json() + repr(settings.model_dump())
    )
    assert "hunter2" not in shown
    assert "${secret:KEY}" in shown
    assert json.loads(settings.model_dump_json())["providers"]["x"]["api_key"] == "***"


def test_a_wrong_type_where_a_secret_stands_does_not_show_it(load: Load) -> None:
    with pytest.raises(UsageError) as caught:
        load("[providers.x]\napi_key = 123456")

    assert "123456" not in caught.value.message


def test_settings_are_frozen(load: Load) -> None:
    with pytest.raises(ValidationError):
        load().model = "other"


def test_templates_are_equal_by_what_was_written_and_of_one_kind(load: Load) -> None:
    settings = load('[mcp.x]\ncommand = "a"\nargs = ["a"]\nenv = {A = "a"}')
    server = settings.mcp["x"]

    assert server.command == server.args[0]
    assert len({server.command, server.args[0]}) == 1
    assert server.env["A"] != server.args[0]
    assert server.env["A"].references == ()


def test_a_vault_does_not_show_the_environment(tmp_path: Path) -> None:
    assert "hunter2" not in repr(Vault(environment={"KEY": "hunter2"}, directory=tmp_path))
