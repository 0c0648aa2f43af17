"""The user's own tables: for a query to join, as it cannot read files, or as columns of numbers."""

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from dbtool.core.errors import UsageError, first_sentence
from dbtool.core.files import expanded
from dbtool.store.statements import require_text
from dbtool.store.table_files import TABLE_FORMATS, RunsError, table_format
from dbtool.store.texts import EMPTY, LINE, read_parts, read_typed, text_frame

# The panics of Polars are not exceptions of the usual kind.
_REFUSED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError)
_INCOMING = "incoming"
TABLE_FILE = "\0file"
"""The column of the table's name in messages."""


def add_tables(cursor: duckdb.DuckDBPyConnection, tables: Mapping[str, object]) -> None:
    """Copy tables by name to where the queries of one cursor, outside of a transaction, see them.

    Each is a CSV, Parquet or JSON Lines file by its extension, compressed or not, or a frame of
    Polars, pandas or Arrow.

    Raises:
        UsageError: a file is missing or cannot be read, or a name is in use or is not an
            identifier.
    """
    seen: set[str] = set()
    for name, given in tables.items():
        _check_name(cursor, name, seen)
        rows = as_table(name, given)
        try:
            cursor.register(_INCOMING, rows)
            cursor.execute(f"CREATE TEMP TABLE {name} AS FROM {_INCOMING}")
        except duckdb.Error as error:
            raise UsageError(f"the table {name} cannot be used: {first_sentence(error)}") from error
        cursor.unregister(_INCOMING)


def _check_name(cursor: duckdb.DuckDBPyConnection, name: str, seen: set[str]) -> None:
    """Raise an error for names that need quotes in SQL, and for those of views."""
    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
    words = {word for (word,) in cursor.execute(query).fetchall()}
    if not (name.isascii() and name.isidentifier()) or name.lower() in words | {_INCOMING}:
        raise UsageError(
            f"{name!r} cannot name a table: take letters, digits and _, such as runs, and no word "
            "of SQL"
        )
    views = {view for (view,) in cursor.execute("SELECT view_name FROM duckdb_views()").fetchall()}
    if name.lower() in views:
        raise UsageError(f"there is a view {name} already: give the table another name")
    if name.lower() in seen:
        raise UsageError(f"the table {name} is given twice; give each name once")
    seen.add(name.lower())


def as_table(name: str, given: object) -> pa.Table:
    """Return a file or a frame as a table of Arrow; see `add_tables`."""
    if isinstance(given, str | os.PathLike):
        return _as_arrow(name, _read_table(expanded(given)))
    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return _as_arrow(name, given)
    try:
        return pa.table(given)
    except (TypeError, ValueError) as error:
        if hasattr(given, "columns"):
            raise _no_column(name, error) from error
        raise UsageError(
            f"the table {name} is a {type(given).__name__}: give the path of a file, or a frame of "
            "Polars, pandas or Arrow"
        ) from error


def _as_arrow(name: str, frame: pl.DataFrame) -> pa.Table:
    # Polars has whole numbers of 128 bits, and Arrow does not.
    large = pl.selectors.by_dtype(pl.Int128, pl.UInt128)
    try:
        if any("\0" in column for column in frame.columns):
            raise ValueError("its name has a NUL")
        if objects := frame.select(pl.selectors.by_dtype(pl.Object)).columns:
            raise ValueError(f"{objects[0]} holds objects of Python")
        return frame.with_columns(large.cast(pl.Decimal(38, 0))).to_arrow()
    except (*_REFUSED, pa.ArrowException) as error:
        raise _no_column(name, error) from error


def _no_column(name: str, error: BaseException) -> UsageError:
    # Of an error in a column Arrow gives two sentences.
    reason = "; ".join(map(str, error.args[1:])) or first_sentence(error)
    return UsageError(f"the table {name} has a column that cannot be taken: {reason}")


def _read_table(file: Path) -> pl.DataFrame:
    require_text(str(file), "the file's name")
    # pathlib turns // into /.
    if re.match(r"\w+:/", str(file)) and not file.exists():
        raise UsageError(f"{str(file)!r} is not a file of this machine: download it first")
    kind = table_format(file)
    if kind is None:
        endings = ", ".join(f".{each}" for each in TABLE_FORMATS)
        raise UsageError(f"{str(file)!r} does not end with one of {endings}, which tell its format")
    try:
        return read_typed(file, kind)
    except RunsError as error:
        raise UsageError(*error.args) from error


def text_table(
    table: str | os.PathLike[str] | pl.DataFrame, needed: Collection[str], names: str
) -> pl.DataFrame:
    """Return the rows of a file, by its name Parquet, JSON Lines or else CSV, or a frame as text.

    The needed columns have to be there, or a UsageError says so with `names`.
    """
    if isinstance(table, pl.DataFrame):
        file, rows = "the table", text_frame(table)
    else:
        file = os.fspath(table)
        try:
            rows = pl.concat(read_parts(expanded(table)))
        except RunsError as error:
            raise UsageError(*error.args) from error
    for name in needed:
        if name not in rows.columns:
            raise UsageError(f"{file} has no column {name}: it needs {names}")
    if rows.is_empty():
        raise UsageError(f"{file} has no rows below its first line")
    return rows.with_columns(pl.lit(file).alias(TABLE_FILE))


def positive(
    rows: pl.DataFrame, name: str, *, may_be_empty: bool = False, may_be_0: bool = False
) -> pl.Series:
    """Return a column of `text_table` as numbers above 0, or raise a UsageError; empty is null."""
    texts = rows[name].str.strip_chars()
    numbers = texts.cast(pl.Float64, strict=False)
    is_right = numbers.is_finite() & ((numbers > 0) | ((numbers == 0) & may_be_0))
    is_empty = (texts.is_null() | texts.is_in(["", *EMPTY])) & may_be_empty
    for row in (~is_empty & ~is_right.fill_null(value=False)).arg_true():
        raise UsageError(
            f"{rows[TABLE_FILE][0]}, line {rows[LINE][row]}: {name} {texts[row]!r} is not a number "
            "above 0"
        )
    return numbers.alias(name)
