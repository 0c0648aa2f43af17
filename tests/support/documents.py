"""A small database, and a script of docs/ run on a document with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dbtool.store.database import open_for_writing
from dbtool.store.ingest import ingest

from .made_up import curve, write_shard

SCRIPTS = Path(__file__).parents[2] / "docs"


def run_script(name: str, document: Path, database: Path) -> subprocess.CompletedProcess[str]:
    """How a script of docs/ ended on a document and a database."""
    words = [sys.executable, str(SCRIPTS / name), str(document), "--db", str(database)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def small_database(folder: Path) -> Path:
    """A database of one study of batch size 64, whose one trial ends with an error of 0.2."""
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.2]))]
    shard = write_shard(folder / "shards", batch_size=64, trials=trials)
    with open_for_writing(folder / "db") as connection:
        ingest(connection, [shard])
    return folder / "db"
