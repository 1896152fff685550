"""Decides which network addresses are on the public internet."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_PRIVATE_V4 = tuple(
    (IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_PUBLIC_V6 = IPv6Network("2000::/3")
_PRIVATE_V6 = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("2001::/32", "Teredo"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "6to4"),
        ("3fff::/20", "documentation"),
    )
)
_KINDS_V6 = tuple(
    (IPv6Network(network), what)
    for network, what in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("ff00::/8", "multicast"),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def not_public(text: str) -> str | None:
    """Return the kind of an address that is not public; None for a public one.

    The tables are our own, because Python's idea of private addresses changed between patch
    releases. For IPv6, one block is public and everything else is not.
    """
    if "%" in text:
        return "link-local"
    try:
        address = ip_address(text)
    except ValueError:
        return "unknown"
    return _not_public_v4(address) if isinstance(address, IPv4Address) else _not_public_v6(address)


def _not_public_v4(address: IPv4Address) -> str | None:
    return next((what for network, what in _PRIVATE_V4 if address in network), None)


def _not_public_v6(address: IPv6Address) -> str | None:
    if address.ipv4_mapped is not None:
        return _not_public_v4(address.ipv4_mapped)
    if address in _NAT64:
        return _not_public_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _PUBLIC_V6:
        return next((what for network, what in _KINDS_V6 if address in network), "reserved")
    return next((what for network, what in _PRIVATE_V6 if address in network), None)
