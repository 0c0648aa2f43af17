"""The rows of a query in several forms, and measurements as a lazy frame."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dbtool.core.errors import DbtoolError, first_sentence
from dbtool.core.resources import query
from dbtool.store.statements import streamed, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    import duckdb
    import pandas as pd
    import polars as pl

    Cursors: TypeAlias = Callable[..., AbstractContextManager[duckdb.DuckDBPyConnection]]

# The type of DuckDB's sums of whole numbers.
_WIDE_INTEGERS = pa.decimal128(38, 0)
# pandas' types with room for missing values, which lowercase names of Arrow's types tell.
_NULLABLE = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)] + ["boolean"]
_LONGEST_NAME = 100
_ROWS_A_FRAME = 122_880
_MOST_NAMES = 3
# Columns of a row's trial, joined only where they are used: over an archive the join takes longer
# than the query, and DuckDB 1 does not remove an unused join.
_OF_TRIALS = {"learning_rate", "momentum"}


class Result:
    """The rows of a query.

    >>> query = "SELECT workload, goal FROM workloads WHERE model = $model"
    >>> result = db.sql(query, model="fc_64_64_64")
    >>> result
    shape: (1, 2)
    ┌───────────────────────┬──────┐
    │ workload              ┆ goal │
    │ ---                   ┆ ---  │
    │ str                   ┆ f64  │
    ╞═══════════════════════╪══════╡
    │ mnist/fc_64_64_64/sgd ┆ 0.03 │
    └───────────────────────┴──────┘
    >>> result.columns
    ['workload', 'goal']
    >>> [goal for _, goal in result]
    [0.03]
    """

    def __init__(self, table: pa.Table) -> None:
        """Wrap the rows of a query as DuckDB returns them."""
        self._table = _with_plain_integers(table)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._table.column_names)

    def polars(self) -> pl.DataFrame:
        """Return the rows as a Polars frame.

        Raises:
            DbtoolError: Polars cannot represent them, for instance two columns of one name.
        """
        import polars as pl

        try:
            return pl.DataFrame(self._table)
        except pl.exceptions.PolarsError as error:
            raise _unheld("Polars", error) from error

    def pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas frame; maps become dictionaries.

        Columns of whole numbers or booleans have NumPy's types, such as `int64`, where no value is
        missing, and otherwise pandas' nullable ones, such as `Int64` and `boolean`, which keep each
        value as it is.

        Raises:
            DbtoolError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise DbtoolError(
                "pandas is not installed: install it with `pip install pandas`, or take .polars()"
            ) from error
        frame: pd.DataFrame = self._table.to_pandas(maps_as_pydicts="strict")
        nullable = {pa.type_for_alias(name.lower()): name for name in _NULLABLE}
        for position, column in enumerate(self._table.columns):
            if column.null_count and column.type in nullable:
                dtype = pd.api.types.pandas_dtype(nullable[column.type])
                frame.isetitem(position, column.to_pandas(types_mapper=lambda _, to=dtype: to))
        return frame

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._table

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python values; maps become dictionaries.

        Raises:
            DbtoolError: Python cannot represent them, for instance dates after the year 9999.
        """
        return list(self)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in self._table.to_batches():
            try:
                columns = [column.to_pylist(maps_as_pydicts="strict") for column in batch.columns]
            except (OverflowError, TypeError, ValueError) as error:
                raise _unheld("Python", error) from error
            yield from zip(*columns, strict=True)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        with self._printing():
            return repr(self.polars())

    def _repr_html_(self) -> str:
        """Return the rows as notebooks show them."""
        with self._printing():
            return self.polars()._repr_html_()

    @contextlib.contextmanager
    def _printing(self) -> Iterator[None]:
        """Have Polars print the rows of the block, with full names."""
        import polars as pl

        try:
            with names_uncut():
                yield
        except pl.exceptions.PanicException as error:
            # For instance on dates after the year 262142.
            raise _unheld("Polars", error) from error


def names_uncut(**more: Any) -> pl.Config:
    """Return a block in which Polars prints full names, with further options of its `Config`."""
    import polars as pl

    told = pl.Config.state(if_set=True).get("POLARS_FMT_STR_LEN")
    return pl.Config(fmt_str_lengths=int(told or _LONGEST_NAME), **more)


def _unheld(what: str, error: BaseException) -> DbtoolError:
    """Return the error for values that a language or a library cannot represent."""
    return DbtoolError(
        f"{what} cannot hold the rows ({first_sentence(error)}): in the query, give each column a "
        "name of its own (a AS b) or cast its values to text, or take .arrow()"
    )


def _with_plain_integers(table: pa.Table) -> pa.Table:
    """Convert DuckDB's sums of whole numbers to 64 bits where they fit."""
    for position, field in enumerate(table.schema):
        if field.type == _WIDE_INTEGERS:
            try:
                narrow = table.column(position).cast(pa.int64())
            except pa.ArrowInvalid:
                continue
            table = table.set_column(position, field.with_type(pa.int64()), narrow)
    return table


def lazy_measurements(cursor: Cursors, sql: str, values: Mapping[str, Any]) -> pl.LazyFrame:
    """Return measurements as a lazy frame that reads only the columns in use, when it is collected.

    Its columns are those of a query without an order, then the learning rate and momentum of each
    row's trial. Polars applies the filters: DuckDB's own lazy frames lose rows where they compare
    numbers of 32 bits, and fail on infinity.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    joined = (
        f"({sql}) LEFT JOIN ({query('metaparameters_of_trials')}) "
        "USING (release, workload, batch_size, trial_id)"
    )

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        # A frame without columns would have no rows.
        names = list(schema) if columns is None else columns or list(schema)[:1]
        source = joined if _OF_TRIALS.intersection(names) else f"({sql})"
        text = f"SELECT {', '.join(names)} FROM {source}"  # noqa: S608 (queries of ours)
        text += "" if rows is None else f" LIMIT {rows:d}"
        with cursor() as opened, streamed(opened, text, values, _ROWS_A_FRAME) as stream:
            for batch in stream.batches:
                frame = pl.DataFrame(batch)
                yield frame if predicate is None else frame.filter(predicate)

    with cursor(measurements=False) as opened:
        text = f"SELECT * FROM {joined} LIMIT 0"  # noqa: S608 (queries of ours)
        schema = pl.DataFrame(table_of(opened, text, values)).schema
    return register_io_source(
        frames,
        schema=schema,
        is_pure=True,
        explain_name="dbtool measurements",
        explain_detail=f"{_selection(values)}; collect_schema() lists the columns, "
        "collect() reads those that are used",
    )


def _selection(values: Mapping[str, Any]) -> str:
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
