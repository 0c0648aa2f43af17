"""The contents of the page: facts of the workloads, and the tables that it computes from.

The tables are Parquet files with a row group for each workload.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from dbtool import __version__
from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.core.resources import queries_folder, query
from dbtool.store.questions import Question, chosen_workloads, known_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dbtool.store.questions import Patterns
    from dbtool.store.releases import Releases
    from dbtool.store.result import Result

LARGE = 10_000_000
"""With more values than this, the page has no curves, and only each workload's own metric."""
_FOLDER = "explorer"
_KEYS = [("batch_size", pa.int32()), ("trial_id", pa.int32())]
IMPROVEMENTS = pa.schema(
    [*_KEYS, ("after", pa.int32()), ("step", pa.int32()), ("value", pa.float64())]
)
TRIALS = pa.schema(
    [
        *_KEYS,
        ("status", pa.string()),
        ("ordinal", pa.int32()),
        ("steps", pa.int32()),
        ("learning_rate", pa.float64()),
        ("momentum", pa.float64()),
        ("setting", pa.int32()),
        ("settings", pa.string()),
    ]
)
# Measured on the first release: dictionaries make the files a quarter larger, and splitting the
# bytes of numbers a third. Differences are smaller only for numbers that mostly rise by one.
_RISING = {"trial_id", "ordinal"}
# A higher level does not make smaller files, and takes twice the time for 70 million measurements.
_LEVEL = 15


@dataclass(frozen=True)
class Chosen:
    """Workloads to explore.

    Attributes:
        workloads: the rows of the query `workloads`.
        values: by release and workload, the number of values of each metric of evaluations.
    """

    workloads: Sequence[Mapping[str, Any]]
    values: Mapping[tuple[str, str], Mapping[str, int]]

    @property
    def is_large(self) -> bool:
        """Whether there are too many values for a page to include them all."""
        return sum(sum(counts.values()) for counts in self.values.values()) > LARGE

    @property
    def tables(self) -> dict[str, pa.Schema]:
        """The schemas of the tables of a page, by name.

        `trials` has a row group for each workload, as has `curves`, which is missing where there
        are too many values; `improvements` has one for each workload and metric that the curves do
        not have.
        """
        known = {"trials": TRIALS, "improvements": IMPROVEMENTS}
        if self.is_large:
            return known
        names = next(iter(self.values.values()), {})
        metrics = [name for name in names if any(each[name] for each in self.values.values())]
        columns = [*_KEYS, ("step", pa.int32()), *((name, pa.float64()) for name in metrics)]
        return known | {"curves": pa.schema(columns)}


@dataclass(frozen=True)
class Material:
    """What a page is made of.

    The figures are from `dbtool.figures.plot.packed_figures`, and the looks, which are colours and
    markers of series, from `dbtool.figures.style.page_looks`.
    """

    db: Releases
    chosen: Chosen
    figures: bytes
    bibtex: str
    looks: Mapping[str, Any]


@contextlib.contextmanager
def _row_groups(sink: BinaryIO, schema: pa.Schema) -> Iterator[Callable[[pa.Table], int]]:
    """Yield a function that writes a table as a row group and returns its number.

    Equal tables give equal bytes. The sink stays open.
    """
    numbers = itertools.count()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=False,
        column_encoding=dict.fromkeys(_RISING & {*schema.names}, "DELTA_BINARY_PACKED"),
        write_statistics=False,
        store_schema=False,
    ) as writer:

        def add(table: pa.Table) -> int:
            try:
                chosen = table.select(schema.names).cast(schema)
            except pa.ArrowInvalid as error:
                raise DbtoolError(
                    f"the page holds steps of 32 bits: {first_sentence(error)}; leave out the "
                    "workload by naming others"
                ) from error
            writer.write_table(chosen, row_group_size=max(1, chosen.num_rows))
            return next(numbers)

        yield add


def choose(db: Releases, workload: Patterns, release: str | None) -> Chosen:
    """Return the workloads to explore: of all or some names or patterns, of all or one release.

    Raises:
        UsageError: a name does not exist.
        DbtoolError: a shard is damaged.
    """
    release = known_release(db, release)
    named = {"workloads": chosen_workloads(db, workload, release), "release": release}
    counted = _asked(db, "values", **named)
    names = counted.columns[2:]
    return Chosen(
        _asked(db, "workloads", **named).polars().rows(named=True),
        {(row[0], row[1]): dict(zip(names, row[2:], strict=True)) for row in counted},
    )


def write_tables(
    db: Releases,
    chosen: Chosen,
    tables: Mapping[str, BinaryIO],
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[dict[str, Any]]:
    """Write the tables one workload at a time; return what the page shows of each workload.

    The files have the names of `Chosen.tables`, of which curves may be missing; on_progress is
    called with the number of workloads done and their total.

    Raises:
        DbtoolError: a shard is damaged, or a step is beyond 32 bits.
    """
    told = []
    with contextlib.ExitStack() as stack:
        add = {
            name: stack.enter_context(_row_groups(sink, chosen.tables[name]))
            for name, sink in tables.items()
        }
        for done, row in enumerate(chosen.workloads):
            on_progress(done, len(chosen.workloads))
            key = {"release": row["release"], "workload": row["workload"]}
            counts = chosen.values.get((row["release"], row["workload"]), {})
            curves_group = None
            if "curves" in add and any(counts.values()):
                curves_group = add["curves"](_asked(db, "curves", **key).arrow())
            metrics: list[dict[str, Any]] = []
            for metric in _metrics(row["metric"], counts, chosen):
                if curves_group is not None and counts.get(metric):
                    # The curves have all its evaluations.
                    metrics.append({"metric": metric, "group": None})
                    continue
                found = _asked(db, "improvements", metric=metric, **key)
                if len(found):
                    metrics.append({"metric": metric, "group": add["improvements"](found.arrow())})
            trials_group = add["trials"](_asked(db, "trials", **key).arrow())
            groups = {"trials_group": trials_group, "curves_group": curves_group}
            told.append({**row, **groups, "metrics": metrics})
    on_progress(len(told), len(told))
    return told


def facts_of(
    material: Material,
    workloads: Sequence[Mapping[str, Any]],
    *,
    options: Sequence[str] = (),
    files: Mapping[str, Mapping[str, Any]] | None = None,
    shard_bytes: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return what the page needs beside its tables, as JSON values.

    Args:
        material: what the page is made of.
        workloads: from `write_tables`.
        options: command line words that select the same releases, repeated in commands.
        files: path and bytes of the tables by their names, for a page beside a release.
        shard_bytes: sizes of the release's shards by path, likewise.
    """
    db, used = material.db, {row["release"] for row in workloads}
    releases = db.sql("SELECT release, title, licence, citation FROM releases").polars()
    return {
        "version": __version__,
        "files": files,
        "options": list(options),
        "releases": [row for row in releases.rows(named=True) if row["release"] in used],
        "bibtex": material.bibtex,
        "looks": material.looks,
        "workloads": [{**row, "studies": _studies(db, row, shard_bytes)} for row in workloads],
        "queries": {
            file.stem.removeprefix("copy_"): file.read_text(encoding="utf-8")
            for file in sorted((queries_folder() / _FOLDER).glob("copy_*.sql"))
        },
    }


def _metrics(own: str | None, counts: Mapping[str, int], chosen: Chosen) -> list[str]:
    """Return the metrics of a workload, its own first; they may include the losses of batches."""
    first = [own] if own is not None else []
    if chosen.is_large and first:
        return first
    return list(dict.fromkeys([*first, *(name for name, count in counts.items() if count)]))


def _studies(
    db: Releases, workload: Mapping[str, Any], shard_bytes: Mapping[str, int] | None
) -> list[dict[str, Any]]:
    key = {"release": workload["release"], "workload": workload["workload"]}
    return [
        {
            **row,
            "search_space": json.loads(row["search_space"] or "{}"),
            "shards": shard_bytes
            and [{"path": quote(path), "bytes": shard_bytes[path]} for path in row["shards"]],
        }
        for row in _asked(db, "studies", **key).polars().rows(named=True)
    ]


def _asked(db: Releases, name: str, **values: object) -> Result:
    return db.result(Question(query(name, _FOLDER), values, measurements=True))
