"""The `dbtool` commands of a document, run for what they print or draw."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from pathlib import Path


def document_and_database(purpose: str) -> tuple[Path, Path]:
    """The document that the command line names, and the database that its commands read."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("document", type=Path)
    parser.add_argument("--db", type=Path, required=True, help="the database that commands read")
    arguments = parser.parse_args()
    return arguments.document, arguments.db


def output_of(words: list[str], database: Path, *more: str) -> str:
    """What `dbtool` prints for these words and more options; ends the program where it fails.

    It reads the database unless the words name another one.
    """
    command = [sys.executable, "-m", "dbtool", *words, *more]
    if "--db" not in words:
        command += ["--db", str(database)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        sys.exit(f"`{shlex.join(command)}` failed; mend it and run this again")
    return ended.stdout
