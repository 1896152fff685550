# ruff: noqa: PTH116  (what the machine shows, asked directly)
import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from retinue.settings.tables import ShellSettings
from retinue.testing.kit import PATIENCE_SECONDS
from retinue.tools.builtin.shell import shell_tool
from retinue.tools.execution import Finished
from retinue.tools.sandbox import Sandbox, SandboxLimits
from tests.unit.tools.support import Context, run
from tests.waiting import eventually


def missing_sandbox() -> str | None:
    return asyncio.run(Sandbox().problem())


needs_sandbox = pytest.mark.skipif(
    (reason := missing_sandbox()) is not None, reason=f"no sandbox on this machine: {reason}"
)


async def sh(ctx: Context, command: str, *, seconds: float = 20) -> Finished:
    made = shell_tool(ShellSettings(time_limit_seconds=seconds), Path("/nowhere"))
    return await run(made, ctx, command=command)


def test_it_promises_nothing_and_needs_its_capability() -> None:
    made = shell_tool(ShellSettings(), Path("/nowhere")).as_tool(source="builtin")
    assert (made.effect, made.capabilities) == ("once", ("shell.run",))


@pytest.mark.parametrize("program", ["bwrap", "prlimit"])
async def test_without_a_sandbox_nothing_runs(
    ctx: Context, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    def which(name: str) -> str | None:
        return None if name == program else f"/usr/bin/{name}"

    monkeypatch.setattr(shutil, "which", which)
    done = await sh(ctx, "touch ran")
    assert done.status == "refused"
    assert f"{program} is not installed" in done.output.text
    assert not (ctx.files.root / "ran").exists()


async def test_a_sandbox_that_cannot_be_made_is_refused(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def which(_: str) -> str:
        return "/bin/false"

    monkeypatch.setattr(shutil, "which", which)
    done = await sh(ctx, "touch ran")
    assert done.status == "refused"
    assert "user namespaces are disabled: exit code 1" in done.output.text
    assert not (ctx.files.root / "ran").exists()


def test_what_a_killed_server_left_of_its_sandboxes_goes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def which(_: str) -> str:
        return "/bin/false"

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shutil, "which", which)
    for name in ("retinue-sandbox-old", "retinue-sandbox-new", "other"):
        (tmp_path / name / "0").mkdir(parents=True)
        (tmp_path / name / "1").touch()
    for name in ("retinue-sandbox-old", "other"):
        os.utime(tmp_path / name, (0, 0))
    assert missing_sandbox() is not None
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other", "retinue-sandbox-new"]


@pytest.mark.sandbox
@needs_sandbox
class TestInTheSandbox:
    async def test_a_command_works_in_the_agents_files(self, ctx: Context) -> None:
        await ctx.files.write("/notes/a.txt", b"hello\n")
        done = await sh(ctx, "pwd; cat notes/a.txt; echo made > b.txt; echo err >&2")
        assert (done.status, done.output.text) == ("ok", "/work\nhello\nerr")
        assert await ctx.files.read("/b.txt") == b"made\n"

    async def test_a_failing_command_is_an_error_with_its_exit_code(self, ctx: Context) -> None:
        done = await sh(ctx, "echo before; exit 3")
        assert (done.status, done.output.text) == ("error", "before\n[exit code 3]")

    async def test_the_environment_holds_no_secret(
        self, ctx: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "canary-4711")
        done = await sh(ctx, "env; cat /proc/*/environ | tr '\\0' '\\n'; set")
        assert "canary-4711" not in done.output.text

    async def test_nothing_of_the_host_can_be_read(self, ctx: Context, tmp_path: Path) -> None:
        secret = tmp_path / "secret"
        secret.write_text("canary-4711")
        paths = f"/root /home /etc/passwd /etc/shadow /var /sys /run {secret} {Path.cwd()}"
        done = await sh(ctx, f"for p in {paths}; do test -e $p && echo FOUND $p; done; echo end")
        assert done.output.text == "end"
        linked = await sh(ctx, f"ln -s {secret} link; cat link; cat /proc/1/root/{secret}")
        assert "canary-4711" not in linked.output.text

    async def test_nothing_outside_the_files_can_be_written(self, ctx: Context) -> None:
        places = "/ /usr /usr/bin /etc /dev /proc /proc/sys/kernel /lib /bin"
        done = await sh(ctx, f"for p in {places}; do touch $p/x 2>&1 && echo WROTE $p; done")
        assert "WROTE" not in done.output.text

    async def test_no_setting_of_the_kernel_can_be_changed(self, ctx: Context) -> None:
        # `test -w`, not a write: where this fails, the machine would keep what was written.
        done = await sh(
            ctx,
            "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger "
            "/proc/sys/vm/overcommit_memory; do test -w $f && echo WRITABLE $f; done; "
            "find /proc/sys -writable 2>/dev/null | head -3; echo end",
        )
        assert done.output.text == "end"

    async def test_the_modes_of_the_hosts_devices_stay(self, ctx: Context) -> None:
        before = os.stat("/dev/null")
        done = await sh(ctx, "chmod 666 /dev/null && echo CHANGED; touch -m /dev/null; echo end")
        assert "CHANGED" not in done.output.text
        assert os.stat("/dev/null").st_mode == before.st_mode

    async def test_devices_and_substitutions_work(self, ctx: Context) -> None:
        done = await sh(
            ctx,
            "echo x > /dev/null; head -c 3 /dev/urandom | wc -c; cat <(echo sub); "
            "echo out > /dev/stdout; echo err > /dev/stderr",
        )
        assert done.output.text == "3\nsub\nout\nerr"

    async def test_there_is_no_network(self, ctx: Context) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            probe = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo CONNECTED"
            done = await sh(
                ctx, f"{probe}; ls /sys/class/net 2>/dev/null; cat /proc/net/dev | wc -l"
            )
            assert "CONNECTED" not in done.output.text
            ctx.grants = ("@network",)
            assert "CONNECTED" in (await sh(ctx, probe)).output.text

    async def test_no_process_of_the_host_can_be_seen_or_killed(self, ctx: Context) -> None:
        victim = await asyncio.create_subprocess_exec("sleep", "60")
        try:
            done = await sh(
                ctx,
                f"kill -9 {victim.pid} 2>&1; kill -9 {os.getpid()} 2>&1; kill -9 -1; "
                "ls -d /proc/[0-9]* | wc -l",
            )
            assert victim.returncode is None
            assert int(done.output.text.split("\n")[-1].strip() or 0) < 10
        finally:
            victim.kill()
            await victim.wait()

    async def test_no_namespace_mount_or_capability_can_be_had(self, ctx: Context) -> None:
        done = await sh(
            ctx,
            "unshare -U true && echo USERNS; mount -t tmpfs x /tmp && echo MOUNTED; "
            "mount -o remount,rw /proc && echo REMOUNTED; umount /usr && echo UNMOUNTED; "
            "mknod d b 8 0 && echo MADE; chroot / true && echo CHROOT; "
            "grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; id -u",
        )
        shown = done.output.text
        assert not [word for word in shown.split() if word.isupper() and word.isalpha()]
        assert "CapEff:\t0000000000000000" in shown
        assert "NoNewPrivs:\t1" in shown
        assert "\n65534" in shown

    async def test_a_fork_bomb_is_bounded_and_gone(self, ctx: Context) -> None:
        # It ends by itself at 2,047 processes, so that a broken limit does not cost the machine.
        bomb = (
            "bomb() { [ $1 -gt 0 ] && { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 60; }; bomb 10"
        )
        most = 0
        task = asyncio.create_task(sh(ctx, f"{bomb} 2>/dev/null", seconds=4))
        while not task.done():
            await asyncio.wait({task}, timeout=0.1)
            most = max(most, len(running("bomb()")))
        assert "longer than 4 seconds" in (await task).output.text
        assert 50 < most < 500
        assert not await_ended("bomb()")

    async def test_memory_files_and_temporary_files_are_bounded(self, ctx: Context) -> None:
        limits = SandboxLimits(
            seconds=20, memory_bytes=300_000_000, file_bytes=1_000_000, temporary_bytes=500_000
        )
        sandbox = Sandbox(limits)

        async def attempt(command: str) -> str:
            return (await sandbox.run(command, ctx.files.root, has_network=False)).output

        assert "MemoryError" in await attempt("/usr/bin/python3 -c 'bytearray(10**9)' 2>&1")
        assert (await attempt("head -c 2000000 /dev/zero > big; stat -c %s big")).endswith(
            "\n1000000\n"
        )
        for place in ("/tmp", "/dev/shm"):
            shown = await attempt(
                f"head -c 2000000 /dev/zero > {place}/big; stat -c %s {place}/big"
            )
            assert "No space left" in shown

    async def test_much_output_is_bounded_and_says_what_is_missing(self, ctx: Context) -> None:
        sandbox = Sandbox(SandboxLimits(seconds=20, output_bytes=1000))
        ran = await sandbox.run(
            "echo HEAD; yes | head -c 50000000; echo TAIL", ctx.files.root, has_network=False
        )
        assert ran.output.startswith("HEAD\ny\n")
        assert ran.output.endswith("y\nTAIL\n")
        assert ran.left_out == 50_000_010 - 1000
        assert f"[{ran.left_out} bytes of output omitted]" in ran.output

    async def test_binary_output_is_made_text(self, ctx: Context) -> None:
        done = await sh(ctx, "printf 'a\\377\\000b'")
        assert done.output.text == "a�b"

    async def test_a_command_is_killed_at_its_time_limit_with_all_it_started(
        self, ctx: Context
    ) -> None:
        began = time.monotonic()
        done = await sh(
            ctx, "echo begun; (trap '' TERM INT HUP; sleep 4711) & sleep 4711", seconds=3
        )
        assert time.monotonic() - began < 30
        assert done.status == "error"
        assert done.output.text == "begun\n[stopped: it took longer than 3 seconds]"
        assert not await_ended("sleep 4711")

    async def test_what_is_left_running_ends_with_the_command(self, ctx: Context) -> None:
        done = await sh(ctx, "setsid nohup sleep 4712 >/dev/null 2>&1 & echo started")
        assert done.output.text == "started"
        assert not await_ended("sleep 4712")

    async def test_a_cancelled_command_is_killed(self, ctx: Context) -> None:
        task = asyncio.create_task(sh(ctx, "touch begun; sleep 4713"))
        await eventually((ctx.files.root / "begun").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not await_ended("sleep 4713")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    async def test_it_holds_for_a_server_without_privileges(self, tmp_path: Path) -> None:
        # By the system's Python: nobody may not enter where root keeps another.
        python = "/usr/bin/python3"
        if not os.access(python, os.X_OK):
            pytest.skip("there is no /usr/bin/python3 that every user may run")
        source = Path(sys.modules["retinue"].__file__ or "").parent
        place = Path("/tmp") / f"retinue-nobody-{os.getpid()}"
        (place / "code" / "retinue" / "tools").mkdir(parents=True)
        try:
            for name in ("__init__.py", "errors.py", "tools/__init__.py", "tools/sandbox.py"):
                shutil.copy(source / name, place / "code" / "retinue" / name)
            (place / "work").mkdir()
            os.chown(place / "work", 65534, 65534)
            code = (
                "import asyncio, pathlib, sys\n"
                "from retinue.tools.sandbox import Sandbox, SandboxLimits\n"
                "run = Sandbox(SandboxLimits(seconds=5, processes=50)).run\n"
                "command = 'touch made; test -w /proc/sys/kernel/core_pattern && echo BAD; '\n"
                "command += 'for i in $(seq 200); do sleep 2 & done; echo counted'\n"
                "ran = asyncio.run(run(command, pathlib.Path(sys.argv[1]), has_network=False))\n"
                "print(ran)\n"
            )
            done = await asyncio.to_thread(
                subprocess.run,
                [python, "-c", code, str(place / "work")],
                user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(place / "code")},
            )  # fmt: skip
            assert "Resource temporarily unavailable" in done.stdout, done.stderr
            assert "BAD" not in done.stdout
            assert (place / "work" / "made").exists()
        finally:
            shutil.rmtree(place)


def await_ended(command: str) -> list[str]:
    """Give the processes with this in their command line that do not go away."""
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := running(command)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def running(command: str) -> list[str]:
    """Give the processes with this in their command line."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if command in line:
            found.append(line)
    return found
