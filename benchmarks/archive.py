"""What importing and asking a published-format archive takes, as ratios measured in one run.

Run `python -m benchmarks.archive FILE.tar.bz2` on an idle machine, with a file that
`python -m benchmarks.replica` wrote; at full size it takes about ten minutes on two cores. Printed:

- the time of `dbtool import`, by the clock and of all processors, against that of decoding the
  file alone with the same decoder, its peak memory, and the size of the release against the file's;
- the time of each question, the median of several, once DuckDB has the release open and as a
  process of its own from start to end;
- what adding one more study to the release takes, against writing it into an empty one;
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
from typing import TYPE_CHECKING, BinaryIO, cast

import pandas as pd
import rapidgzip

import dbtool
from tests.support.made_up import curve, write_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from dbtool.database import Database

BLOCK = 4 << 20
REPEATS = 7
WORKLOAD = "mnist/simple_cnn_base/nesterov_momentum"
_DBTOOL = [sys.executable, "-m", "dbtool"]
_CURVE = f"""
    SELECT step, val_classification_error
    FROM measurements
    WHERE workload = '{WORKLOAD}' AND batch_size = 128 AND trial_id = (
        SELECT min(trial_id) FROM trials WHERE workload = '{WORKLOAD}' AND batch_size = 128
    )
    ORDER BY step
"""  # noqa: S608 (a name of ours)
_BEST = "FROM best_measurements(NULL, NULL, NULL, NULL, NULL, 100)"
QUESTIONS: Mapping[str, Callable[[Database], pl.DataFrame]] = {
    "steps to result, all studies": lambda db: db.steps("*"),
    "steps to result, one workload": lambda db: db.steps(WORKLOAD),
    "scaling with its intervals, all workloads": lambda db: db.scaling("*").rows(),
    "scaling with its intervals, one workload": lambda db: db.scaling(WORKLOAD).rows(),
    "best measurement, all studies": lambda db: db.sql(_BEST).polars(),
    "one trial's curve": lambda db: db.sql(_CURVE).polars(),
    "one study's measurements": lambda db: db.measurements(WORKLOAD, batch_size=128).collect(),
}
WORDS = {
    "steps to result, all studies": ["steps", "*"],
    "steps to result, one workload": ["steps", WORKLOAD],
    "scaling with its intervals, all workloads": ["scaling", "*"],
    "scaling with its intervals, one workload": ["scaling", WORKLOAD],
    "best measurement, all studies": ["sql", _BEST],
    "one trial's curve": ["sql", _CURVE],
    "one study's measurements": [
        "sql",
        f"FROM measurements WHERE workload = '{WORKLOAD}' AND batch_size = 128",
        "--format",
        "arrow",
    ],
}


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archive", type=Path, help="a .tar.bz2 that benchmarks.replica wrote")
    parser.add_argument("--keep", type=Path, help="where to leave the release; default: nowhere")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.archive.parent) as folder:
        release = arguments.keep or Path(folder) / "published"
        report_import(arguments.archive, release)
        report_questions(release)
        report_adding(release, Path(folder))
        report_pandas(arguments.archive, release, Path(folder))


def report_import(archive: Path, release: Path) -> None:
    """Times decoding alone, then the import, and compares the sizes."""
    spent = time.process_time()
    before = _seconds(lambda: _decode(archive))
    spent = time.process_time() - spent
    started = time.perf_counter()
    words = [*_DBTOOL, "import", str(archive), "--db", str(release.parent), "--release"]
    with subprocess.Popen([*words, release.name]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    imported = time.perf_counter() - started
    after = _seconds(lambda: _decode(archive))
    decoded = (before + after) / 2
    size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file())
    print(
        f"decoding alone              {decoded:8.1f} s ({before:.1f} and {after:.1f})\n"
        f"import (exit {process.returncode})             {imported:8.1f} s, "
        f"{imported / decoded:.2f} x decoding, peak memory {usage.ru_maxrss / 1024:,.0f} MiB\n"
        f"of all processors           {usage.ru_utime + usage.ru_stime:8.1f} s, "
        f"{spent:.1f} of decoding alone\n"
        f"release                     {size / 1e6:8.0f} MB, "
        f"{size / archive.stat().st_size:.2f} x the archive",
        flush=True,
    )


def _decode(archive: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    with rapidgzip.IndexedBzip2File(str(archive), parallelization=cores) as file:
        while file.read(BLOCK):
            pass


def report_questions(release: Path) -> None:
    """Times each question warm and as a process of its own."""
    for name, ask in QUESTIONS.items():
        with dbtool.open(release) as db:
            rows = len(ask(db))
            warm = _median(partial(ask, db))
        command = [*_DBTOOL, *WORDS[name], "--db", str(release)]
        whole = _median(partial(subprocess.run, command, check=True, capture_output=True))
        print(f"{name:30s}{warm:8.3f} s warm, {whole:6.2f} s with its process ({rows:,} rows)")


def report_adding(release: Path, folder: Path) -> None:
    """Times adding a made-up study to the release, and to an empty one."""
    trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.5, 0.1]))]

    def add(into: Path, batch_size: int) -> None:
        write_shard(into, release=release.name, batch_size=batch_size, trials=trials)

    empty = [_seconds(partial(add, folder / f"empty-{number}", 1)) for number in range(REPEATS)]
    held = [_seconds(partial(add, release, number + 1)) for number in range(REPEATS)]
    print(
        f"adding a study              {statistics.median(held):8.3f} s, "
        f"{statistics.median(empty):.3f} s into an empty release"
    )


def report_pandas(archive: Path, release: Path, folder: Path) -> None:
    """Times steps to result of one workload from its CSV files, against SQL."""
    files = _extract(archive, folder)
    by_pandas = _seconds(lambda: _pandas_steps(folder))
    ask = QUESTIONS["steps to result, one workload"]
    with dbtool.open(release) as db:
        by_sql = _median(partial(ask, db))
        held = ask(db).select("batch_size", "steps").rows()
    if dict(held) != _pandas_steps(folder):
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
