"""Build hook: puts the built web app into wheels and sdists, so that installing needs no node."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebAppHook(BuildHookInterface[BuilderConfig]):
    """Builds web/ into src/retinue/server/static."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the web app, unless this is an editable install or an unpacked sdist."""
        if version == "editable":
            return
        root = Path(self.root)
        is_built = (root / "src/retinue/server/static/index.html").is_file()
        is_sdist = (root / "PKG-INFO").is_file()
        npm = shutil.which("npm")
        if is_built and (is_sdist or npm is None):
            return
        if npm is None:
            raise RuntimeError("The web app is not built and npm is missing: install node first.")
        for command in (["ci"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=root / "web", check=True)
