"""Queries that are let go of before their end do not wait for ever, however slow the server is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.release_server import ReleaseServer

LONGEST = 60
LAZY = """
import sys, dbtool, polars as pl
with dbtool.open(sys.argv[1]) as db:
    for _ in range(3):
        odd = db.measurements().filter(pl.col("step").cast(pl.String) != "3")
        print(odd.head(2).collect().height)
        db.sql("SELECT max(step) FROM measurements").rows()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "dbtool", "sql", "FROM measurements", "--limit", "1", "--format", "csv"),
        ("-m", "dbtool", "sql", "FROM measurements", "--limit", "1", "--format", "arrow"),
        ("-m", "dbtool", "plot", "--list"),
        ("-c", LAZY),
    ],
    ids=["rows", "batches", "figures", "lazy"],
)
def test_they_end(
    server: ReleaseServer, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults.seconds = 0.02
    monkeypatch.setenv("DBTOOL_DB", server.url)
    done = subprocess.run(
        [sys.executable, *words, *([server.url] if words[0] == "-c" else [])],
        capture_output=True,
        timeout=LONGEST,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
