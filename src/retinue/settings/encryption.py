"""Encryption of stored values, with a key that is kept outside the store."""

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
    """Encrypts values; a value can be decrypted only with the place and name it was encrypted for.

    The key is `key` in the settings, or else a file that is created with the first value. Encrypted
    text contains an id of its key, so that a wrong key can be distinguished from damage.
    """

    def __init__(self, file: Path, key: Secret | None = None) -> None:
        self._file = file
        self._key = key
        self._cipher: tuple[str, _Cipher] | None = None

    def encrypt(self, value: str, *, place: str, name: str) -> str:
        """Encrypt a value for its place. Creates the key file if there is no key."""
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{name}: the value contains an invalid character") from None
        key_id, cipher = self._load_cipher(name, creates_key=True)
        nonce = token_bytes(_NONCE_BYTES)
        encrypted = cipher.encrypt(nonce, data, _associated_data(place, name))
        return f"{_VERSION}.{key_id}.{urlsafe_b64encode(nonce + encrypted).decode()}"

    def decrypt(self, encrypted: str, *, place: str, name: str) -> str:
        """Decrypt a value. Raises `UsageError` with the name of the variable and the reason."""
        version, _, rest = encrypted.partition(".")
        used_key, _, content = rest.partition(".")
        if version != _VERSION:
            raise _unreadable(name, "it was written by a newer version")
        key_id, cipher = self._load_cipher(name, creates_key=False)
        if used_key != key_id:
            raise _unreadable(
                name, f"it was encrypted with key {used_key}, but {self._source} has {key_id}"
            )
        try:
            data = urlsafe_b64decode(content)
            bound_to = _associated_data(place, name)
            return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], bound_to).decode()
        except Exception:  # noqa: BLE001  (the cipher's message may quote its input)
            raise _unreadable(name, "it is damaged, or was encrypted for another agent") from None

    @property
    def _source(self) -> str:
        return f"`key` in the settings ({KEY_VARIABLE})" if self._key else str(self._file)

    def _load_cipher(self, name: str, *, creates_key: bool) -> tuple[str, _Cipher]:
        if self._cipher is None:
            own = self._key
            key = self._from_file(name, creates_key) if own is None else _from_setting(own)
            self._cipher = _cipher(key)
        return self._cipher

    def _from_file(self, name: str, creates_key: bool) -> bytes:
        try:
            if self._file.stat().st_mode & _OTHERS_MAY_READ:
                raise UsageError(
                    f"{self._file} is readable by other users; run: chmod 600 {self._file}"
                )
            key = self._file.read_bytes().strip()
        except FileNotFoundError:
            if creates_key:
                return _create_key(self._file)
            raise _unreadable(name, f"the key file {self._file} is missing") from None
        except OSError as error:
            raise _unreadable(name, f"cannot read {self._file}: {error.strerror}") from error
        if len(key) < SHORTEST_KEY:
            raise _unreadable(name, f"{self._file} does not contain a valid key")
        return key


def _from_setting(key: Secret) -> bytes:
    text = key.reveal().strip()
    if len(text) < SHORTEST_KEY:
        raise UsageError(
            f"key ({KEY_VARIABLE}): expected at least {SHORTEST_KEY} random characters; "
            "generate a key with `openssl rand -hex 32`"
        )
    return text.encode()


def _associated_data(place: str, name: str) -> bytes:
    return f"{place}\0{name}".encode()


def _cipher(key: bytes) -> tuple[str, _Cipher]:
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415  (slow to import)
        AESGCM,
    )

    key_id = sha256(b"retinue key id\0" + key).hexdigest()[:8]
    return key_id, AESGCM(sha256(b"retinue key\0" + key).digest())


def _create_key(file: Path) -> bytes:
    """Create the key file and sync it to disk before the key is used."""
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
        f"cannot decrypt {name}: {why}; restore the key, or set the value again",
        details={"variable": name},
    )
