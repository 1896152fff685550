import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Take back what a command that ran in this process did to the log."""
    loggers = [logging.getLogger(), logging.getLogger("retinue")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
