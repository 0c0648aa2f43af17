"""Journals of trials in training, and how they become shards of a release.

A journal has a line for what is known before the trial, one for each time that it logs, and one at
its end.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec import Struct

from dbtool.core.contract import SPLITS
from dbtool.core.errors import DbtoolError
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
)
from dbtool.core.index import ClashError
from dbtool.core.walk import entries
from dbtool.sources.tables.words import GOALS, trained

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from dbtool.core.index import Index

    # By step and name.
    Rows = Mapping[int, Mapping[str, float]]

FOLDER, ENDING = ".records", ".jsonl"
COMPLETE = b'"COMPLETE"'
_LOCK_SECONDS = 600.0


class Header(Struct, frozen=True, kw_only=True):
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


def recover(folder: Path) -> int:
    """Store what processes that were killed had recorded; return the number of their trials.

    Raises:
        DbtoolError: the folder cannot be read or written, or a trial cannot be stored, whose
            journal stays; the others are stored.
    """
    stored, failure = 0, None
    for entry in entries(folder / FOLDER):
        if not entry.name.endswith(ENDING):
            continue
        # Another process may have stored and removed it.
        with contextlib.suppress(FileNotFoundError), Path(entry.path).open("rb+") as journal:
            try:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if os.fstat(journal.fileno()).st_nlink:
                try:
                    stored += store(folder, journal)
                except DbtoolError as error:
                    failure = failure or error
    if failure:
        raise failure
    return stored


def store(folder: Path, journal: BinaryIO) -> bool:
    """Add the trial of a journal to the release, and remove the journal; False if it is empty."""
    from dbtool.core.manifest import About, is_release, read_manifest
    from dbtool.core.release import locked
    from dbtool.core.writer import ReleaseWriter

    header, rows, status = _read(journal)
    path = Path(journal.name)
    if header is not None and rows:
        # Trials get their numbers one process after the other.
        with locked(folder / FOLDER, _LOCK_SECONDS, f"the trial is kept in {path}"):
            about = About(release=folder.resolve().name)
            if is_release(folder):
                about = read_manifest(folder).about
            try:
                with ReleaseWriter(folder, about) as writer:
                    source = hashlib.sha256(path.stem.encode()).hexdigest()
                    footer = footer_of(header, rows, status, source, writer.index)
                    held = writer.index.trials_of(*footer.study.key).values()
                    if all(row["source"] != source for row in held):
                        writer.write(footer, [_table(footer.trials[0].trial_id, rows)])
            except (ClashError, FooterError) as error:
                raise type(error)(
                    f"{error}; the trial is kept in {path}: move it to {FOLDER} of another "
                    "release folder, and list it with `dbtool index`"
                ) from error
    path.unlink(missing_ok=True)
    return bool(rows)


def _read(journal: BinaryIO) -> tuple[Header | None, Rows, Status]:
    """Return what a journal has: the header, metrics by step, and how the trial ended."""
    journal.seek(0)
    first, *lines = journal.read().split(b"\n")
    header, rows, last = None, dict[int, dict[str, float]](), dict[str, int]()
    # The last line of a process that was killed may be a part.
    with contextlib.suppress(msgspec.MsgspecError):
        header = msgspec.json.decode(first, type=Header)
        for line in lines[:-1]:
            if line != COMPLETE:
                step, values = msgspec.json.decode(line, type=tuple[int, dict[str, float | str]])
                if any(step < last.get(name, 0) for name in values):
                    rows = {at: row for at, row in rows.items() if at <= step}
                last |= dict.fromkeys(values, step)
                numbers = {name: float(value) for name, value in values.items()}
                rows[step] = rows.get(step, {}) | numbers
    status: Status = "COMPLETE" if COMPLETE in lines else "INCOMPLETE"
    return header, dict(sorted(rows.items())), status


def footer_of(header: Header, rows: Rows, status: Status, source: str, index: Index) -> Footer:
    """Return the footer of a trial's shard."""
    study = study_of(header, rows, index)
    steps = max(rows)
    names = dict.fromkeys(name for row in rows.values() for name in row)
    own = trained(names) or [study.workload.metric]
    ends = [
        next((row[name] for row in reversed([*rows.values()]) if name in row), 0) for name in own
    ]
    if not all(map(math.isfinite, ends)):
        status = "INFEASIBLE"
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
    return Footer(study=study, trials=(trial,), producer={"source": "dbtool.record"})


def study_of(header: Header, rows: Rows, index: Index) -> Study:
    """Return a trial's study, which has what the release knows of it where it is not given."""
    name = "/".join(header.names.values())
    recorded = dict.fromkeys(metric for row in rows.values() for metric in row)
    usual = [metric for metric in GOALS if metric in recorded]
    split = [metric for metric in recorded if metric.partition("_")[0] in SPLITS]
    metric = next(iter([*usual, *split]), GOALS[0])
    new = msgspec.convert({"workload": name, "metric": metric, **header.names}, Workload)
    held = index.workloads.get(name, new)
    of_goal = {each: getattr(header, each) for each in ("metric", "goal", "train_examples")}
    given = {each: value for each, value in of_goal.items() if value is not None}
    size, steps = header.batch_size, header.train_steps
    workload = msgspec.structs.replace(held, **given)
    study = index.studies.get((name, size))
    study = study or Study(workload=workload, batch_size=size, train_steps=steps or 0)
    steps = study.train_steps if steps is None else steps
    return msgspec.structs.replace(study, workload=workload, train_steps=steps)


def _table(trial_id: int, rows: Rows) -> pa.Table:
    import pyarrow as pa

    from dbtool.core.rows import with_other_metrics

    metrics = dict.fromkeys((name for row in rows.values() for name in row), pa.float64())
    schema = pa.schema({"trial_id": pa.int32(), "step": pa.int64(), **metrics})
    dicts = [{"trial_id": trial_id, "step": step, **row} for step, row in rows.items()]
    table = pa.Table.from_pylist(dicts, schema)
    return with_other_metrics(dict(zip(schema.names, table.columns, strict=True)))
