"""SKILL.md in the public Agent Skills format: front matter with a name and a description."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FILE_NAMES = ("SKILL.md", "skill.md")
FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_LONGEST_NAME = 64
LONGEST_DESCRIPTION = 1024
_LONGEST_COMPATIBILITY = 500
_FENCE = "---"
_NO_BREAKS = dict.fromkeys(map(ord, "\x85\u2028\u2029"), " ")  # line breaks in YAML 1.1

_yaml: Any = yaml  # its stubs are incomplete


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillComplaint:
    """One problem of a file."""

    message: str
    field: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillText:
    """The fields of a SKILL.md."""

    name: str
    description: str
    license: str = ""
    compatibility: str = ""


@dataclass(slots=True)
class _Field:
    value: Any
    line: int


@dataclass(slots=True)
class _Front:
    fields: dict[str, _Field] = field(default_factory=dict[str, _Field])
    complaints: list[SkillComplaint] = field(default_factory=list[SkillComplaint])


def find_skill_file(folder: Path) -> Path | None:
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def skill_name(text: str) -> str:
    """A name in normalized form, as the same letters can be encoded in several ways."""
    return unicodedata.normalize("NFKC", text.strip())


def read_skill(text: str, folder_name: str) -> SkillText | Sequence[SkillComplaint]:
    """Read the front matter, or return all its problems."""
    front = _front_matter(text)
    found, complaints = front.fields, front.complaints
    if not complaints:
        complaints += [
            SkillComplaint(
                message=f"unknown field {name!r}; known fields: {', '.join(FIELDS)}",
                field=name,
                line=one.line,
            )
            for name, one in found.items()
            if name not in FIELDS
        ]
        complaints += _name_complaints(found.get("name"), folder_name)
        complaints += _description_complaints(found.get("description"))
        complaints += _compatibility_complaints(found.get("compatibility"))
    if complaints:
        return complaints
    texts = {name: one.value for name, one in found.items() if isinstance(one.value, str)}
    return SkillText(
        name=skill_name(texts["name"]),
        description=texts["description"].strip(),
        license=texts.get("license", ""),
        compatibility=texts.get("compatibility", ""),
    )


def _front_matter(text: str) -> _Front:
    lines = text.translate(_NO_BREAKS).split("\n")
    if lines[0].rstrip() != _FENCE:
        return _Front(
            complaints=[SkillComplaint(message="expected front matter: the first line must be ---")]
        )
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        return _Front(complaints=[SkillComplaint(message="the front matter has no closing ---")])
    written = "\n".join(lines[1:end])
    try:
        odd = next(_unusual(written), None)
        if odd is not None:
            return _Front(complaints=[odd])
        return _fields(_yaml.compose(written, Loader=yaml.BaseLoader))
    except RecursionError:
        return _Front(complaints=[SkillComplaint(message="not YAML: nested too deeply")])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = str(getattr(error, "problem", None) or error)
        line = mark.line + 2 if mark is not None else None
        return _Front(complaints=[SkillComplaint(message=f"not YAML: {reason}", line=line)])


def _unusual(written: str) -> Iterator[SkillComplaint]:
    """YAML features that the format does not allow: other readers would refuse the file."""
    for event in _yaml.parse(written, Loader=yaml.BaseLoader):
        kinds = {
            "an anchor or an alias": getattr(event, "anchor", None) is not None,
            "a tag": getattr(event, "tag", None) is not None,
            "brackets or braces": getattr(event, "flow_style", None) is True,
        }
        for kind, is_there in kinds.items():
            if is_there:
                line = event.start_mark.line + 2
                yield SkillComplaint(message=f"{kind} is not allowed in front matter", line=line)


def _fields(node: Any) -> _Front:
    if not isinstance(node, yaml.MappingNode):
        return _Front(
            complaints=[SkillComplaint(message="expected fields in the front matter", line=2)]
        )
    front = _Front()
    for key, value in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            front.complaints.append(
                SkillComplaint(message="expected the name of a field", line=line)
            )
        elif key.value in front.fields:
            message = f"{key.value!r} is set twice"
            front.complaints.append(SkillComplaint(message=message, field=key.value, line=line))
        else:
            front.complaints += _repeated(value)
            is_text = isinstance(value, yaml.ScalarNode)
            front.fields[key.value] = _Field(value.value if is_text else value, line)
    return front


def _repeated(node: Any) -> Iterator[SkillComplaint]:
    if isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _repeated(one)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                line = key.start_mark.line + 2
                yield SkillComplaint(message=f"{key.value!r} is set twice", line=line)
            seen.add(str(key.value))
            yield from _repeated(value)


def _name_complaints(found: _Field | None, folder_name: str) -> Iterator[SkillComplaint]:
    text = _text(found)
    line = found.line if found is not None else None
    if text is None:
        yield SkillComplaint(message="expected a non-empty name", field="name", line=line)
        return
    name, expected = skill_name(text), skill_name(folder_name)
    wrong = {
        f"{len(name)} characters; at most {_LONGEST_NAME}": len(name) > _LONGEST_NAME,
        "expected lowercase letters": name != name.lower(),
        "it begins or ends with a hyphen": name.strip("-") != name,
        "it contains two hyphens in a row": "--" in name,
        "expected only letters, digits and hyphens": not name.replace("-", "").isalnum(),
        f"expected the name of its folder, {folder_name!r}": name != expected,
    }
    for message, is_wrong in wrong.items():
        if is_wrong:
            yield SkillComplaint(message=f"{name!r}: {message}", field="name", line=line)


def _description_complaints(found: _Field | None) -> Iterator[SkillComplaint]:
    text = _text(found)
    line = found.line if found is not None else None
    if text is None:
        message = "expected a non-empty description"
        yield SkillComplaint(message=message, field="description", line=line)
    elif len(text) > LONGEST_DESCRIPTION:
        message = f"{len(text)} characters; at most {LONGEST_DESCRIPTION}"
        yield SkillComplaint(message=message, field="description", line=line)


def _compatibility_complaints(found: _Field | None) -> Iterator[SkillComplaint]:
    if found is None:
        return
    if not isinstance(found.value, str):
        yield SkillComplaint(message="expected a text", field="compatibility", line=found.line)
    elif len(found.value) > _LONGEST_COMPATIBILITY:
        message = f"{len(found.value)} characters; at most {_LONGEST_COMPATIBILITY}"
        yield SkillComplaint(message=message, field="compatibility", line=found.line)


def _text(found: _Field | None) -> str | None:
    """The text of the field, or None if it is empty."""
    is_text = found is not None and isinstance(found.value, str) and found.value.strip()
    return str(found.value) if found is not None and is_text else None
