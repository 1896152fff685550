"""The skills of a project: `skills/<name>/SKILL.md`, read again when they change."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from retinue.definitions.kept_sources import (
    NOTHING_KEPT,
    GoodFile,
    KeptSources,
    Stamp,
    stamp_of,
)
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
    """Reads the folder; a skill that does not load keeps its last good version."""

    def __init__(self, directory: Path, private: Path, *, kept: KeptSources = NOTHING_KEPT) -> None:
        self._kept = kept
        self._directory = directory.absolute()
        self._private = private  # what no skill may show, wherever a link leads
        self._stamps: Mapping[str, Stamp | None] = {}
        self._skills: Mapping[str, Skill] = {}
        self._problems: Sequence[LoadProblem] = ()

    def look(self) -> Mapping[str, Skill]:
        """The skills by name, as the files are now: the same mapping when nothing changed."""
        stamps = dict(self._scan())
        if stamps != self._stamps:
            self._read(stamps)
        return self._skills

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def files(self) -> list[str]:
        """Every SKILL.md there is, as people know it."""
        return [
            self._shown(self._directory / folder)
            for folder, stamp in self._stamps.items()
            if stamp is not None
        ]

    def good_files(self) -> list[GoodFile]:
        """Those whose present version is in use."""
        failing = {problem.file for problem in self._problems}
        found: list[GoodFile] = []
        for name, stamp in self._stamps.items():
            path = find_skill_file(self._directory / name)
            file = self._shown(self._directory / name)
            if path is not None and stamp is not None and file not in failing:
                found.append(GoodFile(file=file, path=path, stamp=stamp))
        return found

    def _scan(self) -> Iterator[tuple[str, Stamp | None]]:
        try:
            with os.scandir(self._directory) as entries:
                folders = sorted(_folders(entries))
        except OSError:
            return  # no folder, or one that is being replaced
        for name in folders:
            if not name.startswith("."):
                yield name, _stamp(self._directory / name)

    def _read(self, stamps: Mapping[str, Stamp | None]) -> None:
        skills: dict[str, Skill] = {}
        problems: list[LoadProblem] = []
        for folder in stamps:
            name = skill_name(folder)
            read = self._read_one(self._directory / folder)
            if isinstance(read, Skill) and name not in skills:
                skills[name] = read
                continue
            known = None if name in skills else self._last_good(name, folder)
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

    def _last_good(self, name: str, folder: str) -> Skill | None:
        """What the skill was before, in this process or in an earlier one."""
        known = self._skills.get(name)
        if known is not None or folder in self._stamps:
            return known
        place = self._directory / folder
        data = self._kept.read(self._shown(place))
        if data is None or self._leads_to_private(place):
            return None
        read = read_skill(data.decode("utf-8", "replace"), folder)
        return self._skill(read, place) if isinstance(read, SkillText) else None

    def _leads_to_private(self, folder: Path) -> bool:
        place, private = folder.resolve(), self._private.resolve()
        return private.is_relative_to(place) or place.is_relative_to(private)

    def _read_one(self, folder: Path) -> Skill | Sequence[SkillComplaint]:
        if self._leads_to_private(folder):
            return [SkillComplaint(message="this folder leads to Retinue's own data")]
        file = find_skill_file(folder)
        if file is None:
            return [SkillComplaint(message=f"there is no {FILE_NAMES[0]} in this folder")]
        if not file.resolve().is_relative_to(folder.resolve()):
            return [SkillComplaint(message="it is a link that leads out of the skill's folder")]
        try:
            if file.stat().st_size > LARGEST_BYTES:
                return [SkillComplaint(message=f"it is larger than {LARGEST_BYTES} bytes")]
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return [SkillComplaint(message=f"cannot be read: {error}")]
        read = read_skill(text, folder.name)
        return self._skill(read, folder) if isinstance(read, SkillText) else read

    def _skill(self, read: SkillText, folder: Path) -> Skill:
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


def _stamp(folder: Path) -> Stamp | None:
    file = find_skill_file(folder)
    if file is None:
        return None
    try:
        return stamp_of(file.stat())
    except OSError:
        return None
