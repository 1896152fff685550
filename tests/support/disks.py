"""A disk that takes no more."""

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def file_size_limit(size: int) -> Generator[None]:
    """Let every write beyond this size fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
