"""Values that are kept and never read on disk: sealed with a key that is kept apart from them."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from secrets import token_bytes
from typing import Protocol

from retinue.errors import UsageError
from retinue.settings.secrets import Secret

KEY_FILE = "key"
KEY_VARIABLE = "RETINUE_KEY"
SHORTEST_KEY = 32  # characters

_VERSION = "v1"
_NONCE_BYTES = 12
_OTHERS_MAY_READ = 0o077


class _Cipher(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class KeySeal:
    """Encrypts values for one place each: what was sealed for another place does not open.

    The key is the operator's (`key` in the settings), else a file that the first value makes. A
    sealed text names its key, so that a wrong one is told apart from damage.
    """

    def __init__(self, file: Path, key: Secret | None = None) -> None:
        self._file = file
        self._key = key
        self._cipher: tuple[str, _Cipher] | None = None

    def close(self, value: str, *, place: str, name: str) -> str:
        """Seal a value for its place; the first one of an installation makes the key."""
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{name}: the value holds half a character") from None
        key_id, cipher = self._opened(name, makes_key=True)
        nonce = token_bytes(_NONCE_BYTES)
        sealed = cipher.encrypt(nonce, data, _bound(place, name))
        return f"{_VERSION}.{key_id}.{urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, place: str, name: str) -> str:
        """Give the value back. Raises `UsageError` that names the variable and what is wrong."""
        version, _, rest = sealed.partition(".")
        sealed_by, _, content = rest.partition(".")
        if version != _VERSION:
            raise _unreadable(name, "it was written by a newer version")
        key_id, cipher = self._opened(name, makes_key=False)
        if sealed_by != key_id:
            raise _unreadable(
                name, f"it was sealed with the key {sealed_by}, and {self._source} has {key_id}"
            )
        try:
            data = urlsafe_b64decode(content)
            value = cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], _bound(place, name))
            return value.decode()
        except Exception:  # noqa: BLE001  (whatever the cipher says, it may quote what it was given)
            raise _unreadable(name, "it is damaged, or was sealed for another agent") from None

    @property
    def _source(self) -> str:
        return f"`key` of the settings ({KEY_VARIABLE})" if self._key else str(self._file)

    def _opened(self, name: str, *, makes_key: bool) -> tuple[str, _Cipher]:
        if self._cipher is None:
            key = self._operators() if self._key is not None else self._kept(name, makes_key)
            self._cipher = _cipher(key)
        return self._cipher

    def _operators(self) -> bytes:
        assert self._key is not None
        text = self._key.reveal().strip()
        if len(text) < SHORTEST_KEY:
            raise UsageError(
                f"key ({KEY_VARIABLE}): expected at least {SHORTEST_KEY} random characters, such "
                "as `openssl rand -hex 32` gives"
            )
        return text.encode()

    def _kept(self, name: str, makes_key: bool) -> bytes:
        try:
            if self._file.stat().st_mode & _OTHERS_MAY_READ:
                raise UsageError(f"{self._file} is readable by others; run: chmod 600 {self._file}")
            kept = self._file.read_bytes().strip()
        except FileNotFoundError:
            if makes_key:
                return _made(self._file)
            raise _unreadable(name, f"its key is gone: {self._file} is missing") from None
        except OSError as error:
            raise _unreadable(name, f"{self._file} cannot be read: {error.strerror}") from error
        if len(kept) < SHORTEST_KEY:
            raise _unreadable(name, f"{self._file} does not hold a key")
        return kept


def _bound(place: str, name: str) -> bytes:
    return f"{place}\0{name}".encode()


def _cipher(key: bytes) -> tuple[str, _Cipher]:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415  (slow to import)
        AESGCM,
    )

    key_id = sha256(b"retinue key id\0" + key).hexdigest()[:8]
    return key_id, AESGCM(sha256(b"retinue key\0" + key).digest())


def _made(file: Path) -> bytes:
    """Make the key and see that it is on disk before anything is sealed with it."""
    key = token_bytes(32).hex().encode()
    draft = file.with_name(f".{file.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(key + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return key


def _unreadable(name: str, why: str) -> UsageError:
    return UsageError(
        f"the value of {name} cannot be read: {why}; bring the key back, or set the value again",
        details={"variable": name},
    )
