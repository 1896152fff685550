"""Values on disk: what opens them, what does not, and what is said then."""

from pathlib import Path

import pytest

from retinue.errors import UsageError
from retinue.settings.encryption import KEY_FILE, KeySeal
from retinue.settings.secrets import Secret, Vault

VALUE = "correct horse battery"


def seal_in(folder: Path, key: str | None = None) -> KeySeal:
    vault = Vault(environment={}, directory=folder)
    return KeySeal(folder / KEY_FILE, None if key is None else Secret(key, vault))


def test_a_value_comes_back_with_the_key_that_the_first_one_made(tmp_path: Path) -> None:
    sealed = seal_in(tmp_path).encrypt(VALUE, place="agent/a", name="TOKEN")
    assert VALUE not in sealed
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert seal_in(tmp_path).decrypt(sealed, place="agent/a", name="TOKEN") == VALUE


def test_no_key_is_made_until_a_value_is_sealed(tmp_path: Path) -> None:
    seal_in(tmp_path)
    assert not (tmp_path / KEY_FILE).exists()


def test_one_value_is_sealed_differently_each_time(tmp_path: Path) -> None:
    seal = seal_in(tmp_path)
    assert seal.encrypt(VALUE, place="a", name="N") != seal.encrypt(VALUE, place="a", name="N")


@pytest.mark.parametrize(("place", "name"), [("agent/b", "TOKEN"), ("agent/a", "OTHER")])
def test_a_sealed_value_opens_only_in_its_place(tmp_path: Path, place: str, name: str) -> None:
    seal = seal_in(tmp_path)
    sealed = seal.encrypt(VALUE, place="agent/a", name="TOKEN")
    with pytest.raises(UsageError, match=name) as raised:
        seal.decrypt(sealed, place=place, name=name)
    assert VALUE not in str(raised.value)


def test_a_missing_key_is_told_with_the_name_and_the_file(tmp_path: Path) -> None:
    sealed = seal_in(tmp_path).encrypt(VALUE, place="a", name="TOKEN")
    (tmp_path / KEY_FILE).unlink()
    with pytest.raises(UsageError, match=r"cannot decrypt TOKEN: the key file .*key is missing"):
        seal_in(tmp_path).decrypt(sealed, place="a", name="TOKEN")
    assert not (tmp_path / KEY_FILE).exists()


def test_a_wrong_key_is_told_apart_from_damage(tmp_path: Path) -> None:
    sealed = seal_in(tmp_path, "one key of many characters " * 2).encrypt(
        VALUE, place="a", name="T"
    )
    other = seal_in(tmp_path, "another key of many characters " * 2)
    with pytest.raises(UsageError, match=r"cannot decrypt T: it was encrypted with key \w{8}"):
        other.decrypt(sealed, place="a", name="T")
    cut = sealed[:-8]
    with pytest.raises(UsageError, match="damaged"):
        seal_in(tmp_path, "one key of many characters " * 2).decrypt(cut, place="a", name="T")


def test_the_operators_key_is_used_and_none_is_written(tmp_path: Path) -> None:
    key = "0123456789abcdef" * 4
    sealed = seal_in(tmp_path, key).encrypt(VALUE, place="a", name="T")
    assert seal_in(tmp_path, key).decrypt(sealed, place="a", name="T") == VALUE
    assert not (tmp_path / KEY_FILE).exists()


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"RETINUE_KEY.*at least 32"):
        seal_in(tmp_path, "short").encrypt(VALUE, place="a", name="T")


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    sealed = seal_in(tmp_path).encrypt(VALUE, place="a", name="T")
    (tmp_path / KEY_FILE).chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        seal_in(tmp_path).decrypt(sealed, place="a", name="T")
