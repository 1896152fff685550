"""`retinue verify`: kill the engine wherever it can die, restart it, and check what it promises."""

from retinue.testing.verify.running import run

__all__ = ["run"]
