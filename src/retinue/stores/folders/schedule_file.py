"""`schedules.json`: the schedules with their recent slots and the state of their watches."""

from pathlib import Path

import msgspec

from retinue.errors import StoreDamagedError
from retinue.stores.folders.kept_file import KeptFile, read_kept_file
from retinue.stores.schedule_port import KeptSchedules

SCHEDULES = "schedules.json"

_decoder = msgspec.json.Decoder(KeptSchedules)


def schedule_file(data: Path) -> KeptFile:
    return KeptFile(
        data / SCHEDULES,
        lambda reader: encode_schedules(reader.schedules()),
        encode_schedules(KeptSchedules()),
    )


def encode_schedules(kept: KeptSchedules) -> bytes:
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def decode_schedules(data: bytes, path: Path) -> KeptSchedules:
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreDamagedError(
            f"{path} cannot be read ({error}): repair it or move it away, "
            "then run `retinue serve --rebuild`"
        ) from error


def read_schedules(data: Path) -> KeptSchedules:
    """Read the mirrored schedules; empty if there is no file."""
    content = read_kept_file(data / SCHEDULES)
    return KeptSchedules() if content is None else decode_schedules(content, data / SCHEDULES)
