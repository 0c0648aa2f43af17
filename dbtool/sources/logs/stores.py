"""The binary files of tools: TensorBoard's events, and the stores of MLflow and trackio.

Stores are SQLite databases, which are only read, or many small files.
"""

import contextlib
import sqlite3
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dbtool.core.resources import libraries_of
from dbtool.core.walk import is_file, is_folder, walk
from dbtool.sources.logs import log
from dbtool.sources.logs.log import METRIC, STEP, VALUE, LoggedRun
from dbtool.sources.logs.trainers import counts_batches, has_hparams, hparams, of_batches
from dbtool.sources.numbers import same
from dbtool.sources.tables import words
from dbtool.store.table_files import Position, RunsError
from dbtool.store.texts import LINE, read_document

# Time, step, metric and value.
Point = tuple[int, int, str, str]

_MARK = ".tfevents."
# A record is the length of its content, a checksum of that, the content, and its checksum.
_LENGTH, _HEAD, _TAIL = struct.Struct("<Q"), 12, 4
# Lightning writes -1 where a module has no such metric.
_HP_METRIC = "hp_metric"
_NUMBERS = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}
"""NumPy's types by those of TensorFlow."""
_SQLITE = b"SQLite format 3\0"
_STATUSES = {"1": "RUNNING", "2": "RUNNING", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}
_RUNS = "SELECT run_uuid, status FROM runs WHERE lifecycle_stage = 'active' ORDER BY start_time"
_PARAMS = "SELECT run_uuid, key, value FROM params"
_METRICS = "SELECT run_uuid, timestamp, step, key, value, is_nan FROM metrics"
_INFINITY = 1.7976931348623157e308
_FRAGMENT = (b'"kind":"metric"', b'"run_id":')
_TRACKED = "SELECT run_id, run_name, step, metrics FROM metrics ORDER BY id"


def is_tensorboard(path: Path) -> bool:
    """Return whether a file is one of events."""
    return _MARK in path.name


def read_tensorboard(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a file, and what its HPARAMS say.

    `add_hparams` writes a folder of its own, whose settings are those of the run above it, and
    `add_scalars` one for each of its curves. A folder named after a split, as Keras writes them, is
    that of its metrics.
    """
    logged: list[tuple[int, int, str, Any]] = []
    settings = dict(hparams(path.parent))
    for event in _events(path):
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "hparams":
                settings |= _hparams(value.metadata.plugin_data.content)
            elif value.tag != _HP_METRIC and (found := _number(value)) is not None:
                logged.append((len(logged) + 1, event.step, value.tag, found))
    folder, is_lightning = path.parent, has_hparams(path.parent)
    if settings and not is_lightning and any(folder.parent.glob(f"*{_MARK}*")):
        # The last values once more, at a step that is not theirs.
        folder, logged = folder.parent, []
    rows = log.long_rows(logged)
    name, prefix = _place(folder, set(rows[METRIC]))
    rows = rows.with_columns((prefix + pl.col(METRIC)).alias(METRIC))
    yield LoggedRun(name, rows, settings, of_batches if is_lightning else None)


def _place(folder: Path, metrics: set[str]) -> tuple[Path, str]:
    """Return the folder of the run whose metrics are in a folder, and what precedes their names."""
    if len(metrics) == 1:
        [metric] = metrics
        # PyTorch's add_scalars writes into METRIC_CURVE, and tensorboardX's into METRIC/CURVE.
        begin = f"{metric.replace('/', '_').replace(' ', '_')}_"
        if folder.name.startswith(begin):
            return folder.parent, f"{folder.name.removeprefix(begin)}/"
        if folder.parent.as_posix().endswith(f"/{metric}"):
            return folder.parents[len(Path(metric).parts)], f"{folder.name}/"
    if folder.name.lower() in words.SPLIT_WORDS:
        return folder.parent, f"{folder.name}/"
    return folder, ""


def _events(path: Path) -> Iterator[Any]:
    """Yield the events of a file, up to one that a killed process left in part."""
    with libraries_of("logs", "reading event files needs"):
        from tensorboardX.proto.event_pb2 import Event
    from google.protobuf.message import DecodeError

    data, at = memoryview(log.content(path)), 0
    while at + _HEAD < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        end = at + _HEAD + length
        if end > len(data):
            break
        try:
            event = Event.FromString(bytes(data[at + _HEAD : end]))
        except DecodeError as error:
            reason = f"the record at byte {at:,} is not an event: it was cut short or altered"
            raise Position(path, 0).error(None, reason) from error
        yield event
        at = end + _TAIL


def _number(value: Any) -> Any:
    """Return the number of a scalar as NumPy's type has it; None for what is not a scalar.

    Printed, a 32-bit number is the shortest decimal that rounds to it: the one that was logged.
    """
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return np.float32(value.simple_value)
    tensor = value.tensor
    if kind != "tensor" or tensor.dtype not in _NUMBERS:
        return None
    lists = (tensor.float_val, tensor.double_val, tensor.int_val, tensor.int64_val)
    written = np.frombuffer(tensor.tensor_content, _NUMBERS[tensor.dtype])
    numbers = [*written, *(number for each in lists for number in each)]
    if len(numbers) != 1:
        return None
    return np.float32(numbers[0]) if tensor.dtype == 1 else numbers[0]


def _hparams(plugin_data: bytes) -> dict[str, str]:
    """Return the settings of a session, as texts."""
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    found = HParamsPluginData.FromString(plugin_data).session_start_info.hparams
    kinds = {name: value.WhichOneof("kind") for name, value in found.items()}
    return {
        # TensorBoard has no whole numbers.
        name: str(given).removesuffix(".0") if kind == "number_value" else str(given)
        for name, kind in kinds.items()
        if kind and (given := getattr(found[name], kind)) is not None
    }


def _has_tables(path: Path, names: set[str]) -> bool:
    """Return whether a file is a SQLite database with these tables."""
    if not log.begins(path, {".db", ".sqlite"}).startswith(_SQLITE):
        return False
    # A database that is damaged may be of another program.
    with contextlib.suppress(RunsError):
        return names <= {name for (name,) in _select(path, "SELECT name FROM sqlite_master")}
    return False


def _select(path: Path, query: str) -> list[tuple[Any, ...]]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()
    except sqlite3.Error as error:
        raise RunsError(f"{path} cannot be read as a SQLite database: {error}") from error


def is_mlflow(path: Path) -> bool:
    """Return whether a file is the description of a run in mlruns, or a database of runs."""
    if path.name == "meta.yaml":
        return is_folder(path.parent / "metrics")
    return _has_tables(path, {"runs", "metrics", "params"})


def read_mlflow(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a folder, or the runs of a database; deleted ones are dropped."""
    if path.name == "meta.yaml":
        about = read_document(path)
        if about.get("lifecycle_stage") != "deleted":
            params = {
                name: "\n".join(log.lines(file)) for name, file in _files(path.parent / "params")
            }
            status = _STATUSES.get(about.get("status", ""), "")
            yield _run(about.get("run_id", path.parent.name), status, params, _points(path.parent))
        return
    params_of: dict[str, dict[str, str]] = defaultdict(dict)
    for run, name, value in _select(path, _PARAMS):
        params_of[run][name] = value
    points: dict[str, list[Point]] = defaultdict(list)
    for run, time, step, name, value, is_nan in _select(path, _METRICS):
        # Numbers that SQL lacks are stored as others.
        finite = repr(value) if abs(value) < _INFINITY else f"{'-' if value < 0 else ''}inf"
        points[run].append((time, step, name, "nan" if is_nan else finite))
    for run, status in _select(path, _RUNS):
        yield _run(run, status, params_of[run], points[run])


def _run(name: str, status: str, params: Mapping[str, str], points: Iterable[Point]) -> LoggedRun:
    # One that finished may have diverged, which its values show.
    unfinished = {} if status == "FINISHED" else {"status": status}
    in_time = enumerate(sorted(points), start=1)
    rows = ((number, step, metric, value) for number, (_, step, metric, value) in in_time)
    found = log.long_rows(rows)
    at_updates = of_batches if counts_batches(found) else None
    return LoggedRun(name, found, {**params, **unfinished}, at_updates)


def _points(folder: Path) -> Iterator[Point]:
    """Yield the values of a run's metrics."""
    for metric, file in _files(folder / "metrics"):
        for number, line in enumerate(log.lines(file), start=1):
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


def is_trackio(path: Path) -> bool:
    """Return whether a file is a project's database, or a fragment with metrics in an inbox."""
    beginning = log.begins(path, {".jsonl"})
    is_fragment = all(part in beginning for part in _FRAGMENT)
    return is_fragment or _has_tables(path, {"metrics", "configs", "system_metrics"})


def read_trackio(path: Path) -> Iterator[LoggedRun]:
    """Yield the runs of a project."""
    rows: dict[str, list[tuple[int, Any, str, Any]]] = defaultdict(list)
    configs: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for line, record in _records(path):
        run = record.get("run_id") or record["run"]
        names[run] = record["run"]
        configs[run] = record.get("config") or configs.get(run, {})
        values = log.flat(record["metrics"], "/").items()
        rows[run] += ((line, record["step"], metric, value) for metric, value in values)
    counts = Counter(names.values())
    for run, of_run in rows.items():
        given = {key: each for key, each in configs[run].items() if not key.startswith("_")}
        # Another run may have the same name.
        name = names[run] if counts[names[run]] == 1 else f"{names[run]}/{run}"
        found, settings = log.long_rows(of_run), log.settings_of(given)
        yield LoggedRun(name, found, settings, partial(_of_calls, path))


def _of_calls(path: Path, rows: pl.DataFrame, run: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose steps are the updates that the run logged beside them, where it did so.

    trackio counts calls, unless a step is given.

    Raises:
        RunsError: a call of such a run lacks its updates.
    """
    counter = words.counter(run[METRIC].unique(maintain_order=True))
    if counter is None:
        return rows
    counts = run.filter(pl.col(METRIC) == counter).select(STEP, VALUE).iter_rows()
    if all(same(step) == same(text) for step, text in counts):
        return rows
    updates = pl.col(VALUE).filter(pl.col(METRIC) == counter).first().over(LINE)
    rows = rows.with_columns(updates.alias(STEP)).filter(pl.col(METRIC) != counter)
    for line in rows.filter(pl.col(STEP).is_null())[LINE].head(1):
        reason = f"it has no {counter}, which counts the updates of other calls"
        raise Position(path, line).error(None, f"{reason}: log it in each of trackio.log")
    return rows


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what was logged at a time, as fragments have it."""
    if path.suffix == ".jsonl":
        for number, line in enumerate(log.lines(path), start=1):
            record = log.parse(line, path, number)
            if record.get("kind") == "metric":
                yield number, record
        return
    configs = dict(_select(path, "SELECT run_id, config FROM configs"))
    configs = {run: log.parse(text, path) for run, text in configs.items()}
    for number, (run, name, step, text) in enumerate(_select(path, _TRACKED), start=1):
        logged = {"step": step, "metrics": log.parse(text, path), "config": configs.get(run)}
        yield number, {"run": name, "run_id": run, **logged}
