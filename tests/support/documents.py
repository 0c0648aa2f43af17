"""A small release, and a script of docs/ run on a document with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .made_up import write_release

SCRIPTS = Path(__file__).parents[2] / "docs"


def run_script(name: str, document: Path, database: Path) -> subprocess.CompletedProcess[str]:
    """How a script of docs/ ended on a document and a database."""
    words = [sys.executable, str(SCRIPTS / name), str(document), "--db", str(database)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def small_database(folder: Path) -> Path:
    """A release of one study of batch size 64, with one trial."""
    return write_release(folder / "release")
