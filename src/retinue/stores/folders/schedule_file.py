"""`schedules.json`: schedules, their last slots and what watches remember, beside the agents."""

from pathlib import Path

import msgspec

from retinue.errors import StoreDamagedError
from retinue.stores.folders.replacing import replace_file
from retinue.stores.schedule_port import KeptSchedules
from retinue.stores.whole import WholeReader

SCHEDULES = "schedules.json"

_decoder = msgspec.json.Decoder(KeptSchedules)


class ScheduleFile:
    """Follows the store; written whole, and only when it would say something else."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._content: bytes | None = None
        self.is_behind = True

    def follow(self, reader: WholeReader) -> None:
        if not self.is_behind:
            return
        self.is_behind = False  # first: what changes from here on is written the next time
        try:
            kept = reader.schedules()
            if self._content is None:
                self._content = _read(self._data) or encode_schedules(KeptSchedules())
            content = encode_schedules(kept)
            if content != self._content:
                replace_file(str(self._data / SCHEDULES), content)
                self._content = content
        except BaseException:
            self.is_behind = True
            raise


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
    """Read what the mirror kept; nothing when there is no file."""
    content = _read(data)
    return KeptSchedules() if content is None else decode_schedules(content, data / SCHEDULES)


def _read(data: Path) -> bytes | None:
    try:
        return (data / SCHEDULES).read_bytes()
    except FileNotFoundError:
        return None
