"""Which names and origins are ours."""

import pytest

from retinue.server.guard import Hosts, host_name


@pytest.mark.parametrize(
    ("authority", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:80", "localhost"),
        ("localhost.", "localhost"),
        ("[::1]:8420", "::1"),
        ("127.0.0.1:8420", "127.0.0.1"),
        ("", None),
        ("localhost:port", None),
        ("localhost:99999", None),
        ("user@localhost", None),
        ("localhost/path", None),
        ("localhost?query", None),
        ("[::1", None),
    ],
)
def test_a_host_header_has_one_name_or_none(authority: str, name: str | None) -> None:
    assert host_name(authority) == name


def test_a_server_for_this_machine_knows_only_loopback_names() -> None:
    hosts = Hosts("127.0.0.1")
    assert hosts.knows("localhost:1") and hosts.knows("[::1]")
    assert not hosts.knows("192.168.1.5:8420")
    assert not hosts.knows("example.org")


def test_a_server_on_all_addresses_knows_addresses_and_configured_names() -> None:
    hosts = Hosts("0.0.0.0", allowed_hosts=["Retinue.Example"])
    assert hosts.knows("192.168.1.5:8420") and hosts.knows("[fe80::1]:8420")
    assert hosts.knows("retinue.example:443")
    assert not hosts.knows("example.org")


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://localhost:8420", True),
        ("https://localhost:8420", True),
        ("http://LOCALHOST:8420", True),
        ("https://front.example", True),
        ("http://localhost", False),
        ("http://localhost:84200", False),
        ("http://localhost:8420.evil.example", False),
        ("http://127.0.0.1:8420", False),
        ("null", False),
        ("", False),
        ("ftp://localhost:8420", False),
    ],
)
def test_an_origin_is_ours_when_it_is_the_host_or_configured(origin: str, is_own: bool) -> None:
    hosts = Hosts("127.0.0.1", allowed_origins=["https://front.example/"])
    assert hosts.is_own_origin(origin, "localhost:8420") is is_own
