"""The rows of one release in a database, with ids that follow from the release alone."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from dbtool.resources import queries_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

_SAID = ("title", "licence", "citation")
# Read at once: some hundred megabytes at most.
_ROWS_AT_ONCE = 200_000


class Study(NamedTuple):
    """A study of the release.

    Attributes:
        stored_id: its id in the database.
        study_id: its id in what is published.
        workload: its workload's name.
        batch_size: its batch size.
        metric: its workload's metric.
    """

    stored_id: int
    study_id: int
    workload: str
    batch_size: int
    metric: str


class Tables(NamedTuple):
    """The tables that are small, with the ids of what is published.

    Attributes:
        releases: one row.
        workloads: sorted by name.
        studies: sorted by workload and batch size.
        shards: sorted by study and name.
        shard_ids: from the ids in the database to those of what is published.
        in_order: the studies.
    """

    releases: pa.Table
    workloads: pa.Table
    studies: pa.Table
    shards: pa.Table
    shard_ids: Mapping[int, int]
    in_order: Sequence[Study]


def read_tables(
    connection: duckdb.DuckDBPyConnection, release: str, said: Mapping[str, str | None]
) -> Tables:
    """The small tables of a release.

    Ids count from 1 in the order of the rows, whatever else the database holds and in whatever
    order it was loaded.

    Args:
        connection: the database.
        release: the name of a release that it holds.
        said: title, licence and citation where they replace those that are stored.
    """
    named = {"release": release}
    about = dict.fromkeys(_SAID) | dict(said)
    releases = _read(connection, "releases", named | about)
    workloads = _read(connection, "workloads", named)
    studies = _read(connection, "studies", named)
    shards = _read(connection, "shards", named)
    release_ids = _ids(releases, "release_id")
    workload_ids = _ids(workloads, "workload_id")
    study_ids = _ids(studies, "study_id")
    shard_ids = _ids(shards, "shard_id")
    in_order = [
        Study(row["study_id"], number, row["workload"], row["batch_size"], row["metric"])
        for number, row in enumerate(studies.drop("search_space").to_pylist(), 1)
    ]
    return Tables(
        with_ids(releases, release_id=release_ids),
        with_ids(workloads, workload_id=workload_ids, release_id=release_ids),
        with_ids(
            studies.drop(["workload", "metric"]), study_id=study_ids, workload_id=workload_ids
        ),
        with_ids(shards, shard_id=shard_ids, study_id=study_ids),
        shard_ids,
        in_order,
    )


def read_trials(connection: duckdb.DuckDBPyConnection, study: Study, tables: Tables) -> pa.Table:
    """The trials of a study, sorted by id."""
    trials = _read(connection, "trials", {"study_id": study.stored_id})
    return with_ids(trials, study_id={study.stored_id: study.study_id}, shard_id=tables.shard_ids)


def read_measurements(
    connection: duckdb.DuckDBPyConnection, study: Study, trials: pa.Table
) -> Iterator[tuple[pa.Table, bool]]:
    """The measurements of a study, sorted by trial and step, those of some trials at a time.

    Args:
        connection: the database.
        study: the study.
        trials: its trials, from `read_trials`.

    Yields:
        Measurements, and whether their trials come from shards.
    """
    columns = [trials[name].to_pylist() for name in ("trial_id", "shard_id", "measurements")]
    for from_shards, group in groupby(zip(*columns, strict=True), lambda row: row[1] is not None):
        first, last, waiting = None, -1, 0
        for trial_id, _, measurements in group:
            first = trial_id if first is None else first
            last, waiting = trial_id, waiting + measurements
            if waiting >= _ROWS_AT_ONCE:
                yield _between(connection, study, first, last), from_shards
                first, waiting = None, 0
        if first is not None:
            yield _between(connection, study, first, last), from_shards


def with_ids(table: pa.Table, **ids: Mapping[int, int]) -> pa.Table:
    """A table with other ids.

    Args:
        table: its rows.
        ids: by the name of a column, from the ids that are there to others; null stays null.
    """
    for name, found in ids.items():
        position = table.schema.get_field_index(name)
        numbers = [None if old is None else found[old] for old in table[name].to_pylist()]
        field = table.schema.field(name)
        table = table.set_column(position, field, pa.array(numbers, field.type))
    return table


def _between(
    connection: duckdb.DuckDBPyConnection, study: Study, first: int, last: int
) -> pa.Table:
    return _read(
        connection, "measurements", {"study_id": study.stored_id, "first": first, "last": last}
    )


def _read(
    connection: duckdb.DuckDBPyConnection, name: str, values: Mapping[str, object]
) -> pa.Table:
    """The rows of queries/publish/NAME.sql."""
    text = (queries_folder() / "publish" / f"{name}.sql").read_text(encoding="utf-8")
    return connection.execute(text, dict(values)).to_arrow_table()


def _ids(table: pa.Table, name: str) -> dict[int, int]:
    """From the ids in the order of the rows to their numbers from 1."""
    return {old: number for number, old in enumerate(table[name].to_pylist(), 1)}
