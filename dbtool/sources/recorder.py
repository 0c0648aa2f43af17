"""Records a training loop into a release folder while it runs.

Each value is appended to a journal of the trial at once, which becomes a shard when the trial ends.
The journal of a process that was killed becomes one with the next `record` in the same folder, or
with `dbtool index`. Many processes may record into one folder at the same time.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import secrets
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from dbtool.core.checks import require_goal, require_number, require_whole
from dbtool.core.contract import KEYS, OTHER_METRICS, is_share
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import expanded, make_folder
from dbtool.core.footer import FooterError, Scalar, encode_footer, plain, workload_names
from dbtool.sources.journals import (
    COMPLETE,
    ENDING,
    FOLDER,
    Header,
    footer_of,
    recover,
    store,
    study_of,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from pathlib import Path


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

    The trial is COMPLETE where the block ends, INCOMPLETE where it raises an error or took fewer
    steps than `train_steps`, and INFEASIBLE where the last loss is not finite.

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
        header = msgspec.convert(given, Header)
    except msgspec.ValidationError as error:
        raise UsageError(f"dbtool.record: {str(error).replace('`', '')}") from error
    # `dbtool index` reports a trial that cannot be stored; it must not stop others.
    with contextlib.suppress(DbtoolError):
        recover(path)
    _refuse(path, header)
    make_folder(path / FOLDER, "name another one")
    place = path / FOLDER / f"{secrets.token_hex(8)}{ENDING}"
    with place.open("xb+", buffering=0) as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        journal.write(msgspec.json.encode(header) + b"\n")
        try:
            yield Recorder(journal)
            journal.write(COMPLETE + b"\n")
        finally:
            store(path, journal)


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


def _refuse(folder: Path, header: Header) -> None:
    """Refuse a trial that could not be stored, or of which the release has something else."""
    from dbtool.core.index import Index, differences
    from dbtool.core.manifest import is_release
    from dbtool.core.release import read_release

    index = Index.from_tables(read_release(folder)[1]) if is_release(folder) else Index()
    study = study_of(header, {}, index)
    if header.goal is not None:
        is_known = header.metric or study.workload.workload in index.workloads
        if not is_known and not 0 <= header.goal <= 1:
            raise UsageError(f"the goal {header.goal:g} is no share: tell its metric with metric=")
        require_goal(header.goal, study.workload.metric)
    differing = differences(index.workloads.get(study.workload.workload), study.workload)
    if differing := differing or differences(index.studies.get(study.key), study):
        raise UsageError(
            f"{folder} has {study.workload.workload} with another {', '.join(differing)}: give the "
            "same, or record into another folder"
        )
    try:
        encode_footer(footer_of(header, {0: {}}, "INCOMPLETE", "", index))
    except FooterError as error:
        raise UsageError(f"dbtool.record: the trial could not be stored, since {error}") from error
