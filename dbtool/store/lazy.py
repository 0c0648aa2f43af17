"""The rows of a question as a lazy Polars frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from dbtool.store.statements import streamed, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbtool.store.database import Database
    from dbtool.store.questions import Question

_ROWS_A_FRAME = 122_880


def lazy_frame(db: Database, question: Question) -> pl.LazyFrame:
    """The rows of a question as a lazy frame, of which the columns that are used alone are read.

    Filters are left to Polars. DuckDB's own lazy frames take them over, but lose rows where they
    compare numbers of 32 bits, and fail on infinity.

    Args:
        db: the database, which is read when the frame is collected.
        question: the question, without an order.
    """

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        # A frame without columns would have no rows.
        names = list(schema) if columns is None else columns or list(schema)[:1]
        query = f"SELECT {', '.join(names)} FROM ({question.sql})"  # noqa: S608 (a query of ours)
        query += "" if rows is None else f" LIMIT {rows:d}"
        with (
            db.cursor() as cursor,
            streamed(cursor, query, question.values, _ROWS_A_FRAME) as stream,
        ):
            for batch in stream.batches:
                frame = pl.DataFrame(batch)
                yield frame if predicate is None else frame.filter(predicate)

    with db.cursor(measurements=False) as cursor:
        query = f"SELECT * FROM ({question.sql}) LIMIT 0"  # noqa: S608 (a query of ours)
        schema = pl.DataFrame(table_of(cursor, query, question.values)).schema
    return register_io_source(frames, schema=schema, is_pure=True, explain_name="dbtool")
