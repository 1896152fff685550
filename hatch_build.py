"""Build hook: puts the built web app into wheels and sdists, and the examples into wheels."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ContentsHook(BuildHookInterface[BuilderConfig]):
    """Builds web/ into src/retinue/server/static, and takes the examples along."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what an editable install finds in the checkout."""
        if version == "editable":
            return
        root = Path(self.root)
        if self.target_name == "wheel":
            build_data["force_include"].update(_examples(root))
        self._build_web_app(root)

    def _build_web_app(self, root: Path) -> None:
        """Build it so that installing needs no node; an unpacked sdist has it already."""
        is_built = (root / "src/retinue/server/static/index.html").is_file()
        is_sdist = (root / "PKG-INFO").is_file()
        npm = shutil.which("npm")
        if is_built and (is_sdist or npm is None):
            return
        if npm is None:
            raise RuntimeError("The web app is not built and npm is missing: install node first.")
        for command in (["ci"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=root / "web", check=True)


def _examples(root: Path) -> dict[str, str]:
    """The files of the examples, by where they go; not the data of somebody who tried them."""
    files = (path.relative_to(root) for path in (root / "examples").rglob("*") if path.is_file())
    return {
        str(root / file): f"retinue/{file.as_posix()}"
        for file in files
        if not any(part.startswith(".") or part == "__pycache__" for part in file.parts)
    }
