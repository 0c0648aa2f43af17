"""Rows of the database as a lazy Polars frame, which reads what is asked of it and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from dbtool.api.asking import asking
from dbtool.api.fetching import say_what_is_fetched
from dbtool.api.predicates import condition_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb

    from dbtool.api.readers import Readers

# One row group of DuckDB's.
_ROWS_A_FRAME = 122_880


@dataclass(frozen=True)
class Scan:
    """A view of the database, some of its rows and columns.

    Attributes:
        connection: the database.
        view: the view's name.
        columns: names of columns of it.
        held_to: the values that a column may have, by the column's name.
        readers: those of the database that are open.
    """

    connection: duckdb.DuckDBPyConnection
    view: str
    columns: Sequence[str]
    held_to: Mapping[str, Sequence[int | str]]
    readers: Readers

    def lazy(self) -> pl.LazyFrame:
        """The rows as a lazy frame, in no promised order.

        Its columns, its filters as far as SQL has them, and its number of first rows decide what
        is read from the file.
        """
        nothing = self._cursor(self.columns, "false", (), None).to_arrow_table()
        schema = pl.DataFrame(nothing).schema
        return register_io_source(
            self._frames,
            schema=schema,
            is_pure=True,  # an open database does not change
            explain_name="dbtool",
            explain_detail=self.view,
        )

    def _frames(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        _batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """The rows, a frame after the other, as Polars asks for them."""
        columns = self.columns if with_columns is None else with_columns or self.columns[:1]
        # A number of rows counts those before the filter.
        condition = None if predicate is None or n_rows is not None else condition_of(predicate)
        sql, values = ("true", ()) if condition is None else condition
        cursor = self._cursor(columns, sql, values, n_rows)
        with self.readers.reading(cursor, _ROWS_A_FRAME) as reader:
            for batch in reader:
                frame = pl.DataFrame(batch)
                yield frame if predicate is None else frame.filter(predicate)

    def _cursor(
        self,
        columns: Sequence[str],
        condition: str,
        values: Sequence[Any],
        most: int | None,
    ) -> duckdb.DuckDBPyConnection:
        """A cursor of its own, so that several scans can be read side by side.

        Raises:
            DbtoolError: the query failed, for instance because the database was closed.
        """
        names = ", ".join(f'"{name}"' for name in columns)
        conditions = [f'"{name}" IN ?' for name in self.held_to] + [condition]
        limit = "" if most is None else f" LIMIT {int(most)}"
        query = f"SELECT {names} FROM {self.view} WHERE {' AND '.join(conditions)}{limit}"  # noqa: S608 (names are those of columns)
        given = [list(those) for those in self.held_to.values()] + list(values)
        with asking(self.connection) as cursor:
            if condition != "false":
                say_what_is_fetched(self.connection, query, given)
            return cursor.execute(query, given)
