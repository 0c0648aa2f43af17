"""Records a training loop into a release folder while it runs.

Each value is appended to a journal of the trial at once, which becomes a shard when the trial ends.
The journal of a process that was killed becomes one with the next `record` in the same folder, or
with `dbtool index`. Many processes may record into one folder at the same time.

A journal has a line for what is known before the trial, one for each time that it logs, and one at
its end.
"""

import contextlib
import datetime as dt
import fcntl
import functools
import hashlib
import math
import os
import platform
import secrets
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
from msgspec import Struct

from dbtool import __version__
from dbtool.core.checks import require_goal, require_number, require_whole
from dbtool.core.contract import KEYS, OTHER_METRICS, SPLITS, direction_note, is_share
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded, make_folder
from dbtool.core.footer import (
    BatchSize,
    Count,
    Footer,
    FooterError,
    Integer,
    Scalar,
    Status,
    Study,
    Trial,
    Workload,
    encode_footer,
    plain,
    workload_names,
)
from dbtool.core.index import ClashError, Index, differences
from dbtool.core.manifest import About, is_release, read_manifest
from dbtool.core.release import locked, read_release, telling_of_change
from dbtool.core.rows import with_other_metrics
from dbtool.core.walk import entries
from dbtool.core.writer import ReleaseWriter
from dbtool.sources.tables.words import GOALS, losses

# By step and name.
Rows = Mapping[int, Mapping[str, float]]

_FOLDER, _ENDING = ".records", ".jsonl"
_COMPLETE = b'"COMPLETE"'
_LOCK_SECONDS = 600.0


class _Header(Struct, frozen=True, kw_only=True):
    """The first line of a journal: what is known of a trial before it trains."""

    names: dict[str, str]
    batch_size: BatchSize
    metric: str | None
    goal: float | None
    train_examples: Count | None
    train_steps: Count | None
    metaparameters: dict[str, Scalar]
    seed: Integer | None
    name: str | None


class Recorder:
    """A trial in training; see `dbtool.record`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.tell()
        self._last: dict[str, int] = {}

    def log(self, step: int, **metrics: float) -> None:
        """Record metrics after an update, such as `batch_cross_entropy_error` of its own batch.

        Args:
            step: the updates so far. Where it is below the last one of a metric, training went on
                from an older checkpoint, and rows beyond it are dropped.
            metrics: by name; names that are not columns of the database are kept, too.

        Raises:
            UsageError: the step is not a whole number from 0, an error is not a share, or the trial
                has ended.
            DbtoolError: the journal cannot be written.
        """
        if self._file.closed:
            raise UsageError("the trial has ended: log within the block of dbtool.record")
        step = require_whole("step", step, least=0)
        values = {name: _checked(name, value, step) for name, value in metrics.items()}
        last = max((self._last.get(name, 0) for name in values), default=0)
        if step < last:
            warnings.warn(
                f"step {step:,} follows {last:,}: rows beyond it are dropped", stacklevel=2
            )
        self._last |= dict.fromkeys(values, step)
        line = msgspec.json.encode([step, values]) + b"\n"
        try:
            self._file.write(line)
        except OSError as error:
            # Half a line would damage the next one.
            self._file.truncate(self._size)
            raise DbtoolError(
                f"cannot write to {self._file.name}: {error.strerror}; what was recorded is kept; "
                "free some space"
            ) from error
        self._size += len(line)

    def evaluate(self, step: int, **metrics: float) -> None:
        """Record an evaluation, such as `val_classification_error`.

        Raises:
            UsageError, DbtoolError: as in `log`; or a name does not begin with its split.
        """
        for name in metrics:
            if not name.startswith(("train_", "val_", "test_")):
                raise UsageError(
                    f"{name} does not say what it was evaluated on: name it train_…, val_… or "
                    "test_…, or call log"
                )
        self.log(step, **metrics)


@contextlib.contextmanager
def record(
    folder: str | os.PathLike[str],
    *,
    workload: str,
    batch_size: int,
    metaparameters: Mapping[str, float | bool | str] | None = None,
    seed: int | None = None,
    metric: str | None = None,
    goal: float | None = None,
    train_examples: int | None = None,
    train_steps: int | None = None,
    name: str | None = None,
) -> Iterator[Recorder]:
    """Record a trial into a release folder, which is created where it is missing.

    The trial is COMPLETE where the block ends or its last evaluation is past the goal, else
    INCOMPLETE where it raises an error or took fewer steps than `train_steps`, and INFEASIBLE where
    the last loss is not finite. A warning says where the release was published and is not any more.

    Example:
        >>> with dbtool.record("runs", workload="mnist/mlp/sgd", batch_size=64) as trial:
        ...     for step in range(1, 1001):
        ...         trial.log(step, batch_cross_entropy_error=update())
        ...     trial.evaluate(step, val_classification_error=evaluate())

    Args:
        folder: the release folder, which has its name.
        workload: DATASET/MODEL/OPTIMIZER, maybe with a collection before it.
        batch_size: the global batch size, in examples.
        metaparameters: such as learning_rate; numbers, truths or texts.
        seed: of initialisation and batch order.
        metric: the metric of the goal; None: the workload's, or the first usual one recorded.
        goal: the target of the metric; None: the workload's, if it has one.
        train_examples: size of the training split.
        train_steps: the updates that a trial needs to be COMPLETE.
        name: of the run; None for none.

    Raises:
        UsageError: an argument is not valid, or is not what the release has of the workload.
        DbtoolError: the folder cannot be written, or the release has changed so that the trial
            contradicts it; what was recorded stays in its journal.
    """
    path = expanded(folder)
    for rate in ("learning_rate", "momentum"):
        if metaparameters and isinstance(metaparameters.get(rate), str):
            require_number(rate, metaparameters[rate])
    given = {
        "names": workload_names(workload, "workload"),
        "batch_size": require_whole("batch_size", batch_size),
        "metric": metric,
        "goal": goal,
        "train_examples": train_examples,
        "train_steps": train_steps,
        "metaparameters": {key: plain(value) for key, value in (metaparameters or {}).items()},
        "seed": seed,
        "name": name,
    }
    try:
        header = msgspec.convert(given, _Header)
    except msgspec.ValidationError as error:
        raise UsageError(f"dbtool.record: {str(error).replace('`', '')}") from error
    # The level of the caller's `with`.
    with telling_of_change(path, functools.partial(warnings.warn, stacklevel=5)):
        # `dbtool index` reports a trial that cannot be stored; it must not stop others.
        with contextlib.suppress(DbtoolError):
            recover(path)
        _refuse(path, header)
        make_folder(path / _FOLDER, "name another one")
        place = path / _FOLDER / f"{secrets.token_hex(8)}{_ENDING}"
        with place.open("xb+", buffering=0) as journal:
            fcntl.flock(journal, fcntl.LOCK_EX)
            journal.write(msgspec.json.encode(header) + b"\n")
            try:
                yield Recorder(journal)
                journal.write(_COMPLETE + b"\n")
            finally:
                _store(path, journal)


def _checked(name: str, value: Any, step: int) -> Scalar:
    try:
        # PyTorch warns of a loss that would be trained on.
        number = float(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} is {value!r} at step {step:,}, and should be a number") from error
    if is_share(name) and math.isfinite(number) and not 0 <= number <= 1:
        raise UsageError(
            f"{name} is {number:g} at step {step:,}, and should be a share from 0 to 1"
        )
    if not name.isprintable():
        raise UsageError(f"the metric {name!r} is not a name that can be printed")
    if name in KEYS or name == OTHER_METRICS:
        raise UsageError(f"the database has another {name}: rename the metric")
    return plain(number)


def _refuse(folder: Path, header: _Header) -> None:
    """Refuse a trial that could not be stored, or of which the release has something else."""
    index = Index.from_tables(read_release(folder)[1]) if is_release(folder) else Index()
    study = _study_of(header, {}, index)
    if header.goal is not None:
        is_known = header.metric or study.workload.workload in index.workloads
        if not is_known and not 0 <= header.goal <= 1:
            raise UsageError(f"the goal {header.goal:g} is no share: tell its metric with metric=")
        require_goal(header.goal, study.workload.metric)
        note = direction_note(study.workload.metric)
        if note and study.workload.workload not in index.workloads:
            # Beyond this function, `record` and contextlib's.
            warnings.warn(note, stacklevel=4)
    differing = differences(index.workloads.get(study.workload.workload), study.workload)
    if differing := differing or differences(index.studies.get(study.key), study):
        raise UsageError(
            f"{folder} has {study.workload.workload} with another {', '.join(differing)}: give the "
            "same, or record into another folder"
        )
    try:
        encode_footer(_footer_of(header, {0: {}}, "INCOMPLETE", "", index))
    except FooterError as error:
        raise UsageError(f"dbtool.record: the trial could not be stored, since {error}") from error


def recover(folder: Path) -> int:
    """Store what processes that were killed had recorded; return the number of their trials.

    Raises:
        DbtoolError: the folder cannot be read or written, or a trial cannot be stored, whose
            journal stays; the others are stored.
    """
    stored, failure = 0, None
    for entry in entries(folder / _FOLDER):
        if not entry.name.endswith(_ENDING):
            continue
        # Another process may have stored and removed it.
        with contextlib.suppress(FileNotFoundError), Path(entry.path).open("rb+") as journal:
            try:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if os.fstat(journal.fileno()).st_nlink:
                try:
                    stored += _store(folder, journal)
                except DbtoolError as error:
                    failure = failure or error
    if failure:
        raise failure
    return stored


def _store(folder: Path, journal: BinaryIO) -> bool:
    """Add the trial of a journal to the release, and remove the journal; False if it is empty."""
    header, rows, status = _read(journal)
    path = Path(journal.name)
    if header is not None and rows:
        # Trials get their numbers one process after the other.
        with locked(folder / _FOLDER, _LOCK_SECONDS, f"the trial is kept in {path}"):
            own = About(release=folder.resolve().name)
            about = read_manifest(folder).about if is_release(folder) else own
            try:
                with ReleaseWriter(folder, about) as writer:
                    source = hashlib.sha256(path.stem.encode()).hexdigest()
                    footer = _footer_of(header, rows, status, source, writer.index)
                    held = writer.index.trials_of(*footer.study.key).values()
                    if all(row["source"] != source for row in held):
                        writer.write(footer, [_table(footer.trials[0].trial_id, rows)])
            except (ClashError, FooterError) as error:
                raise type(error)(
                    f"{error}; the trial is kept in {path}: move it to {_FOLDER} of another "
                    "release folder, and list it with `dbtool index`"
                ) from error
    path.unlink(missing_ok=True)
    return bool(rows)


def _read(journal: BinaryIO) -> tuple[_Header | None, Rows, Status]:
    """Return what a journal has: the header, metrics by step, and how the trial ended."""
    journal.seek(0)
    first, *lines = journal.read().split(b"\n")
    header, rows, last = None, dict[int, dict[str, float]](), dict[str, int]()
    # The last line of a process that was killed may be a part.
    with contextlib.suppress(msgspec.MsgspecError):
        header = msgspec.json.decode(first, type=_Header)
        for line in lines[:-1]:
            if line != _COMPLETE:
                step, values = msgspec.json.decode(line, type=tuple[int, dict[str, float | str]])
                if any(step < last.get(name, 0) for name in values):
                    rows = {at: row for at, row in rows.items() if at <= step}
                last |= dict.fromkeys(values, step)
                numbers = {name: float(value) for name, value in values.items()}
                rows[step] = rows.get(step, {}) | numbers
    status: Status = "COMPLETE" if _COMPLETE in lines else "INCOMPLETE"
    return header, dict(sorted(rows.items())), status


def _footer_of(header: _Header, rows: Rows, status: Status, source: str, index: Index) -> Footer:
    """Return the footer of a trial's shard."""
    study = _study_of(header, rows, index)
    steps = max(rows)
    last = {name: value for row in rows.values() for name, value in row.items()}
    own = losses(last) or [study.workload.metric]
    if not all(math.isfinite(last.get(name, 0)) for name in own):
        status = "INFEASIBLE"
    elif study.workload.goal is not None and study.workload.is_past(
        last.get(study.workload.metric, math.nan)
    ):
        # For the goal it is whole.
        status = "COMPLETE"
    elif status == "COMPLETE" and steps < (header.train_steps or 0):
        status = "INCOMPLETE"
    if study.key not in index.studies and header.train_steps is None and status == "COMPLETE":
        study = msgspec.structs.replace(study, train_steps=steps)
    trial = Trial(
        trial_id=max(index.trials_of(*study.key), default=-1) + 1,
        status=status,
        steps=steps,
        metaparameters=header.metaparameters,
        seed=header.seed,
        name=header.name,
        source=source,
    )
    producer = {
        "dbtool": __version__,
        "python": platform.python_version(),
        "source": "dbtool.record",
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }
    return Footer(study=study, trials=(trial,), producer=producer)


def _study_of(header: _Header, rows: Rows, index: Index) -> Study:
    """Return a trial's study, which has what the release knows of it where it is not given."""
    name = "/".join(header.names.values())
    recorded = dict.fromkeys(metric for row in rows.values() for metric in row)
    usual = [metric for metric in GOALS if metric in recorded]
    split = [metric for metric in recorded if metric.partition("_")[0] in SPLITS]
    [metric, *_] = [*usual, *split, GOALS[0]]
    new = msgspec.convert({"workload": name, "metric": metric, **header.names}, Workload)
    held = index.workloads.get(name, new)
    of_goal = {each: getattr(header, each) for each in ("metric", "goal", "train_examples")}
    given = {each: value for each, value in of_goal.items() if value is not None}
    workload, size = msgspec.structs.replace(held, **given), header.batch_size
    study = index.studies.get((name, size))
    study = study or Study(workload=workload, batch_size=size, train_steps=0)
    steps = study.train_steps if header.train_steps is None else header.train_steps
    return msgspec.structs.replace(study, workload=workload, train_steps=steps)


def _table(trial_id: int, rows: Rows) -> pa.Table:
    metrics = dict.fromkeys((name for row in rows.values() for name in row), pa.float64())
    schema = pa.schema({"trial_id": pa.int32(), "step": pa.int64(), **metrics})
    dicts = [{"trial_id": trial_id, "step": step, **row} for step, row in rows.items()]
    table = pa.Table.from_pylist(dicts, schema)
    return with_other_metrics(dict(zip(schema.names, table.columns, strict=True)))
