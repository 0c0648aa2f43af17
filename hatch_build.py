"""Adds to a distribution what git does not hold in its place: the sample, the explorer's page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMANDS = (("ci", "--loglevel=error", "--no-audit", "--no-fund"), ("run", "--silent", "build"))


class DistributionHook(BuildHookInterface[Any]):
    """Puts data/sample into a wheel as dbtool/data, and builds the explorer's page with npm.

    Where npm cannot, a source distribution fails, and a wheel has no page and warns. An editable
    install reads the checkout, where `make explorer` builds the page.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build."""
        if version == "editable":
            return
        sample = Path(self.root, "data", "sample")
        if self.target_name == "wheel" and sample.is_dir():
            build_data["force_include"][str(sample)] = "dbtool/data"
        # A source distribution came with its page, and says nothing by the times of its files.
        if Path(self.root, "PKG-INFO").is_file():
            return
        explorer = Path(self.root, "dbtool", "explorer")
        if _is_current(explorer):
            return
        shutil.rmtree(explorer / "built", ignore_errors=True)
        reason = _build(explorer / "page")
        if reason and self.target_name == "sdist":
            raise RuntimeError(f"a source distribution has the explorer's page, but {reason}")
        if reason:
            self.app.display_warning(f"the wheel has no page for `dbtool explore`: {reason}")


def _is_current(explorer: Path) -> bool:
    """Return whether the page was built after its sources were changed."""
    last = explorer / "built" / "notices.txt"  # which is written last
    page = explorer / "page"
    sources = [path for path in page.iterdir() if path.name != "node_modules"]
    times = [path.stat().st_mtime for path in (*sources, *(page / "src").rglob("*"))]
    return last.is_file() and last.stat().st_mtime >= max(times)


def _build(page: Path) -> str | None:
    """Build the page; return why that failed, if it did."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm: install Node.js 18 or newer with npm, and build again"
    for words in COMMANDS:
        done = subprocess.run(  # noqa: S603 (words of our own)
            [npm, *words], cwd=page, capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            said = "\n".join(lines[-10:])
            return f"`npm {words[0]}`, which needs Node.js 18 or newer, failed with\n{said}"
    return None
