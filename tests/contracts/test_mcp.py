"""MCP servers as a source of tools: a small one that misbehaves, and the reference server."""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from retinue.clock import SystemClock
from retinue.definitions.scoping import Scope, is_allowed
from retinue.settings.secrets import Vault
from retinue.settings.tables import McpSettings
from retinue.tools.mcp.mcp_tools import McpToolbox
from tests.unit.tools.support import Context, run

SUPPORT = Path(__file__).parents[1] / "support" / "mcp"
OPEN = {"type": "object"}


class FastClock(SystemClock):
    """Waits a twentieth of the time between attempts."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 20)


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    (tmp_path / "files").mkdir()
    return Context(tmp_path / "files")


@asynccontextmanager
async def toolbox(
    tmp_path: Path, servers: Mapping[str, Mapping[str, Any]], *, first_wait: float = 20
) -> AsyncGenerator[McpToolbox]:
    vault = Vault(environment=os.environ, directory=tmp_path)
    settings = {
        name: McpSettings.model_validate(table, context=vault) for name, table in servers.items()
    }
    box = McpToolbox(
        settings, clock=FastClock(), project_dir=tmp_path, first_wait_seconds=first_wait
    )
    try:
        yield box
    finally:
        await box.close()


class Plain:
    """The small server, and the file with its tools."""

    def __init__(self, tmp_path: Path, name: str = "plain") -> None:
        self.file = tmp_path / f"{name}.json"
        self.list({"name": name, "inputSchema": OPEN} for name in ("echo", "die", "changed"))

    def list(self, tools: Any) -> None:
        self.file.write_text(json.dumps(list(tools)))

    def table(self, *more: str, **rest: Any) -> Mapping[str, Any]:
        args = [str(SUPPORT / "plain_server.py"), str(self.file), *more]
        return {"command": sys.executable, "args": args, **rest}


@pytest.fixture
def plain(tmp_path: Path) -> Plain:
    return Plain(tmp_path)


async def until(holds: Callable[[], Awaitable[bool]], *, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < end, "it did not come true in time"
        await asyncio.sleep(0.05)


def processes(part: str) -> list[int]:
    """Find the servers of this test by a path that only their command lines have."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if part in line and int(entry.parent.name) != os.getpid():
            found.append(int(entry.parent.name))
    return found


def test_importing_the_client_does_not_import_the_sdk() -> None:
    code = (
        "import sys, retinue.tools.mcp.mcp_tools\n"
        "print([m for m in ('mcp', 'anyio', 'jsonschema', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


async def test_effects_come_from_the_hints(tmp_path: Path, plain: Plain) -> None:
    hints = {
        "reads": {"readOnlyHint": True},
        "again": {"idempotentHint": True},
        "both": {"readOnlyHint": True, "idempotentHint": True},
        "neither": {"readOnlyHint": False, "destructiveHint": False},
    }
    plain.list(
        [{"name": n, "inputSchema": OPEN, "annotations": hint} for n, hint in hints.items()]
        + [{"name": "silent", "inputSchema": OPEN, "description": "Says nothing."}]
    )
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
    assert {name: tool.effect for name, tool in tools.items()} == {
        "mcp_s_reads": "pure",
        "mcp_s_again": "keyed",
        "mcp_s_both": "pure",
        "mcp_s_neither": "once",
        "mcp_s_silent": "once",
    }
    silent = tools["mcp_s_silent"]
    assert (silent.description, silent.source, silent.capabilities) == (
        "Says nothing.",
        "mcp:s",
        ("mcp.s",),
    )


async def test_names_are_made_fit_and_clashes_left_out(tmp_path: Path, plain: Plain) -> None:
    names = ["a.b", "a b", "x" * 100, "x" * 99, "system_stop", "../etc"]
    plain.list([{"name": name, "inputSchema": OPEN} for name in names])
    other = Plain(tmp_path, "other")
    other.list([{"name": "b_c", "inputSchema": OPEN}])
    third = Plain(tmp_path, "third")
    third.list([{"name": "c", "inputSchema": OPEN}])
    fourth = Plain(tmp_path, "fourth")
    fourth.list([{"name": "stop", "inputSchema": OPEN}])
    servers = {"s": plain.table(), "a": other.table(), "a_b": third.table()}
    servers["system"] = fourth.table()
    async with toolbox(tmp_path, servers) as box:
        tools = await box.tools()
        problems = [str(told) for told in box.problems()]
    assert all(len(name) <= 64 for name in tools)
    assert len([name for name in tools if name.startswith("mcp_s_xxx")]) == 2
    assert {"mcp_s_a_b", "mcp_s_system_stop", "mcp_s____etc", "mcp_a_b_c"} < set(tools)
    assert not any(is_allowed(Scope(tool_allowlist=()), tool) for tool in tools.values())
    assert "mcp_system_stop" in tools
    assert [problem for problem in problems if "'a b' was skipped" in problem]
    assert [problem for problem in problems if "already has a tool 'mcp_a_b_c'" in problem]


async def test_a_tool_with_a_wrong_schema_is_left_out_by_name(tmp_path: Path, plain: Plain) -> None:
    plain.list(
        [
            {"name": "good", "inputSchema": OPEN},
            {"name": "odd", "inputSchema": {"type": "object", "properties": {"a": {"type": 5}}}},
        ]
    )
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        assert list(await box.tools()) == ["mcp_s_good"]
        told = box.problems()
    (problem,) = told
    assert (problem.file, problem.field) == ("retinue.toml", "mcp.s")
    assert problem.message.startswith("tool 'odd' was skipped: its input schema is invalid")


async def test_arguments_are_checked_here_and_every_wrong_field_is_named(
    tmp_path: Path, plain: Plain, ctx: Context
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "name": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "slow": {"type": "string", "pattern": "^(a+)+$"},
            "far": {"$ref": "http://127.0.0.1:9/schema"},
        },
        "required": ["count", "name"],
        "additionalProperties": False,
    }
    plain.list([{"name": "echo", "inputSchema": schema}])
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        echo = (await box.tools())["mcp_s_echo"]
        done = await run(echo, ctx, count="x", kind="c", extra=1)
        for part in ("'name': missing", "'count': 'x' is not", "'kind': 'c' is not", "'extra'"):
            assert part in done.output.text
        began = time.monotonic()
        assert (await run(echo, ctx, count=1, name="n", slow="a" * 40 + "b")).status == "ok"
        assert time.monotonic() - began < 20
        assert "cannot be checked" in (await run(echo, ctx, count=1, name="n", far=1)).output.text


async def test_results_of_every_kind_are_mapped(tmp_path: Path, plain: Plain, ctx: Context) -> None:
    names = ("echo", "fail", "much", "surrogate", "structured", "odd", "key")
    plain.list({"name": name, "inputSchema": OPEN} for name in names)
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
        assert (await run(tools["mcp_s_echo"], ctx, a=1)).output.text == 'echo {"a": 1}'
        assert (await run(tools["mcp_s_fail"], ctx)).status == "error"
        much = await run(tools["mcp_s_much"], ctx, output_limit=100)
        assert much.cut == 999_900
        assert (await run(tools["mcp_s_structured"], ctx)).output.text == '{"a":1}'
        assert (await run(tools["mcp_s_key"], ctx)).output.text == "key-1"
        odd = (await run(tools["mcp_s_odd"], ctx)).output
        assert "invalid base64" in odd.text
        assert await ctx.files.read(odd.files[0].path) == b"\x00\x01"
        # The SDK drops a message with a lone surrogate; the time limit is what ends the call.
        assert (await run(tools["mcp_s_surrogate"], ctx, timeout_seconds=1)).status == "error"
        assert (await run(tools["mcp_s_echo"], ctx)).status == "ok"


async def test_a_process_gets_what_is_configured_and_no_secret(
    tmp_path: Path, plain: Plain, ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-4711")
    monkeypatch.setenv("SHOP_TOKEN", "for the server")
    plain.list([{"name": "env", "inputSchema": OPEN}])
    table = plain.table(env={"TOKEN": "${env:SHOP_TOKEN}"})
    async with toolbox(tmp_path, {"s": table}) as box:
        done = await run((await box.tools())["mcp_s_env"], ctx)
    given = json.loads(done.output.text)
    assert given["TOKEN"] == "for the server"
    assert set(given) <= {"TOKEN", "PATH", "HOME", "LOGNAME", "SHELL", "TERM", "USER", "LC_CTYPE"}
    assert "canary-4711" not in done.output.text


async def test_closing_ends_the_process(tmp_path: Path, plain: Plain) -> None:
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        await box.tools()
        assert processes(str(plain.file))
    assert not processes(str(plain.file))


async def test_a_closing_while_it_connects_ends_the_process_too(
    tmp_path: Path, plain: Plain
) -> None:
    script = tmp_path / "mute.py"
    script.write_text("import time\ntime.sleep(600)\n")
    table = {"command": sys.executable, "args": [str(script)]}
    async with toolbox(tmp_path, {"s": table}, first_wait=0.2) as box:
        await box.tools()
        await until(lambda: _there(str(script)))
    assert not processes(str(script))


async def _there(part: str) -> bool:
    return bool(processes(part))


async def test_a_server_that_dies_is_started_again_and_the_call_says_so(
    tmp_path: Path, plain: Plain, ctx: Context
) -> None:
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
        done = await run(tools["mcp_s_die"], ctx)
        assert done.status == "error"
        assert "unknown whether the call took effect" in done.output.text
        assert (await run(tools["mcp_s_echo"], ctx)).output.text == "echo {}"
        assert list(box.problems()) == []


async def test_a_server_that_is_killed_between_calls_is_started_again(
    tmp_path: Path, plain: Plain
) -> None:
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        await box.tools()
        (before,) = processes(str(plain.file))
        os.kill(before, 9)

        async def is_back() -> bool:
            running = processes(str(plain.file))
            return len(running) == 1 and running != [before]

        await until(is_back)


async def test_a_change_of_the_tools_is_seen(tmp_path: Path, plain: Plain, ctx: Context) -> None:
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
        assert await box.tools() is tools
        plain.list({"name": name, "inputSchema": OPEN} for name in ("changed", "fresh"))
        await run(tools["mcp_s_changed"], ctx)

        async def is_listed() -> bool:
            return list(await box.tools()) == ["mcp_s_changed", "mcp_s_fresh"]

        await until(is_listed)


async def test_servers_that_are_down_or_slow_are_named_and_delay_no_other(
    tmp_path: Path, plain: Plain, ctx: Context
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # accepts and never answers
        servers = {
            "good": plain.table(),
            "gone": {"command": "no-such-program"},
            "broken": plain.table("secret-4711", env={"KEY": "secret-4711"}),
            "closed": {"url": "http://127.0.0.1:1/mcp"},
            "mute": {"url": f"http://127.0.0.1:{mute.getsockname()[1]}/mcp"},
            "unset": plain.table(env={"KEY": "${secret:NOT_SET_ANYWHERE}"}),
            "off": {"command": "no-such-program", "enabled": False},
        }
        async with toolbox(tmp_path, servers, first_wait=0.5) as box:
            began = time.monotonic()
            await box.tools()
            assert time.monotonic() - began < 25

            async def are_known() -> bool:
                named = {problem.field for problem in box.problems()}
                wanted = {"mcp.gone", "mcp.broken", "mcp.closed", "mcp.unset"}
                return wanted <= named and len(await box.tools()) == 3

            await until(are_known)
            assert (await run((await box.tools())["mcp_good_echo"], ctx)).status == "ok"
            told = "\n".join(map(str, box.problems()))
            states = {one.name: (one.state, one.tools) for one in box.servers()}
    assert states["good"] == ("connected", 3)
    assert states["gone"] == states["closed"] == ("lost", 0)
    assert states["mute"] == ("connecting", 0)
    assert states["off"] == ("off", 0)
    assert "mcp.gone: program 'no-such-program' not found" in told
    assert "mcp.broken: " in told
    assert "this server does not start: ***" in told
    assert "mcp.closed: " in told
    assert "secret 'NOT_SET_ANYWHERE' is not set" in told
    assert "secret-4711" not in told
    assert "mcp.off" not in told


async def test_tools_of_a_server_that_stays_away_go_and_come_back(
    tmp_path: Path, plain: Plain, ctx: Context
) -> None:
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
        content = plain.file.read_text()
        plain.file.unlink()  # so that it cannot list, and dies
        await run(tools["mcp_s_die"], ctx)

        async def are_gone() -> bool:
            return await box.tools() == {}

        await until(are_gone)
        assert box.problems()
        plain.file.write_text(content)

        async def are_back() -> bool:
            return "mcp_s_echo" in await box.tools()

        await until(are_back)
        assert list(box.problems()) == []


async def test_a_cancelled_call_leaves_the_connection_usable(
    tmp_path: Path, plain: Plain, ctx: Context
) -> None:
    plain.list({"name": name, "inputSchema": OPEN} for name in ("hang", "echo"))
    async with toolbox(tmp_path, {"s": plain.table()}) as box:
        tools = await box.tools()
        began = time.monotonic()
        done = await run(tools["mcp_s_hang"], ctx, timeout_seconds=0.5)
        assert "longer than its limit" in done.output.text
        assert time.monotonic() - began < 20


# ---------------------------------------------------------------- the reference server


@pytest.fixture(scope="session")
def everything(pytestconfig: pytest.Config) -> Path:
    """Install the locked reference server once, outside the tree, and give its start script."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed, so the reference server cannot be fetched")
    digest = hashlib.sha256((SUPPORT / "package-lock.json").read_bytes()).hexdigest()[:12]
    cache = pytestconfig.cache
    assert cache is not None
    folder = cache.mkdir(f"mcp-{digest}")
    with (folder / "lock").open("w") as lock:  # other workers of this run may want it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "installed").exists():
            for name in ("package.json", "package-lock.json"):
                shutil.copy(SUPPORT / name, folder / name)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(command, cwd=folder, check=True)
            (folder / "installed").touch()
    return folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"


class WebServer:
    """The reference server on a port of its own, where it can be killed and started again."""

    def __init__(self, script: Path) -> None:
        self._script = script
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def table(self) -> Mapping[str, Any]:
        return {"url": f"http://127.0.0.1:{self._port}/mcp", "headers": {"X-Test": "1"}}

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *("node", str(self._script), "streamableHttp"),
            env={"PATH": os.environ["PATH"], "PORT": str(self._port)},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await until(self._listens, seconds=30)

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            await self._process.wait()
            self._process = None

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        writer.close()
        return True


@pytest.fixture
async def web(everything: Path) -> AsyncIterator[WebServer]:
    server = WebServer(everything)
    await server.start()
    yield server
    await server.kill()


@pytest.fixture(params=["stdio", "http"])
def reference(request: pytest.FixtureRequest, everything: Path) -> Mapping[str, Any]:
    if request.param == "stdio":
        return {"command": "node", "args": [str(everything)]}
    server: WebServer = request.getfixturevalue("web")
    return server.table


@pytest.mark.npm
@pytest.mark.timeout(180)
async def test_the_reference_server_is_understood(
    tmp_path: Path, ctx: Context, reference: Mapping[str, Any]
) -> None:
    async with toolbox(tmp_path, {"every": reference}) as box:
        tools = await box.tools()
        assert list(box.problems()) == []
        assert tools["mcp_every_echo"].effect == "pure"
        assert tools["mcp_every_gzip-file-as-resource"].effect == "keyed"
        assert tools["mcp_every_toggle-simulated-logging"].effect == "once"

        async def shown(name: str, **arguments: Any) -> str:
            done = await run(tools[f"mcp_every_{name}"], ctx, **arguments)
            assert done.status == "ok", done.output.text
            return done.output.text

        assert await shown("echo", message="hé") == "Echo: hé"
        assert "The sum of 2 and 3 is 5" in await shown("get-sum", a=2, b=3)
        assert "demo://resource/dynamic" in await shown("get-resource-links", count=2)
        assert "demo://resource/dynamic/text/1:\n" in await shown("get-resource-reference")
        assert "temperature" in await shown("get-structured-content", location="Chicago")
        image = (await run(tools["mcp_every_get-tiny-image"], ctx)).output
        assert (await ctx.files.read(image.files[0].path)).startswith(b"\x89PNG")
        wrong = await run(tools["mcp_every_get-sum"], ctx, a="two")
        assert "'b': missing" in wrong.output.text
        assert "'a': 'two' is not of type 'number'" in wrong.output.text
        await shown("trigger-long-running-operation", duration=1, steps=4)
        assert ctx.shown


@pytest.mark.npm
@pytest.mark.timeout(180)
async def test_the_reference_server_is_found_again_after_it_was_restarted(
    tmp_path: Path, ctx: Context, web: WebServer
) -> None:
    async with toolbox(tmp_path, {"every": web.table}) as box:
        tools = await box.tools()
        assert (await run(tools["mcp_every_echo"], ctx, message="1")).status == "ok"
        await web.kill()
        assert (await run(tools["mcp_every_echo"], ctx, message="2")).status == "error"
        await web.start()

        async def answers() -> bool:
            again = (await box.tools()).get("mcp_every_echo")
            return again is not None and (await run(again, ctx, message="3")).status == "ok"

        await until(answers, seconds=30)
