"""Adds to a distribution what git does not hold in its place: the sample, the explorer's page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DistributionHook(BuildHookInterface[Any]):
    """Puts data/sample into a wheel as dbtool/data, and builds the explorer's page where npm is.

    An editable install reads the checkout, where `make explorer` builds the page.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build."""
        if version == "editable":
            return
        sample = Path(self.root, "data", "sample")
        if self.target_name == "wheel" and sample.is_dir():
            build_data["force_include"][str(sample)] = "dbtool/data"
        explorer = Path(self.root, "dbtool", "explorer")
        if not (explorer / "built").is_dir():
            self._build(explorer / "page")

    def _build(self, page: Path) -> None:
        npm = shutil.which("npm")
        if npm is None and self.target_name == "sdist":
            raise RuntimeError(
                "a source distribution has the explorer's page, which npm builds: install Node.js "
                "with npm, and build again"
            )
        if npm is None:
            self.app.display_warning("without npm the wheel has no page for `dbtool explore`")
            return
        for words in (["ci", "--silent", "--no-audit", "--no-fund"], ["run", "--silent", "build"]):
            subprocess.run([npm, *words], cwd=page, check=True)  # noqa: S603 (words of our own)
