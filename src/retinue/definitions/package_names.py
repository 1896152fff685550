"""Qualified names: `reviewer` in a package is `package/reviewer` outside of it."""

SEPARATOR = "/"


def qualified(package: str, name: str) -> str:
    return f"{package}{SEPARATOR}{name}"


def local(key: str) -> str:
    """The name within its own package."""
    return key.rpartition(SEPARATOR)[2]


def is_private(key: str) -> bool:
    """Whether only its own package may refer to it."""
    return SEPARATOR in key
