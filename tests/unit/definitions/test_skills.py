"""SKILL.md in the public format, read as its reference implementation reads it, and followed."""

import unicodedata
from pathlib import Path

import pytest
from skills_ref.validator import (  # pyright: ignore[reportMissingTypeStubs]
    validate,
)

from retinue.definitions.project_skills import ProjectSkills
from retinue.definitions.skill_file import SkillText, read_skill

GOOD = {
    "plain": "name: plain\ndescription: Does it.",
    "quoted": "name: \"quoted\"\ndescription: 'With: a colon'",
    "a1-b2": "name: a1-b2\ndescription: Letters and digits.",
    "123": "name: 123\ndescription: 456",
    "größe": "name: größe\ndescription: Letters of any language.",
    "n" * 64: f"name: {'n' * 64}\ndescription: As long as can be.",
    "long": f"name: long\ndescription: {'d' * 1024}",
    "folded": "name: folded\ndescription: >\n  one\n  two",
    "literal": "name: literal\ndescription: |\n  one\n  two",
    "all": "name: all\ndescription: d\nlicense: MIT\ncompatibility: Needs git\n"
    "allowed-tools: Bash Read\nmetadata:\n  author: me\n  version: 1.0",
    "commented": "# a comment\nname: commented  # another\ndescription: d",
    "empty-license": "name: empty-license\ndescription: d\nlicense:",
    "odd-metadata": "name: odd-metadata\ndescription: d\nmetadata: text",
    "c-500": f"name: c-500\ndescription: d\ncompatibility: {'c' * 500}",
    "true": "name: true\ndescription: no",
    "pasted": "name: pasted\ndescription: one\u2028two\x85three",
}
BAD = {
    "no-name": "description: d",
    "no-description": "name: no-description",
    "empty": "name: empty\ndescription:",
    "blank": "name: blank\ndescription: '   '",
    "Big": "name: Big\ndescription: d",
    "other": "name: another\ndescription: d",
    "-begin": "name: -begin\ndescription: d",
    "end-": "name: end-\ndescription: d",
    "two--hyphens": "name: two--hyphens\ndescription: d",
    "under_score": "name: under_score\ndescription: d",
    "with space": "name: with space\ndescription: d",
    "dot.ted": "name: dot.ted\ndescription: d",
    "m" * 65: f"name: {'m' * 65}\ndescription: d",
    "too-long": f"name: too-long\ndescription: {'d' * 1025}",
    "unknown": "name: unknown\ndescription: d\nversion: 1",
    "list-name": "name:\n  - list-name\ndescription: d",
    "map-text": "name: map-text\ndescription:\n  a: b",
    "c-501": f"name: c-501\ndescription: d\ncompatibility: {'c' * 501}",
    "c-list": "name: c-list\ndescription: d\ncompatibility:\n  - a",
    "twice": "name: twice\ndescription: d\ndescription: e",
    "twice-in": "name: twice-in\ndescription: d\nmetadata:\n  a: 1\n  a: 2",
    "flow": "name: flow\ndescription: d\nmetadata: {a: b}",
    "flow-list": "name: flow-list\ndescription: d\nallowed-tools: [a, b]",
    "anchor": "name: &a anchor\ndescription: *a",
    "tag": "name: !!str tag\ndescription: d",
    "broken": "name: broken\n  description: : d",
    "tab": "name: tab\n\tdescription: d",
    "scalar": "just words",
    "sequence": "- name\n- description",
    "nothing": "",
}
WHOLE = {
    "no-front-matter": "# A title\n",
    "not-closed": "---\nname: not-closed\ndescription: d\n",
    "late": "\n---\nname: late\ndescription: d\n---\n",
    "nothing-at-all": "",
}


def write(project: Path, name: str, text: str) -> Path:
    folder = project / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text, "utf-8")
    return folder


def written(front: str) -> str:
    return f"---\n{front}\n---\n\nThe text.\n"


CORPUS = (
    [(name, written(front), True) for name, front in GOOD.items()]
    + [(name, written(front), False) for name, front in BAD.items()]
    + [(name, text, False) for name, text in WHOLE.items()]
)


@pytest.mark.parametrize(("name", "text", "is_good"), CORPUS, ids=[one[0][:20] for one in CORPUS])
def test_good_and_bad_ones_are_told_apart_as_by_the_reference(
    tmp_path: Path, name: str, text: str, is_good: bool
) -> None:
    folder = write(tmp_path, name, text)
    assert (validate(folder) == []) == is_good
    assert isinstance(read_skill(text, name), SkillText) == is_good


def test_everything_wrong_is_told_at_once_by_field_and_line(tmp_path: Path) -> None:
    text = "name: Other_One\ndescription:\nversion: 1"
    write(tmp_path, "mine", written(text))
    skills = ProjectSkills(tmp_path / "skills", tmp_path / ".retinue")
    assert skills.look() == {}
    told = [(one.file, one.field, one.line) for one in skills.problems()]
    file = "skills/mine/SKILL.md"
    assert told == [
        (file, "version", 4),
        (file, "name", 2),
        (file, "name", 2),
        (file, "name", 2),
        (file, "description", 3),
    ]


def test_skills_are_followed_and_keep_their_last_good_version(tmp_path: Path) -> None:
    skills = ProjectSkills(tmp_path / "skills", tmp_path / ".retinue")
    assert skills.look() == {}
    folder = write(tmp_path, "mine", written("name: mine\ndescription: First."))
    assert skills.look()["mine"].description == "First."
    assert skills.look() is skills.look()
    write(tmp_path, "mine", written("name: mine\ndescription: The second one."))
    assert skills.look()["mine"].description == "The second one."
    write(tmp_path, "mine", "no front matter")
    assert skills.look()["mine"].description == "The second one."
    [problem] = skills.problems()
    assert problem.using_last_good
    (folder / "SKILL.md").unlink()
    skills.look()
    assert "there is no SKILL.md" in str(skills.problems()[0])
    folder.rmdir()
    assert skills.look() == {}
    assert skills.problems() == []


@pytest.mark.parametrize("target", ["", ".retinue", ".retinue/agents"])
def test_a_link_to_the_data_directory_is_no_skill(tmp_path: Path, target: str) -> None:
    (tmp_path / ".retinue" / "agents").mkdir(parents=True)
    (tmp_path / target / "SKILL.md").write_text(written("name: evil\ndescription: Shows all."))
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "evil").symlink_to(tmp_path / target)
    skills = ProjectSkills(tmp_path / "skills", tmp_path / ".retinue")
    assert skills.look() == {}
    assert "leads to Retinue's own data" in str(skills.problems()[0])


def skills_in(project: Path) -> ProjectSkills:
    skills = ProjectSkills(project / "skills", project / ".retinue")
    skills.look()
    return skills


def test_one_bad_folder_hides_no_other_skill(tmp_path: Path) -> None:
    write(tmp_path, "mine", written("name: mine\ndescription: d"))
    deep = "- " * 2_000
    write(tmp_path, "deep", written(f"name: deep\ndescription: d\nmetadata:\n  {deep}x"))
    write(tmp_path, "giant", written("name: giant\ndescription: d") + "x" * 1_000_000)
    (tmp_path / "skills" / "circle").symlink_to("circle")
    skills = skills_in(tmp_path)
    assert list(skills.look()) == ["mine"]
    told = {one.file: one.message for one in skills.problems()}
    assert told == {
        "skills/deep/SKILL.md": "not YAML: nested too deeply",
        "skills/giant/SKILL.md": "it is larger than 1000000 bytes",
    }


def test_a_document_that_is_a_link_out_of_its_folder_is_told(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text(written("name: mine\ndescription: d"))
    (tmp_path / "skills" / "mine").mkdir(parents=True)
    (tmp_path / "skills" / "mine" / "SKILL.md").symlink_to(elsewhere)
    skills = skills_in(tmp_path)
    assert skills.look() == {}
    assert "a link that leads out" in str(skills.problems()[0])


def test_a_skill_is_known_by_its_name_however_its_folder_spells_it(tmp_path: Path) -> None:
    spelled = {form: unicodedata.normalize(form, "größe") for form in ("NFC", "NFD")}
    write(tmp_path, spelled["NFD"], written(f"name: {spelled['NFD']}\ndescription: First."))
    assert list(skills_in(tmp_path).look()) == [spelled["NFC"]]
    write(tmp_path, spelled["NFC"], written(f"name: {spelled['NFC']}\ndescription: Second."))
    skills = skills_in(tmp_path)
    assert [one.description for one in skills.look().values()] == ["First."]
    assert "there is a skill 'größe' already" in str(skills.problems()[0])


def test_a_document_in_small_letters_is_offered_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "skills" / "mine").mkdir(parents=True)
    text = written("name: mine\ndescription: d")
    (tmp_path / "skills" / "mine" / "skill.md").write_text(text)
    assert skills_in(tmp_path).look()["mine"].document == "skill.md"
