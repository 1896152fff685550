"""Skills over HTTP: those of plugins, those of the project, and what does not load."""

import asyncio
import json
from pathlib import Path

from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import opened

SKILL = "---\nname: {name}\ndescription: How it is done.\n---\nDo it.\n"


async def test_skills_are_listed_and_followed_with_what_does_not_load(tmp_path: Path) -> None:
    for name in ("letters", "shelf"):
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(SKILL.format(name=name))
    async with opened(tmp_path) as door:
        found = (await door.client.get("/api/skills")).json()
        listed = [(one["name"], one["kind"], one["file"]) for one in found["skills"]]
        assert ("shelf", "plugin", "") in listed
        assert listed[-1] == ("letters", "project", "skills/letters/SKILL.md")
        [problem] = found["problems"]
        assert problem["file"] == "skills/shelf/SKILL.md"
        assert "there is a plugin 'shelf'" in problem["message"]

        (tmp_path / "skills" / "letters" / "SKILL.md").write_text(SKILL.format(name="other one"))
        found = (await door.client.get("/api/skills")).json()
        assert [one["name"] for one in found["skills"]][-1] == "letters"
        problem = found["problems"][0]
        assert (problem["field"], problem["line"]) == ("name", 2)
        assert problem["usingLastGood"]
        told = (await door.client.get("/api/definitions")).json()["problems"]
        assert problem in told


async def test_a_new_skill_is_announced_to_whoever_watches(tmp_path: Path) -> None:
    async with opened(tmp_path) as door, door.socket() as socket:
        await socket.send(json.dumps({"type": "subscribe", "after": None, "agent": None}))
        assert json.loads(await socket.recv())["type"] == "hello"
        (tmp_path / "skills" / "letters").mkdir(parents=True)
        (tmp_path / "skills" / "letters" / "SKILL.md").write_text(SKILL.format(name="letters"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while json.loads(await socket.recv())["type"] != "definitions":
                pass
