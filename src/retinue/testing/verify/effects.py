"""The external effects of a trial: runs of tools and sent replies."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

EFFECTS = "effects.log"
SENT = "sent.log"


class Effect(Struct, frozen=True, kw_only=True):
    """One run of a tool or a hook, or one sent reply."""

    name: str  # the tool, the hook, or the channel
    key: str  # the idempotency key
    text: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Effect)


class EffectLog:
    """A log file whose lines survive a crash of the writer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, effect: Effect) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, _encoder.encode(effect) + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read(self) -> list[Effect]:
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        return [_decoder.decode(line) for line in lines]


def note(name: str, key: str, text: str) -> None:
    """Log an effect; the engine's working directory is the folder of the trial."""
    EffectLog(Path(EFFECTS)).add(Effect(name=name, key=key, text=text))
