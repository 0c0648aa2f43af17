"""The statements that load a database, each a file."""

from __future__ import annotations

import functools
from pathlib import Path


@functools.cache
def statement(name: str) -> str:
    """The text of NAME.sql."""
    return (Path(__file__).parent / f"{name}.sql").read_text(encoding="utf-8")
