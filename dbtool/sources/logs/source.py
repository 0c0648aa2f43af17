"""Reads logs as own runs: their columns are known, and a mapping gives what they do not state."""

import os
import shlex
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any

import polars as pl

from dbtool.core.checks import read_toml
from dbtool.core.contract import BATCH_LOSS
from dbtool.core.errors import DbtoolError, UsageError, few_of, joined
from dbtool.core.walk import is_file, is_folder
from dbtool.sources.logs import LogFormat, stores, trainers
from dbtool.sources.logs.log import COLUMNS, METRIC, RUN, STEP, VALUE, LoggedRun, named_settings
from dbtool.sources.numbers import whole_number
from dbtool.sources.tables.files import files_of
from dbtool.sources.tables.guess import Guess, mapping_text
from dbtool.sources.tables.layout import Layout
from dbtool.sources.tables.mapping import Tables, listed, mapping_of, merged
from dbtool.sources.tables.source import RunSource, runs_of
from dbtool.store.table_files import Notes, Problems, RunsError, shown

# By tool, whether a file is one of its logs, and the runs in one.
_TOOLS: Mapping[LogFormat, tuple[Callable[[Path], bool], Callable[..., Iterable[LoggedRun]]]] = {
    "tensorboard": (stores.is_tensorboard, stores.read_tensorboard),
    "huggingface": (trainers.is_huggingface, trainers.read_huggingface),
    "mlflow": (stores.is_mlflow, stores.read_mlflow),
    "lightning": (trainers.is_lightning, trainers.read_lightning),
    "keras": (trainers.is_keras, trainers.read_keras),
    "levanter": (trainers.is_levanter, trainers.read_levanter),
    "trackio": (stores.is_trackio, stores.read_trackio),
    "text": (trainers.is_text_log, trainers.read_text),
}
# Enough to tell percents from shares.
_FIRST_VALUES = 20
_EPOCH = "epoch"


def read_logs(
    paths: Sequence[Path],
    tool: LogFormat,
    mapping: Path | None = None,
    given: Tables | None = None,
    *,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> RunSource:
    """Read the runs in a tool's logs; see `read_own_runs`.

    The mapping, if there is one, has what the logs do not state, and replaces what they suggest.

    Raises:
        UsageError: the mapping is invalid, or something is not known.
        RunsError, DbtoolError: as in `read_own_runs`.
    """
    written = {} if mapping is None else read_toml(mapping, dict[str, Any], "mapping")
    notes = Notes()
    rows, layout = _read(paths, tool, written.get("files", {}), notes, on_progress)
    suggested = tomllib.loads(mapping_text(layout, _folder(paths[0])))
    if tool != "text":
        # A tool knows its runs: of a step that was taken again, the last is the run's.
        suggested["files"]["repeated_steps"] = "last"
    if BATCH_LOSS in suggested["metrics"] and suggested["workload"]["metric"] == "?":
        # Only training was logged.
        suggested["workload"]["metric"] = BATCH_LOSS
    if isinstance(named := written.get("metrics"), dict):
        taken = [_column_of(each) for each in named.values()]
        metrics = suggested["metrics"].items()
        suggested["metrics"] = {key: each for key, each in metrics if _column_of(each) not in taken}
    tables = merged(suggested, merged(written, given or {}))
    _refuse_unknown(tables, tool, paths[0])
    return runs_of(list(rows), mapping_of(tables, mapping), rows.__getitem__, notes, are_logs=True)


def guess_logs(paths: Sequence[Path], tool: LogFormat) -> Guess:
    """Write the mapping that logs suggest, with ? for what they do not state."""
    rows, layout = _read(paths, tool, {}, Notes())
    return Guess(mapping_text(layout, _folder(paths[0])), tool, len(rows))


def detected(paths: Sequence[Path]) -> LogFormat | None:
    """Return the tool that wrote the logs in files and folders; None where there are none.

    Raises:
        UsageError: several tools wrote some.
        AccessError: a folder cannot be read.
    """
    files = [file for path in paths for file in files_of(path, is_file) if is_file(file)]
    # Any text might be a log of lines.
    first = {
        name: found
        for name, (is_log, _) in _TOOLS.items()
        if name != "text" and (found := next(filter(is_log, files), None))
    }
    if len(first) > 1:
        several = ", ".join(f"--from {tool}, as of {path}" for tool, path in first.items())
        raise UsageError(f"several tools wrote logs into {_few(paths)}: give one of {several}")
    return next(iter(first), None)


def _read(
    paths: Sequence[Path],
    tool: LogFormat,
    files: Mapping[str, Any],
    notes: Notes,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[dict[Path, list[pl.DataFrame]], Layout]:
    """Return the rows of each log, with the settings of their runs as columns, and the layout."""
    problems, (_, read) = Problems(), _TOOLS[tool]
    if tool == "text":
        if "line" not in files:
            raise UsageError(
                "--from text needs the form of the lines: write [files] with a line such as "
                'line = "iter {step}: loss {loss}" into a file, and name it with --map'
            )
        read = partial(read, forms=listed(files["line"]))
    found = _found(paths, tool)
    parts: dict[Path, list[tuple[str, LoggedRun]]] = {}
    of_run: dict[str, list[pl.DataFrame]] = defaultdict(list)
    settings: dict[str, dict[str, str]] = {}
    places: dict[str, Path | str] = {}
    for number, (path, above) in enumerate(found.items(), start=1):
        with problems:
            parts[path] = [(_name(each.name, above), each) for each in read(path)]
            # Other tools write files beside those of measurements.
            if tool == "text" and all(run.rows.is_empty() for _, run in parts[path]):
                notes.of_file(path, "no line has the form that files.line gives")
            for name, each in parts[path]:
                _refuse_other_place(name, each.name, places)
                if each.note:
                    notes.of_file(path, each.note)
                of_run[name].append(each.rows)
                settings.setdefault(name, named_settings(name)).update(each.settings)
        on_progress(number, len(found))
    problems.refuse()
    step = _EPOCH if tool == "keras" else STEP
    rows = {
        path: [_rows_of(name, each, of_run[name], settings[name], step) for name, each in runs]
        for path, runs in parts.items()
    }
    every = pl.concat([frame for frames in rows.values() for frame in frames], how="diagonal")
    if every.is_empty():
        reasons = notes.sentences() or [f"{_few(paths)}: the logs have no measurements"]
        raise DbtoolError("; ".join(reasons))
    _refuse_without_steps(every, step)
    first = every.group_by(RUN, METRIC, maintain_order=True).head(_FIRST_VALUES)
    layout = Layout(len(rows), first.select(step, METRIC, VALUE), step, METRIC, VALUE, keys=[RUN])
    # Keras counts epochs from 0, and a log may begin later; others count from 1.
    layout.plus = int(step == _EPOCH and min(whole_number(text) or 0 for text in first[step]) != 1)
    for name in {name for each in settings.values() for name in each}:
        texts = [each[name] for each in settings.values() if each.get(name)]
        layout.run_texts[_column(name)] = texts
    return rows, layout


def _refuse_other_place(name: str, place: Path | str, places: dict[str, Path | str]) -> None:
    """Refuse a run with the name of one in another folder."""
    first = places.setdefault(name, place)
    if isinstance(first, Path) and isinstance(place, Path) and first.resolve() != place.resolve():
        above = os.path.commonpath([first.absolute(), place.absolute()])
        raise RunsError(
            f"{first} and {place} would both be run {shown(name)}: name {above}, which has both, "
            "or a pattern in quotes"
        )


def _rows_of(
    name: str, run: LoggedRun, of_run: list[pl.DataFrame], settings: dict[str, str], step: str
) -> pl.DataFrame:
    """Return the rows of a file of a run with its settings as columns, at their updates."""
    rows = run.at_updates(run.rows, pl.concat(of_run)) if run.at_updates else run.rows
    texts = {RUN: name, **run.about, **{_column(key): text for key, text in settings.items()}}
    columns = [pl.lit(text or None, pl.String).alias(key) for key, text in texts.items()]
    return rows.rename({STEP: step}).with_columns(columns)


def _refuse_without_steps(rows: pl.DataFrame, step: str) -> None:
    """Refuse a metric whose values are all at one step, as MLflow has them where none was given."""
    kinds, steps = pl.col(VALUE).n_unique(), pl.col(step).n_unique()
    counts = rows.group_by(RUN, METRIC, maintain_order=True)
    wrong = counts.agg(pl.len(), wrong=(kinds > 1) & (steps == 1)).filter("wrong")
    for run, metric, count, _ in wrong.head(1).iter_rows():
        raise RunsError(
            f"run {shown(run)} has {count:,} values of {shown(metric)} at one step: its steps were "
            "not logged, so the run has no history"
        )


def _found(paths: Sequence[Path], tool: LogFormat) -> dict[Path, Path]:
    """Return the logs that paths stand for, each with the folder in which its run has its name."""
    found: dict[Path, Path] = {}
    for path in paths:
        there = files_of(path, _TOOLS[tool][0])
        if not there:
            other = detected([path])
            instead = f"; there is one of {other}: give --from {other}" if other else ""
            raise UsageError(f"no log of {tool} is in {path}{instead}")
        if is_folder(path):
            above = path
        elif is_file(path):
            above = path.parent.parent
        else:
            above = next(each for each in path.parents if not has_magic(str(each)))
        found |= {each: above for each in there if each not in found}
    return found


def _name(name: Path | str, above: Path) -> str:
    """Return the name of a run: its path in the folder that was named, or its folder's own."""
    if isinstance(name, str):
        return name
    # A link may lead to a run that is there, too, or out of the folder; and a run may be above it,
    # as that of a checkpoint that was named.
    for folder, top in ((name.resolve(), above.resolve()), (name.absolute(), above.absolute())):
        if top in folder.parents:
            return folder.relative_to(top).as_posix()
    return name.resolve().name


def _column(setting: str) -> str:
    return f"config.{setting}" if setting in {*COLUMNS, _EPOCH} else setting


def _folder(path: Path) -> Path:
    """Return the folder that names the release."""
    return path.resolve() if is_folder(path) else path.resolve().parent


def _column_of(metric: Any) -> Any:
    return metric.get("column") if isinstance(metric, dict) else metric


def _refuse_unknown(mapping: Mapping[str, Any], tool: str, path: Path) -> None:
    """Refuse a mapping with ? for what the logs do not state."""
    unknown = [name for name, value in mapping["workload"].items() if value == "?"]
    ways = ["--workload DATASET/MODEL/OPTIMIZER"] if set(unknown) - {"metric"} else []
    if "metric" in unknown:
        ways.append("[workload] metric and [metrics] in a mapping")
    if mapping["study"].get("batch_size") == "?":
        unknown.append("batch size")
        ways.append("--batch-size N (of all devices, with accumulated gradients)")
    step = mapping["files"]["step"]
    if isinstance(step, dict) and step.get("times") == "?":
        unknown.append("updates in an epoch")
        plus = ", plus = 1" if step.get("plus") else ""
        ways.append(f'[files] step = {{ column = "{_EPOCH}", times = N{plus} }} in a mapping')
    if unknown:
        raise UsageError(
            f"the logs of {tool} in {path} do not state the {joined(unknown)}: give "
            f"{joined(ways)}; `dbtool ingest --guess {shlex.quote(str(path))}` prints "
            "a mapping of what they state, for --map"
        )


def _few(paths: Sequence[Path]) -> str:
    return few_of([str(path) for path in paths], 3)
