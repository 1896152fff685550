"""The checked-in OpenAPI document matches the server."""

import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parents[2] / "web"


def test_the_checked_in_description_is_what_the_server_says() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "retinue.server.openapi"], capture_output=True, check=True, text=True
    ).stdout
    assert (WEB / "openapi.json").read_text() == said, (
        "run `python -m retinue.server.openapi > web/openapi.json && npm --prefix web run types`"
    )
