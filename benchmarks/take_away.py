"""What taking measurements out of a release takes, as ratios measured in one run.

Run `python -m benchmarks.take_away RELEASE` on an idle machine, with a release into which a file
that `python -m benchmarks.replica` wrote was imported. Printed:

- the time from a release that is open to one study's measurements as a Polars frame, against the
  target, and against DuckDB's own `.pl()` of the same rows by hand;
- the same for the authors' loader, against reading that study's exported files with pandas;
- the rate of `dbtool export` in each format against that of DuckDB's own COPY to Parquet, in turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pandas as pd

import dbtool
from benchmarks.timed import Timed, in_turns, ratio
from dbtool.data_loader import load_study
from dbtool.release.export import export
from dbtool.release.file_format import FileFormat, file_format_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbtool.database import Database

WORKLOAD = "mnist/simple_cnn_base/nesterov_momentum"
BATCH_SIZE = 128
TARGET = 0.15  # seconds, of one study from a release of the published size
REPEATS = 9


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--pattern", default="*", help="the workloads that are exported")
    parser.add_argument("--turns", type=int, default=2, help="how often each export is timed")
    words = parser.parse_args()
    with dbtool.open(words.release) as db:
        total = db.sql("SELECT sum(measurements) FROM releases").rows()[0][0]
        print(f"{words.release}: {total:,} measurements; load {os.getloadavg()[0]:.1f}")
        print_one_study(db)
    with tempfile.TemporaryDirectory(dir=words.release.parent, prefix=".take-away-") as folder:
        print_loader(words.release, Path(folder))
        print_exports(words.release, words.pattern, Path(folder), words.turns)


def print_one_study(db: Database) -> None:
    """The time to one study as a frame, next to the same query by hand."""
    ask = partial(db.measurements, WORKLOAD, batch_size=BATCH_SIZE)
    by_hand = "SELECT * FROM measurements WHERE workload = ? AND batch_size = ?"
    frame = ask().collect()
    own = seconds(lambda: ask().collect())
    with db.cursor() as cursor:
        hand = seconds(lambda: cursor.sql(by_hand, params=[WORKLOAD, BATCH_SIZE]).pl())
    few = seconds(lambda: ask().select("trial_id", "step", "val_classification_error").collect())
    print(f"one study ({frame.height:,} rows, 20 columns) to Polars: {own:.3f} s", end="")
    print(f", {own / TARGET:.2f} of the target, {own / hand:.2f} of the query by hand")
    print(f"three of its columns: {few:.3f} s, {few / TARGET:.2f} of the target")


def print_loader(release: Path, folder: Path) -> None:
    """The authors' loader, next to pandas reading the files it was made for."""
    with dbtool.open(release) as db:
        export(db, folder / "study", FileFormat.ORIGINAL, WORKLOAD, batch_size=BATCH_SIZE)
    study = folder / "study" / "batch_science" / WORKLOAD / str(BATCH_SIZE)
    everything = {"load_incomplete_trials": True, "load_infeasible_trials": True}
    with dbtool.open(release) as db:
        own = seconds(lambda: load_study(study, **everything, database=db))
    files = sorted(study.glob("*/measurements.csv"))
    hand = seconds(lambda: pd.concat(pd.read_csv(path, index_col="step") for path in files))
    print(f"load_study: {own:.3f} s, {own / hand:.3f} of pandas reading its {len(files):,} files")


def print_exports(release: Path, pattern: str, folder: Path, turns: int) -> None:
    """The rates of exports and of DuckDB's own, in turns."""
    outs = {name: folder / f"out.{name}" for name in ("parquet", "csv", "arrow", "tar")}
    with dbtool.open(release) as db:
        counting = f"SELECT sum(measurements) FROM workloads WHERE workload GLOB '{pattern}'"  # noqa: S608 (the person's own)
        rows = db.sql(counting).rows()[0][0]
    works = {"COPY": Timed(rows, partial(copy, release, pattern, folder / "copied.parquet"))}
    for name, out in outs.items():
        works[name] = Timed(rows, partial(export_once, release, pattern, out))
    rates = in_turns(works, turns)
    for name in works:
        path = outs.get(name, folder / "copied.parquet")
        rate = statistics.median(rates[name].by_clock) / 1e6
        clock = ratio(rates[name].by_clock, rates["COPY"].by_clock)
        processor = ratio(rates[name].by_processor, rates["COPY"].by_processor)
        print(
            f"{name:8s} {rate:5.2f} million rows/s, {clock:.2f} of COPY's rate "
            f"({processor:.2f} by processor time), {path.stat().st_size / rows:.1f} bytes a row"
        )


def export_once(release: Path, pattern: str, out: Path) -> None:
    """`dbtool export`."""
    out.unlink(missing_ok=True)
    with dbtool.open(release) as db:
        export(db, out, file_format_of(out), pattern)


def copy(release: Path, pattern: str, out: Path) -> None:
    """DuckDB's own COPY of the same rows, in no order."""
    query = f"SELECT * FROM measurements WHERE workload GLOB '{pattern}'"  # noqa: S608 (the person's own)
    shards = f"{release}/measurements/**/*.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '2GB'")
        connection.execute(f"CREATE VIEW measurements AS FROM '{shards}'")
        connection.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")


def seconds(work: Callable[[], object]) -> float:
    """The median of several times."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


if __name__ == "__main__":
    main()
