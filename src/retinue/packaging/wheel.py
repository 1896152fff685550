"""Builds reproducible wheels."""

import base64
import hashlib
import io
import re
import zipfile
from collections.abc import Mapping

from retinue import __version__
from retinue.definitions.installed import GROUP
from retinue.definitions.manifest import Manifest, normalized

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time in a zip archive
_MODE = 0o100644 << 16
_TAG = "py3-none-any"


def wheel_name(manifest: Manifest) -> str:
    return f"{_stem(manifest)}-{_TAG}.whl"


def module_name(manifest: Manifest) -> str:
    """Return the Python module name of an installed package."""
    return f"retinue_package_{_escaped(manifest)}"


def wheel_bytes(manifest: Manifest, files: Mapping[str, bytes]) -> bytes:
    module = module_name(manifest)
    info = f"{_stem(manifest)}.dist-info"
    doc = f'"""Agents for Retinue: {manifest.name} {manifest.version}."""\n'
    members = {
        f"{module}/__init__.py": doc.encode(),
        **{f"{module}/{file}": data for file, data in sorted(files.items())},
        f"{info}/METADATA": _metadata(manifest),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: retinue {__version__}\n"
        f"Root-Is-Purelib: true\nTag: {_TAG}\n".encode(),
        f"{info}/entry_points.txt": f"[{GROUP}]\n{manifest.name} = {module}\n".encode(),
    }
    record = f"{info}/RECORD"
    members[record] = _record(members, record)
    target = io.BytesIO()
    # Not compressed, because the output of compressors differs between releases.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path, data in members.items():
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.external_attr = _MODE
            entry.create_system = 3
            archive.writestr(entry, data)
    return target.getvalue()


def _metadata(manifest: Manifest) -> bytes:
    fields: list[tuple[str, str | None]] = [
        ("Metadata-Version", "2.1"),
        ("Name", manifest.name),
        ("Version", manifest.version),
        ("Summary", manifest.description),
        ("Author", manifest.author),
        ("License", manifest.license),
        ("Requires-Python", ">=3.11"),
        ("Requires-Dist", f"retinue>={__version__}"),
        *(("Requires-Dist", requirement) for requirement in manifest.needs.python),
    ]
    lines = [f"{key}: {' '.join(value.split())}\n" for key, value in fields if value]
    return "".join(lines).encode()


def _record(members: Mapping[str, bytes], record: str) -> bytes:
    lines = [f"{path},sha256={_digest(data)},{len(data)}\n" for path, data in members.items()]
    return "".join([*lines, f"{record},,\n"]).encode()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _stem(manifest: Manifest) -> str:
    return f"{_escaped(manifest)}-{re.sub('-', '_', manifest.version)}"


def _escaped(manifest: Manifest) -> str:
    return normalized(manifest.name).replace("-", "_")
