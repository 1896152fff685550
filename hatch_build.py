"""Build hook: adds the built web app to wheels and sdists, and the examples to wheels."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ContentsHook(BuildHookInterface[BuilderConfig]):
    """Builds web/ into src/retinue/server/static and adds the examples."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that an editable install finds in the checkout."""
        if version == "editable":
            return
        root = Path(self.root)
        if self.target_name == "wheel":
            build_data["force_include"].update(_examples(root))
        self._build_web_app(root)

    def _build_web_app(self, root: Path) -> None:
        """Build the app, so that installing needs no Node.js; an sdist already contains it."""
        is_built = (root / "src/retinue/server/static/index.html").is_file()
        is_sdist = (root / "PKG-INFO").is_file()
        npm = shutil.which("npm")
        if is_built and (is_sdist or npm is None):
            return
        if npm is None:
            raise RuntimeError(
                "The web app is not built and npm is missing. Install Node.js first."
            )
        for command in (["ci"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=root / "web", check=True)


def _examples(root: Path) -> dict[str, str]:
    """The target path of each example file; run-time data is left out."""
    files = (path.relative_to(root) for path in (root / "examples").rglob("*") if path.is_file())
    return {
        str(root / file): f"retinue/{file.as_posix()}"
        for file in files
        if not any(part.startswith(".") or part == "__pycache__" for part in file.parts)
    }
