"""The data loader of the release of 2018, on the database.

Code that was written for the authors' `batch_science.data_loader` runs on a database with its
import changed and nothing else:

    from dbtool.data_loader import load_study, load_workload

Folders are names here: of `batch_science/mnist/simple_cnn_base/sgd/32` what stands after
`batch_science` tells the workload and the batch size, and nothing lies there. Where a path has no
such part its last ones tell.

Metadata and values are those that pandas reads from the authors' files, but for these differences.
What metadata.json marks as internal is not there. The measurements of a trial are sorted by step,
also where its file had them in another order. A metric without a value in any of the study's rows
that were asked for has no column. Nothing is printed.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

import dbtool
from dbtool.core.contract import ARCHIVE_ROOT, OTHER_METRICS, archive_columns
from dbtool.core.errors import UsageError, counted, unknown
from dbtool.release.original import metadata_json, study_json
from dbtool.release.selection import read_rows, select
from dbtool.sources.archive.published import RELEASE
from dbtool.sources.archive.table import catalog
from dbtool.store.questions import unknown_workload

try:
    import pandas as pd
except ImportError as error:
    raise ImportError(
        "dbtool.data_loader returns frames of pandas: install it with `pip install pandas`"
    ) from error

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

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
    """Loads the measurements of the trials of a study.

    Args:
        study_dir: the study's folder in the published archive, wherever that would lie.
        num_trials: how many of the first trials to load; None: all.
        load_complete_trials: whether to load complete trials.
        load_incomplete_trials: whether to load incomplete trials.
        load_infeasible_trials: whether to load infeasible trials, which diverged.
        database: where to look; None: what `dbtool.open()` opens. Of several releases that hold
            the study, the database's own counts, or else `published`.

    Returns:
        What study.json says, with what the trials' metadata.json say by trial id under "trials";
        and a frame with the archive's columns, indexed by (trial_id, step).

    Raises:
        ValueError: no status is to be loaded, or there are fewer trials than asked for.
        UsageError: the database holds no such study, or several releases do.
        DbtoolError: the database cannot be opened.
    """
    wanted = _Wanted(
        num_trials, load_complete_trials, load_incomplete_trials, load_infeasible_trials
    )
    path, size = PurePath(study_dir).parent, PurePath(study_dir).name
    if not size.isdecimal():
        raise UsageError(
            f"{study_dir} is not a folder of a study: its last part is a batch size, as in "
            f"{ARCHIVE_ROOT}/mnist/simple_cnn_base/sgd/32"
        )
    with _reading(database) as db:
        studies = _studies(db, path)
        for study in studies:
            if study.batch_size == int(size):
                return _load(db, study, wanted, study_dir)
    sizes = [str(study.batch_size) for study in studies]
    raise unknown("batch size", size, sizes, f"dbtool studies {studies[0].workload}")


def load_workload(
    workload_dir: str | os.PathLike[str],
    num_trials: int | None = None,
    load_complete_trials: bool = True,
    load_incomplete_trials: bool = False,
    load_infeasible_trials: bool = False,
    *,
    database: Database | None = None,
) -> tuple[OrderedDict[int, dict[str, Any]], pd.DataFrame]:
    """Loads the measurements of all studies of a workload.

    Args:
        workload_dir: the workload's folder in the published archive, wherever that would lie.
        num_trials: how many of the first trials of each study to load; None: all.
        load_complete_trials: whether to load complete trials.
        load_incomplete_trials: whether to load incomplete trials.
        load_infeasible_trials: whether to load infeasible trials, which diverged.
        database: as for `load_study`.

    Returns:
        The metadata of each study, as of `load_study`, by batch size; and a frame with the
        archive's columns, indexed by (batch_size, trial_id, step).

    Raises:
        ValueError: no status is to be loaded, or a study has fewer trials than asked for.
        UsageError: the database holds no such workload, or several releases do.
        DbtoolError: the database cannot be opened.
    """
    wanted = _Wanted(
        num_trials, load_complete_trials, load_incomplete_trials, load_infeasible_trials
    )
    metadata: OrderedDict[int, dict[str, Any]] = OrderedDict()
    tables = {}
    with _reading(database) as db:
        for study in _studies(db, PurePath(workload_dir)):
            folder = f"{workload_dir}/{study.batch_size}"
            metadata[study.batch_size], tables[study.batch_size] = _load(db, study, wanted, folder)
    return metadata, pd.concat(tables, names=["batch_size"])


@dataclass(frozen=True)
class _Wanted:
    """Which trials to load.

    Attributes:
        count: how many of the first; None: all.
        complete: whether those of this status.
        incomplete: the same.
        infeasible: the same.
    """

    count: int | None
    complete: bool
    incomplete: bool
    infeasible: bool

    def __post_init__(self) -> None:
        if not self.statuses:
            raise ValueError(
                "at least one of load_complete_trials, load_incomplete_trials and "
                "load_infeasible_trials must be true"
            )

    @property
    def statuses(self) -> list[str]:
        """The statuses of trials to load."""
        given = {
            "COMPLETE": self.complete,
            "INCOMPLETE": self.incomplete,
            "INFEASIBLE": self.infeasible,
        }
        return [status for status, load in given.items() if load]


@contextlib.contextmanager
def _reading(database: Database | None) -> Iterator[Database]:
    """The database that was given, or the default one for the time of the block."""
    if database is not None:
        yield database
        return
    with dbtool.open() as opened:
        yield opened


def _load(
    db: Database, study: ExportedStudy, wanted: _Wanted, folder: str | os.PathLike[str]
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The metadata and measurements of the trials of a study that are wanted.

    Raises:
        ValueError: there are none, or not as many.
    """
    trials = [trial for trial in study.trials if trial.status in wanted.statuses]
    if not trials:
        raise ValueError(f"no trials with status {wanted.statuses} found in {folder}")
    if wanted.count and len(trials) < wanted.count:
        raise ValueError(
            f"{counted(wanted.count, 'trial')} with status {wanted.statuses} asked for, and "
            f"{folder} has {len(trials)}"
        )
    trials = trials[: wanted.count or None]
    by_id = OrderedDict((trial.trial_id, metadata_json(study, trial)) for trial in trials)
    columns = ", ".join(["trial_id", "step", *archive_columns(), OTHER_METRICS])
    with db.cursor() as cursor:
        rows = pl.DataFrame(read_rows(cursor, study, trials, columns))
    rows = rows.filter(pl.col("trial_id").is_in(list(by_id)))
    return {**study_json(study), "trials": by_id}, _indexed(rows)


def _indexed(rows: pl.DataFrame) -> pd.DataFrame:
    """Measurements as the authors' loader returns them."""
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
    """The studies of the workload that a path names, by batch size.

    Raises:
        UsageError: the database holds no such workload, or several releases do.
    """
    held = db.workloads()
    workload = _workload(path, held["workload"].to_list())
    releases = held.filter(pl.col("workload") == workload)["release"].to_list()
    if RELEASE not in releases and len(releases) > 1:
        raise UsageError(
            f"the releases {', '.join(releases)} hold {workload}: choose one, as in "
            f"database=dbtool.open(release={releases[0]!r})"
        )
    release = RELEASE if RELEASE in releases else releases[0]
    return select(db, workload, None, release).studies


def _workload(path: PurePath, held: Sequence[str]) -> str:
    """The workload that a path names.

    Raises:
        UsageError: it is none of those held.
    """
    parts = path.parts
    if ARCHIVE_ROOT in parts:
        last = len(parts) - 1 - parts[::-1].index(ARCHIVE_ROOT)
        name = "/".join(parts[last + 1 :])
        if name in held:
            return name
        raise unknown_workload(name, held)
    # A collection's workload is not the one that is named like the rest of its path.
    collections = {known.collection for known in catalog()} - {None}
    for start in range(len(parts) - _FEWEST_PARTS + 1):
        name = "/".join(parts[start:])
        if name in held and (start == 0 or parts[start - 1] not in collections):
            return name
    name = "/".join(parts[-_FEWEST_PARTS:])
    raise unknown_workload(name, held)
