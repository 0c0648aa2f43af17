"""What publishing a release takes, and what those who get it wait for.

Run `python -m benchmarks.publication RELEASE` on an idle machine, with a release into which a file
that `python -m benchmarks.replica` wrote was imported. Printed, each as a process of its own:

- DuckDB's own COPY of the measurements to one Parquet file, in no order;
- `dbtool publish`, `dbtool verify` of the folder and `dbtool ingest` of it into an empty folder,
  with their rates as parts of that of COPY, and with the most memory that each took.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dbtool

if TYPE_CHECKING:
    from collections.abc import Sequence

COPY = """
import sys, duckdb
with duckdb.connect() as connection:
    connection.execute("SET memory_limit = '2GB'; SET enable_progress_bar = false")
    rows = connection.read_parquet(f"{sys.argv[1]}/measurements/**/*.parquet")
    rows.to_parquet(sys.argv[2], compression="zstd")
"""


@dataclass(frozen=True)
class Taken:
    """What a process took.

    Attributes:
        seconds: from its start to its end.
        gigabytes: of memory, at most.
    """

    seconds: float
    gigabytes: float


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    release = parser.parse_args().release
    with dbtool.open(release) as db:
        rows = int(db.releases()["measurements"].sum())
    print(f"{release}: {rows:,} measurements; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(dir=release.parent, prefix=".publication-") as temporary:
        copy, out, again = (f"{temporary}/{name}" for name in ("copy.parquet", "out", "again"))
        program = [sys.executable, "-m", "dbtool"]
        copied = taken([sys.executable, "-c", COPY, str(release), copy])
        print(f"COPY     {told(copied, rows)}, {size(Path(copy)) / 1e6:,.0f} MB")
        for name, words in {
            "publish": ["publish", str(release), "--out", out, "--licence", "CC0-1.0"],
            "verify": ["verify", out],
            "ingest": ["ingest", out, "--db", again],
        }.items():
            found = taken([*program, *words])
            part = copied.seconds / found.seconds
            print(f"{name:8s} {told(found, rows)}, {part:.2f} of COPY's rate")
        print(f"the folder takes {size(Path(out)) / 1e6:,.0f} MB")


def taken(command: Sequence[str]) -> Taken:
    """Runs a program to its end, which is no failure."""
    started = time.perf_counter()
    child = os.posix_spawn(command[0], list(command), os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: {os.waitstatus_to_exitcode(status)}")
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return Taken(time.perf_counter() - started, usage.ru_maxrss / unit)


def told(found: Taken, rows: int) -> str:
    """A line of what a process took."""
    rate = rows / found.seconds / 1e6
    return f"{found.seconds:6.1f} s, {rate:5.2f} million rows/s, {found.gigabytes:.2f} GB of memory"


def size(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    return sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())


if __name__ == "__main__":
    main()
