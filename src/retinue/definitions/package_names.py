"""Names across packages: what a package calls `reviewer` is `package/reviewer` to all others."""

SEPARATOR = "/"


def qualified(package: str, name: str) -> str:
    return f"{package}{SEPARATOR}{name}"


def local(key: str) -> str:
    """The name by which its own package calls it."""
    return key.rpartition(SEPARATOR)[2]


def is_private(key: str) -> bool:
    """Whether only its own package may call it."""
    return SEPARATOR in key
