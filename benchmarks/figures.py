"""What drawing every figure takes, as ratios measured in one run.

Run `python -m benchmarks.figures` on an idle machine; it writes a made-up archive of the published
size into a temporary folder (--share 0.02 for a quick run), or takes the one that
`python -m benchmarks.replica --layout folder` wrote, and its release. Printed:

- the time and the peak memory of `dbtool plot all` from process start to end, its worker processes
  included, and of the same as one HTML page;
- the time of `dbtool plot --list`;
- the time of the queries of all figures together, once DuckDB has the release open;
- the time in which pandas reads, for the same figures, the CSV files of the studies each is drawn
  from and looks for the goal and the best value, as the authors' notebook does. What a figure then
  makes of these is not counted, so this is less than the authors' way takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import polars as pl

import dbtool
from dbtool.figures.points import NoDataError, Points, Request, read_points
from dbtool.figures.specs import FIGURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.database import Database

ROOT = "batch_science"
SAMPLE_EVERY = 0.05


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--archive", type=Path, help="a folder that benchmarks.replica wrote")
    parser.add_argument("--db", type=Path, help="the release it was imported into")
    parser.add_argument("--share", type=float, default=1.0, help="of each study's trials, if made")
    parser.add_argument("--without-pandas", action="store_true", help="leave the CSV files unread")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        archive = words.archive or _made_archive(Path(scratch), words.share)
        release = words.db or _imported(archive, Path(scratch))
        whole = report_processes(release, Path(scratch))
        points, by_sql = report_queries(release)
        if not words.without_pandas:
            report_pandas(archive, points, by_sql, whole)


def _made_archive(folder: Path, share: float) -> Path:
    archive = folder / "replica"
    words = ["-m", "benchmarks.replica", "--out", archive, "--layout", "folder", "--share", share]
    subprocess.run([sys.executable, *map(str, words)], check=True)
    return archive


def _imported(archive: Path, folder: Path) -> Path:
    words = ["-m", "dbtool", "import", str(archive), "--db", str(folder)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return folder / "published"


def report_processes(release: Path, folder: Path) -> float:
    """Times the commands that draw and list; returns the seconds of `plot all`."""
    plot = ["plot", "--db", str(release)]
    whole = _report("plot all (PNG)", [*plot, "all", "--out", str(folder / "figures")])
    _report("plot --list", [*plot, "--list"])
    return whole


def _report(name: str, words: Sequence[str]) -> float:
    """Runs a command of dbtool, and prints its time and the most memory its processes held."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "dbtool", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        peak = _Peak(process.pid)
        errors = process.communicate()[1]
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{name} failed: {errors.decode()}")
    print(f"{name:24s}{seconds:8.2f} s, peak memory {peak.result() / 2**20:,.0f} MiB", flush=True)
    return seconds


class _Peak:
    """The most memory a process and its descendants hold together, sampled until it ends."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._most = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def result(self) -> int:
        """Bytes; memory that processes share is counted once."""
        self._thread.join()
        return self._most

    def _watch(self) -> None:
        while Path(f"/proc/{self._pid}/smaps_rollup").exists():
            held = sum(map(_proportional_bytes, _family(self._pid)))
            if held == 0:
                return
            self._most = max(self._most, held)
            time.sleep(SAMPLE_EVERY)


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [pid, *(each for child in children.split() for each in _family(int(child)))]


def _proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def report_queries(release: Path) -> tuple[Mapping[str, Points], float]:
    """Times the queries of all figures warm; returns what they returned, and the seconds."""
    with dbtool.open(release) as db:
        _all_points(db)
        started = time.perf_counter()
        points = _all_points(db)
        seconds = time.perf_counter() - started
    rows = sum(each.rows.height for each in points.values())
    print(
        f"{'queries of all figures':24s}{seconds:8.2f} s warm, {len(points)} figures, {rows:,} rows"
    )
    return points, seconds


def _all_points(db: Database) -> dict[str, Points]:
    """What the query of each figure returns, without those that the release cannot fill."""
    found = {}
    for spec in FIGURES:
        try:
            found[spec.name] = read_points(db, spec, Request())
        except NoDataError:
            continue
    return found


def report_pandas(archive: Path, points: Mapping[str, Points], by_sql: float, whole: float) -> None:
    """Times pandas reading the CSV files behind the same figures, one figure after the other."""
    files = 0
    started = time.perf_counter()
    for each in points.values():
        files += _read_studies(archive / ROOT if (archive / ROOT).is_dir() else archive, each.rows)
    seconds = time.perf_counter() - started
    print(
        f"{'pandas, same figures':24s}{seconds:8.2f} s from {files:,} CSV files: "
        f"{seconds / by_sql:,.0f} x the queries, {seconds / whole:,.1f} x all of plot all"
    )


def _read_studies(archive: Path, rows: pl.DataFrame) -> int:
    """Reads the studies a figure is drawn from; returns the number of CSV files."""
    sizes = "batch_size" if "batch_size" in rows.columns else "x"
    wanted = rows.filter(pl.col("workload").is_not_null())
    if sizes == "x" and "curves" in rows["kind"]:
        # There x is a step, and which trial stands for a study only all of them tell.
        wanted = wanted.with_columns(pl.lit(None).alias("x"))
    files = 0
    for (workload, metric), part in wanted.group_by("workload", "metric", maintain_order=True):
        held = {int(size) for size in part[sizes].drop_nulls() if size == int(size)}
        goals = [goal for goal in part["goal"].unique() if goal is not None]
        trials = part["asked_trials"].max()
        for study in sorted((archive / str(workload)).iterdir()):
            if study.name.isdigit() and (not held or int(study.name) in held):
                files += _read_study(study, str(metric).replace("_", "/", 1), goals, trials)
    return files


def _read_study(study: Path, column: str, goals: Sequence[float], trials: object) -> int:
    """Reads a study's COMPLETE trials file by file, as the authors' notebook does."""
    metadata = [json.loads(path.read_text()) for path in study.glob("*/metadata.json")]
    complete = sorted(each["trial_id"] for each in metadata if each["status"] == "COMPLETE")
    chosen = complete[:trials] if isinstance(trials, int) else complete
    frames = [pd.read_csv(study / str(number) / "measurements.csv") for number in chosen]
    if not frames:
        return 0
    measured = pd.concat(frames, keys=chosen, names=["trial_id"])
    if column in measured:
        for goal in goals:
            measured.loc[measured[column] < goal, "step"].min()
        measured.groupby("trial_id")[column].min()
    return len(frames)


if __name__ == "__main__":
    main()
