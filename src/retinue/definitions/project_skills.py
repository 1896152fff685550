"""The skills of a project: `skills/<name>/SKILL.md`, read again when they change."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from retinue.definitions.skill_file import (
    FILE_NAMES,
    SkillComplaint,
    SkillText,
    find_skill_file,
    read_skill,
    skill_name,
)
from retinue.problems import LoadProblem

LARGEST_BYTES = 1_000_000
"""Of a file that is read, SKILL.md or another."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """A folder of instructions that agents read when they need them."""

    name: str
    description: str
    folder: Path
    file: str  # its SKILL.md, as it is named from the project's folder
    license: str = ""
    compatibility: str = ""

    @property
    def document(self) -> str:
        """What its SKILL.md is called."""
        return self.file.rpartition("/")[2]


class ProjectSkills:
    """Follows the folder; a skill that does not load keeps its last good version."""

    def __init__(self, directory: Path, private: Path) -> None:
        self._directory = directory.absolute()
        self._private = private  # what no skill may show, wherever a link leads
        self._stamps: Mapping[str, _Stamp | None] = {}
        self._skills: Mapping[str, Skill] = {}
        self._problems: Sequence[LoadProblem] = ()
        self.revision = 0

    def look(self) -> Mapping[str, Skill]:
        """The skills by name, as the files are now."""
        stamps = dict(self._scan())
        if stamps != self._stamps:
            self._read(stamps)
            self.revision += 1
        return self._skills

    @property
    def known(self) -> Mapping[str, Skill]:
        """Those of the last look."""
        return self._skills

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def _scan(self) -> Iterator[tuple[str, _Stamp | None]]:
        try:
            with os.scandir(self._directory) as entries:
                folders = sorted(_folders(entries))
        except OSError:
            return  # no folder, or one that is being replaced
        for name in folders:
            if not name.startswith("."):
                yield name, _stamp(self._directory / name)

    def _read(self, stamps: Mapping[str, _Stamp | None]) -> None:
        skills: dict[str, Skill] = {}
        problems: list[LoadProblem] = []
        for folder in stamps:
            name = skill_name(folder)
            read = self._read_one(self._directory / folder)
            if isinstance(read, Skill) and name not in skills:
                skills[name] = read
                continue
            known = None if name in skills else self._skills.get(name)
            if known is not None:
                skills[name] = known
            if isinstance(read, Skill):
                read = [SkillComplaint(field="name", message=f"there is a skill {name!r} already")]
            for one in read:
                problems.append(
                    LoadProblem(
                        file=self._shown(self._directory / folder),
                        field=one.field,
                        line=one.line,
                        message=one.message,
                        using_last_good=known is not None,
                    )
                )
        self._skills, self._problems, self._stamps = skills, problems, stamps

    def _read_one(self, folder: Path) -> Skill | Sequence[SkillComplaint]:
        place, private = folder.resolve(), self._private.resolve()
        if private.is_relative_to(place) or place.is_relative_to(private):
            return [SkillComplaint(message="this folder leads to Retinue's own data")]
        file = find_skill_file(folder)
        if file is None:
            return [SkillComplaint(message=f"there is no {FILE_NAMES[0]} in this folder")]
        if not file.resolve().is_relative_to(place):
            return [SkillComplaint(message="it is a link that leads out of the skill's folder")]
        try:
            if file.stat().st_size > LARGEST_BYTES:
                return [SkillComplaint(message=f"it is larger than {LARGEST_BYTES} bytes")]
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return [SkillComplaint(message=f"cannot be read: {error}")]
        read = read_skill(text, folder.name)
        if not isinstance(read, SkillText):
            return read
        return Skill(
            name=read.name,
            description=read.description,
            folder=folder,
            file=self._shown(folder),
            license=read.license,
            compatibility=read.compatibility,
        )

    def _shown(self, folder: Path) -> str:
        file = find_skill_file(folder)
        name = FILE_NAMES[0] if file is None else file.name
        return f"{self._directory.name}/{folder.name}/{name}"


def _folders(entries: Iterator["os.DirEntry[str]"]) -> Iterator[str]:
    for one in entries:
        with suppress(OSError):  # a link that leads in circles must not hide the others
            if one.is_dir():
                yield one.name


def _stamp(folder: Path) -> _Stamp | None:
    file = find_skill_file(folder)
    if file is None:
        return None
    try:
        stat = file.stat()
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
