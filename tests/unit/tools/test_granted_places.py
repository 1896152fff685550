"""Places that were granted, as a command in the sandbox sees them."""

from pathlib import Path

import pytest

from retinue.settings.tables import ShellSettings
from retinue.tools.builtin.shell import shell_tool
from retinue.tools.execution import Finished
from retinue.tools.grants import granted
from tests.unit.tools.support import Context, run
from tests.unit.tools.test_builtin_shell import needs_sandbox


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of the machine that anybody may use, with a secret of ours in it."""
    place = tmp_path / "place"
    for folder in (place, place / "sub", place / "own"):
        folder.mkdir()
        folder.chmod(0o777)
    (place / "note.txt").write_text("hello")
    (place / "own" / "token").write_text("secret")
    return place


async def sh(ctx: Context, command: str, grants: list[str], place: Path) -> Finished:
    ctx.grants = grants
    return await run(shell_tool(ShellSettings(), place / "own"), ctx, command=command)


@needs_sandbox
async def test_a_place_is_seen_only_when_it_was_granted(ctx: Context, place: Path) -> None:
    read = f"cat {place}/note.txt"
    assert "hello" not in (await sh(ctx, read, [], place)).output.text
    assert "hello" in (await sh(ctx, read, [f"@read:{place}"], place)).output.text


@needs_sandbox
async def test_reading_is_not_writing_and_writing_is_reading(ctx: Context, place: Path) -> None:
    write = f"echo new > {place}/made.txt && cat {place}/note.txt"
    assert (await sh(ctx, write, [f"@read:{place}"], place)).status == "error"
    assert not (place / "made.txt").exists()
    done = await sh(ctx, write, [f"@write:{place}"], place)
    assert "hello" in done.output.text
    assert (place / "made.txt").read_text() == "new\n"


@needs_sandbox
async def test_our_own_data_stays_hidden_in_a_granted_place(ctx: Context, place: Path) -> None:
    done = await sh(ctx, f"ls -A {place}/own | wc -l", [f"@write:{place}"], place)
    assert done.output.text.strip() == "0"
    assert (place / "own" / "token").read_text() == "secret"


@needs_sandbox
async def test_one_file_can_be_granted(ctx: Context, place: Path) -> None:
    grants = [f"@read:{place}/note.txt"]
    assert "hello" in (await sh(ctx, f"cat {place}/note.txt", grants, place)).output.text
    assert "sub" not in (await sh(ctx, f"ls {place}", grants, place)).output.text


@needs_sandbox
async def test_a_place_that_became_a_link_is_not_followed(ctx: Context, place: Path) -> None:
    grants = [f"@read:{place}/sub"]
    (place / "sub").rmdir()
    (place / "sub").symlink_to("/etc")
    done = await sh(ctx, f"ls {place}/sub", grants, place)
    assert "passwd" not in done.output.text
    assert f"not found: {place}/sub" in done.output.text


def test_a_place_within_another_is_not_bound_by_itself(place: Path) -> None:
    found = granted([f"@read:{place}/sub", f"@write:{place}"], Path("/nowhere"))
    assert [str(bind.source) for bind in found.binds] == [str(place)]


def test_no_grant_shows_our_own_data(place: Path) -> None:
    assert granted([f"@write:{place}/own"], place / "own").binds == []
