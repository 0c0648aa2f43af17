"""Measurements as a lazy Polars frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from dbtool.core.resources import query
from dbtool.store.statements import streamed, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dbtool.store.questions import Question
    from dbtool.store.releases import Releases

_ROWS_A_FRAME = 122_880
_MOST_NAMES = 3
# Columns of a row's trial, joined only where they are used: over an archive the join takes longer
# than the query, and DuckDB 1 does not remove an unused join.
_OF_TRIALS = {"learning_rate", "momentum"}


def lazy_measurements(db: Releases, question: Question) -> pl.LazyFrame:
    """Return measurements as a lazy frame that reads only the columns in use.

    Polars applies the filters. DuckDB's own lazy frames apply them too, but lose rows where they
    compare numbers of 32 bits, and fail on infinity.

    Args:
        db: the database, which is read when the frame is collected.
        question: the measurements to read, without an order.

    Returns:
        The columns of the question, then the learning rate and momentum of each row's trial.
    """
    joined = (
        f"({question.sql}) LEFT JOIN ({query('metaparameters_of_trials')}) "
        "USING (release, workload, batch_size, trial_id)"
    )

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        # A frame without columns would have no rows.
        names = list(schema) if columns is None else columns or list(schema)[:1]
        source = joined if _OF_TRIALS.intersection(names) else f"({question.sql})"
        text = f"SELECT {', '.join(names)} FROM {source}"  # noqa: S608 (queries of ours)
        text += "" if rows is None else f" LIMIT {rows:d}"
        with (
            db.cursor() as cursor,
            streamed(cursor, text, question.values, _ROWS_A_FRAME) as stream,
        ):
            for batch in stream.batches:
                frame = pl.DataFrame(batch)
                yield frame if predicate is None else frame.filter(predicate)

    with db.cursor(measurements=False) as cursor:
        text = f"SELECT * FROM {joined} LIMIT 0"  # noqa: S608 (queries of ours)
        schema = pl.DataFrame(table_of(cursor, text, question.values)).schema
    return register_io_source(
        frames,
        schema=schema,
        is_pure=True,
        explain_name="dbtool measurements",
        explain_detail=f"{_named(question.values)}; collect_schema() lists the columns, "
        "collect() reads those that are used",
    )


def _named(values: Mapping[str, Any]) -> str:
    """Describe the rows, as in `mnist/fc_64_64_64/sgd, batch size 64, release measured`."""
    chosen = {"workload": "workloads", "batch size": "batch_sizes", "trial": "trials"}
    parts = [_few(word, values[name]) for word, name in chosen.items() if values[name] is not None]
    release = values["release"]
    return ", ".join([*parts, "all releases" if release is None else f"release {release}"])


def _few(word: str, values: Sequence[object]) -> str:
    """Return a few values as they are, and more than that as their number."""
    if len(values) > _MOST_NAMES:
        return f"{len(values)} {word}s"
    return f"{word}{'s' if len(values) > 1 else ''} {', '.join(map(str, values))}"
