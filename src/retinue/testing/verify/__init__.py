"""`retinue verify`: kill the engine wherever it can die, restart it, and check what it promises."""

from retinue.testing.verify.campaign import list_parts, run

__all__ = ["list_parts", "run"]
