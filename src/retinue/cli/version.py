"""`retinue version`."""

import platform

from retinue import __version__
from retinue.cli.output import print_json, say
from retinue.cli.shared_options import Common


def version(common: Common) -> None:
    """Print the version."""
    if common.is_json:
        print_json({"version": __version__, "python": platform.python_version()})
    else:
        say(f"retinue {__version__}")
