"""A command that failed lets go of the database, so that it can be opened again at once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LONGEST = 60
# Whatever hangs on a failure stays, as it may for a while in any long process.
TWICE = """
import gc, sys
from dbtool.cli.main import run
gc.disable()
failures = []
for words in (["sql", *sys.argv[1:]], ["releases"]):
    try:
        run(words)
    except SystemExit as error:
        failures.append(error)
print([error.code for error in failures])
"""


def test_after_a_failure(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBTOOL_DB", str(database))
    command = [sys.executable, "-c", TWICE, "SELECT INTERVAL 1 DAY", "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)
    assert done.stdout.endswith(b"[1, 0]\n"), done.stderr
    assert b"made-up" in done.stdout
