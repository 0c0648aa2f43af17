"""MLflow's stores: a folder of files a run (mlruns), or a SQLite database."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dbtool.core.walk import is_file, is_folder, walk
from dbtool.sources.logs.log import LoggedRun, lines, long_rows
from dbtool.sources.logs.sqlite import has_tables, select
from dbtool.store.table_files import Position
from dbtool.store.texts import read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    Point = tuple[int, int, str, str]

_STATUSES = {"1": "RUNNING", "2": "RUNNING", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
_RUNS = "SELECT run_uuid, status FROM runs WHERE lifecycle_stage = 'active' ORDER BY start_time"
_PARAMS = "SELECT run_uuid, key, value FROM params"
_METRICS = "SELECT run_uuid, timestamp, step, key, value, is_nan FROM metrics"
_INFINITY = 1.7976931348623157e308


def is_log(path: Path) -> bool:
    """Return whether a file is the description of a run, or a database of runs."""
    if path.name == "meta.yaml":
        return is_folder(path.parent / "metrics")
    return path.suffix in {".db", ".sqlite"} and has_tables(path, {"runs", "metrics", "params"})


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a folder, or the runs of a database; deleted ones are dropped."""
    if path.name == "meta.yaml":
        about = read_document(path)
        if about.get("lifecycle_stage") != "deleted":
            params = {name: "\n".join(lines(file)) for name, file in _files(path.parent / "params")}
            status = _STATUSES.get(about.get("status", ""), "")
            yield _run(about.get("run_id", path.parent.name), status, params, _points(path.parent))
        return
    params_of: dict[str, dict[str, str]] = defaultdict(dict)
    for run, name, value in select(path, _PARAMS):
        params_of[run][name] = value
    points: dict[str, list[Point]] = defaultdict(list)
    for run, time, step, name, value, is_nan in select(path, _METRICS):
        # Numbers that SQL lacks are stored as others.
        finite = repr(value) if abs(value) < _INFINITY else f"{'-' if value < 0 else ''}inf"
        points[run].append((time, step, name, "nan" if is_nan else finite))
    for run, status in select(path, _RUNS):
        yield _run(run, status, params_of[run], points[run])


def _run(name: str, status: str, params: Mapping[str, str], points: Iterable[Point]) -> LoggedRun:
    # One that finished may have diverged, which its values show.
    unfinished = {} if status == "FINISHED" else {"status": status}
    in_time = enumerate(sorted(points), start=1)
    rows = ((number, step, metric, value) for number, (_, step, metric, value) in in_time)
    return LoggedRun(name, long_rows(rows), {**params, **unfinished})


def _points(folder: Path) -> Iterator[Point]:
    """Yield the values of a run's metrics: time, step, metric and value."""
    for metric, file in _files(folder / "metrics"):
        for number, line in enumerate(lines(file), start=1):
            parts = line.split()
            if len(parts) < 3 or not (parts[0].isdigit() and parts[2].lstrip("-").isdigit()):
                reason = "it is not a time, a value and a step, as MLflow writes them"
                raise Position(file, number).error(None, reason)
            yield int(parts[0]), int(parts[2]), metric, parts[1]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files below a folder, whose names may have slashes, by their names."""
    for entry in walk(folder):
        if is_file(entry.path):
            path = folder / entry.path
            yield path.relative_to(folder).as_posix(), path
