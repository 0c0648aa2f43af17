"""What importing and asking a published-format archive takes, as ratios measured in one run.

Run `python -m benchmarks.archive FILE.tar.bz2` on an idle machine, with a file that
`python -m benchmarks.replica` wrote; at full size it takes about ten minutes on two cores. Printed:

- the time of `dbtool import` against that of decoding the file alone with the same decoder, its
  peak memory, and the size of the database against that of the file;
- the time of each question, the median of several, once DuckDB has the file open and as a process
  of its own from start to end;
- steps to result of one workload from pandas reading its extracted CSV files, against SQL.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pandas as pd
import rapidgzip

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb

BLOCK = 4 << 20
REPEATS = 7
WORKLOAD = "mnist/simple_cnn_base/nesterov_momentum"
QUESTIONS = {
    "steps to result, all studies": "FROM steps_to_result('published', NULL, NULL, NULL, 100)",
    "best measurement, all studies": (
        "FROM best_measurements('published', NULL, NULL, NULL, NULL, 100)"
    ),
    "steps to result, one workload": (
        f"FROM steps_to_result('published', '{WORKLOAD}', NULL, NULL, 100)"
    ),
    "one trial's curve": """
        SELECT step, val_classification_error
        FROM measurements
        WHERE workload = 'mnist/simple_cnn_base/nesterov_momentum' AND batch_size = 128
        AND trial_id = (
            SELECT min(trial_id)
            FROM trials
            WHERE workload = 'mnist/simple_cnn_base/nesterov_momentum' AND batch_size = 128
        )
        ORDER BY step
    """,
}


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="a .tar.bz2 that benchmarks.replica wrote")
    parser.add_argument("--keep", type=Path, help="where to leave the database; default: nowhere")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.archive.parent) as folder:
        database = arguments.keep or Path(folder) / "archive.duckdb"
        report_import(arguments.archive, database)
        report_questions(database)
        report_pandas(arguments.archive, database, Path(folder))


def report_import(archive: Path, database: Path) -> None:
    """Times decoding alone, then the import, and compares the sizes."""
    before = _seconds(lambda: _decode(archive))
    started = time.perf_counter()
    words = [sys.executable, "-m", "dbtool", "import", str(archive), "--db", str(database)]
    with subprocess.Popen(words) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    imported = time.perf_counter() - started
    after = _seconds(lambda: _decode(archive))
    decoded = (before + after) / 2
    print(
        f"decoding alone              {decoded:8.1f} s ({before:.1f} and {after:.1f})\n"
        f"import (exit {process.returncode})             {imported:8.1f} s, "
        f"{imported / decoded:.2f} x decoding, peak memory {usage.ru_maxrss / 1024:,.0f} MiB\n"
        f"database                    {database.stat().st_size / 1e6:8.0f} MB, "
        f"{database.stat().st_size / archive.stat().st_size:.2f} x the archive",
        flush=True,
    )


def _decode(archive: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    with rapidgzip.IndexedBzip2File(str(archive), parallelization=cores) as file:
        while file.read(BLOCK):
            pass


def report_questions(database: Path) -> None:
    """Times each question warm and as a process of its own."""
    for name, query in QUESTIONS.items():
        with open_for_reading(database) as connection:
            rows = len(_ask(connection, query))
            warm = _median(partial(_ask, connection, query))
        words = [sys.executable, "-m", "dbtool", "sql", "--db", str(database), query]
        whole = _median(partial(subprocess.run, words, check=True, capture_output=True))
        print(f"{name:30s}{warm:8.3f} s warm, {whole:6.2f} s with its process ({rows:,} rows)")


def _ask(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return rows


def report_pandas(archive: Path, database: Path, folder: Path) -> None:
    """Times steps to result of one workload from its CSV files, against SQL."""
    files = _extract(archive, folder)
    by_pandas = _seconds(lambda: _pandas_steps(folder))
    query = QUESTIONS["steps to result, one workload"]
    with open_for_reading(database) as connection:
        by_sql = _median(partial(_ask, connection, query))
        held = _ask(connection, query)
    expected = _pandas_steps(folder)
    if {row[2]: row[5] for row in held} != expected:
        raise SystemExit("pandas and SQL do not agree")
    print(
        f"{WORKLOAD}: pandas {by_pandas:.1f} s from {files:,} CSV files, SQL {by_sql:.3f} s, "
        f"{by_pandas / by_sql:,.0f} x"
    )


def _extract(archive: Path, folder: Path) -> int:
    """Unpacks the files of one workload; returns how many trials it has."""
    prefix = f"batch_science/{WORKLOAD}/"
    cores = len(os.sched_getaffinity(0))
    trials = 0
    with (
        rapidgzip.IndexedBzip2File(str(archive), parallelization=cores) as decoded,
        tarfile.open(fileobj=cast("BinaryIO", decoded), mode="r|") as tar,
    ):
        for member in tar:
            if member.isfile() and member.name.startswith(prefix):
                tar.extract(member, folder, filter="data")
                trials += member.name.endswith(".csv")
    return trials


def _pandas_steps(folder: Path) -> dict[int, int | None]:
    """Batch size to steps to result, as the authors' notebook reads them: file by file."""
    steps = {}
    for study in sorted((folder / "batch_science" / WORKLOAD).iterdir()):
        trials = [json.loads(path.read_text()) for path in study.glob("*/metadata.json")]
        complete = sorted(trial["trial_id"] for trial in trials if trial["status"] == "COMPLETE")[
            :100
        ]
        frames = [pd.read_csv(study / str(number) / "measurements.csv") for number in complete]
        rows = pd.concat(frames)
        past = rows.loc[rows["val/classification_error"] < 0.01, "step"]
        steps[int(study.name)] = None if past.empty else int(past.min())
    return steps


def _median(work: Callable[[], object]) -> float:
    return statistics.median(_times(work, REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    return _times(work, 1)[0]


def _times(work: Callable[[], object], repeats: int) -> Sequence[float]:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return times


if __name__ == "__main__":
    main()
