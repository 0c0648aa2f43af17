"""Adds the sample of the bundled release to a wheel, where the checkout holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SampleHook(BuildHookInterface[Any]):
    """Puts data/sample into the wheel as dbtool/data."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a build; an editable install reads the checkout and needs no copy."""
        sample = Path(self.root, "data", "sample")
        if version != "editable" and sample.is_dir():
            build_data["force_include"][str(sample)] = "dbtool/data"
