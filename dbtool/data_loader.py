"""The data loader of the release of 2018, on the database.

Code for the authors' `batch_science.data_loader` runs on a database with one change, its import:

    from dbtool.data_loader import load_study, load_workload

Folders are only names here. For example, `batch_science/mnist/simple_cnn_base/sgd/32` names a
workload and a batch size by what follows `batch_science`; no files are read there. Where a path
lacks that part, its last parts are used.

Metadata and values are those that pandas reads from the authors' files, with these differences. The
parts of metadata.json that are marked as internal are missing. The measurements of a trial are
sorted by step, even where its file had another order. A metric without a value in the requested
rows of a study has no column. Nothing is printed.
"""

import contextlib
from collections import OrderedDict
from pathlib import PurePath
from typing import Any

import polars as pl

import dbtool
from dbtool.core.catalog import catalog
from dbtool.core.contract import ARCHIVE_ROOT, OTHER_METRICS, archive_columns
from dbtool.core.errors import UsageError, counted, unknown
from dbtool.release.export import metadata_json, study_json
from dbtool.release.selection import read_rows, select
from dbtool.sources.archive.published import RELEASE
from dbtool.store.questions import unknown_workload

try:
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "dbtool.data_loader returns frames of pandas: install it with `pip install pandas`"
    ) from error

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager

from dbtool.database import Database
from dbtool.release.selection import ExportedStudy

_FEWEST_PARTS = 3  # DATASET/MODEL/OPTIMIZER


def load_study(
    study_dir: str | os.PathLike[str],
    num_trials: int | None = None,
    load_complete_trials: bool = True,
    load_incomplete_trials: bool = False,
    load_infeasible_trials: bool = False,
    *,
    database: Database | None = None,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Load the measurements of the trials of a study.

    Args:
        study_dir: the study's folder in the published archive; it need not exist.
        num_trials: number of the first trials to load; None for all.
        load_complete_trials: whether to load complete trials.
        load_incomplete_trials: whether to load incomplete trials.
        load_infeasible_trials: whether to load infeasible trials, which diverged.
        database: the database; None for that of `dbtool.open()`. Where several releases have the
            study, the database's own release is used, or else `published`.

    Returns:
        The contents of study.json, with the trials' metadata.json by trial id under "trials"; and a
        frame with the archive's columns, indexed by (trial_id, step).

    Raises:
        ValueError: all statuses are excluded, or there are fewer trials than requested.
        UsageError: no release of the database has the study, or several have it.
        DbtoolError: the database cannot be opened.
    """
    statuses = _statuses(load_complete_trials, load_incomplete_trials, load_infeasible_trials)
    path, size = PurePath(study_dir).parent, PurePath(study_dir).name
    if not size.isdecimal():
        raise UsageError(
            f"{study_dir} is not a folder of a study: its last part is a batch size, as in "
            f"{ARCHIVE_ROOT}/mnist/simple_cnn_base/sgd/32"
        )
    with _reading(database) as db:
        studies = {str(study.batch_size): study for study in _studies(db, path)}
        if size in studies:
            return _load(db, studies[size], statuses, num_trials, study_dir)
    [workload] = {study.workload for study in studies.values()}
    raise unknown("batch size", size, studies, f"dbtool studies {workload}")


def load_workload(
    workload_dir: str | os.PathLike[str],
    num_trials: int | None = None,
    load_complete_trials: bool = True,
    load_incomplete_trials: bool = False,
    load_infeasible_trials: bool = False,
    *,
    database: Database | None = None,
) -> tuple[OrderedDict[int, dict[str, Any]], pd.DataFrame]:
    """Load the measurements of all studies of a workload; arguments and errors as for `load_study`.

    Returns:
        The metadata of each study, as for `load_study`, by batch size; and a frame with the
        archive's columns, indexed by (batch_size, trial_id, step).
    """
    statuses = _statuses(load_complete_trials, load_incomplete_trials, load_infeasible_trials)
    metadata: OrderedDict[int, dict[str, Any]] = OrderedDict()
    tables = {}
    with _reading(database) as db:
        for study in _studies(db, PurePath(workload_dir)):
            folder = f"{workload_dir}/{study.batch_size}"
            found = _load(db, study, statuses, num_trials, folder)
            metadata[study.batch_size], tables[study.batch_size] = found
    return metadata, pd.concat(tables, names=["batch_size"])


def _statuses(complete: bool, incomplete: bool, infeasible: bool) -> list[str]:
    given = {"COMPLETE": complete, "INCOMPLETE": incomplete, "INFEASIBLE": infeasible}
    if not any(given.values()):
        raise ValueError(
            "at least one of load_complete_trials, load_incomplete_trials and "
            "load_infeasible_trials must be true"
        )
    return [status for status, load in given.items() if load]


def _reading(database: Database | None) -> AbstractContextManager[Database]:
    """Return a block with a database; None for the default one, open for the time of the block."""
    return dbtool.open() if database is None else contextlib.nullcontext(database)


def _load(
    db: Database,
    study: ExportedStudy,
    statuses: Sequence[str],
    count: int | None,
    folder: str | os.PathLike[str],
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the metadata and measurements of the requested trials of a study."""
    trials = [trial for trial in study.trials if trial.status in statuses]
    if not trials:
        raise ValueError(f"no trials with status {statuses} found in {folder}")
    if count and len(trials) < count:
        raise ValueError(
            f"{counted(count, 'trial')} with status {statuses} asked for, and "
            f"{folder} has {len(trials)}"
        )
    trials = trials[: count or None]
    by_id = OrderedDict((trial.trial_id, metadata_json(study, trial)) for trial in trials)
    columns = ", ".join(["trial_id", "step", *archive_columns(), OTHER_METRICS])
    with db.cursor() as cursor:
        rows = pl.DataFrame(read_rows(cursor, study, trials, columns))
    rows = rows.filter(pl.col("trial_id").is_in(list(by_id)))
    return {**study_json(study), "trials": by_id}, _indexed(rows)


def _indexed(rows: pl.DataFrame) -> pd.DataFrame:
    """Return measurements in the form of the authors' loader."""
    index = pd.MultiIndex.from_arrays(
        [rows[name].cast(pl.Int64).to_numpy() for name in ("trial_id", "step")],
        names=["trial_id", "step"],
    )
    others = rows[OTHER_METRICS]
    names = others.map.keys().explode().drop_nulls().unique(maintain_order=True)
    metrics = {archived: rows[name] for name, archived in archive_columns().items()}
    metrics |= {name: others.map.get(name) for name in names}
    values = {
        name: column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name, column in metrics.items()
        if column.null_count() < len(column)
    }
    return pd.DataFrame(values, index=index)


def _studies(db: Database, path: PurePath) -> Sequence[ExportedStudy]:
    """Return the studies of the workload in a path, by batch size."""
    held = db.workloads()
    workload = _workload(path, held["workload"].to_list())
    releases = held.filter(pl.col("workload") == workload)["release"].to_list()
    if RELEASE not in releases and len(releases) > 1:
        raise UsageError(
            f"the releases {', '.join(releases)} hold {workload}: choose one, as in "
            f"database=dbtool.open(release={releases[0]!r})"
        )
    release = RELEASE if RELEASE in releases else releases[0]
    studies, _ = select(db, workload, None, release)
    return studies


def _workload(path: PurePath, held: Sequence[str]) -> str:
    """Return the workload in a path, which the database must have."""
    parts = path.parts
    if ARCHIVE_ROOT in parts:
        last = len(parts) - 1 - parts[::-1].index(ARCHIVE_ROOT)
        name = "/".join(parts[last + 1 :])
        if name in held:
            return name
        raise unknown_workload(name, held)
    # A collection's workload is not the one whose name equals the rest of its path.
    collections = {known.collection for known in catalog()} - {None}
    for start in range(len(parts) - _FEWEST_PARTS + 1):
        name = "/".join(parts[start:])
        if name in held and (start == 0 or parts[start - 1] not in collections):
            return name
    name = "/".join(parts[-_FEWEST_PARTS:])
    raise unknown_workload(name, held)
