"""`retinue verify`: kills the engine at every failpoint, restarts it, and checks its guarantees."""

from retinue.testing.verify.campaign import list_parts, run

__all__ = ["list_parts", "run"]
