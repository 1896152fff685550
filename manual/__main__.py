"""`python -m manual FOLDER`: builds the site into a folder."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from manual.site import gather


def build(folder: Path) -> Path:
    """Build the site and return its first page; any warning of zensical is an error."""
    configuration = asyncio.run(gather(folder))
    zensical = Path(sys.executable).with_name("zensical")
    command = [zensical, "build", "--clean", "--strict", "-f", configuration]
    env = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, env=env, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the site cannot be built:\n{done.stdout}{done.stderr}")
    return folder / "site" / "index.html"


if __name__ == "__main__":
    print(f"Open {build(Path(sys.argv[1]).absolute())}")
