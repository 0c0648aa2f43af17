"""Tables that users give, as numbers: steps to result, seconds of steps, sizes of workloads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.errors import UsageError
from dbtool.core.files import expanded
from dbtool.store.table_files import RunsError
from dbtool.store.texts import EMPTY, LINE, read_parts, text_frame

if TYPE_CHECKING:
    from collections.abc import Collection


def text_table(
    table: str | os.PathLike[str] | pl.DataFrame, needed: Collection[str], names: str
) -> pl.DataFrame:
    """Return the rows of a file, by its name Parquet, JSON Lines or else CSV, or a frame as text.

    Args:
        table: the file or the frame.
        needed: columns that have to be there.
        names: what the first line names, for messages.

    Raises:
        UsageError: it cannot be read, has no rows, or a column is missing.
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
            raise UsageError(f"{file} has no column {name}: its first line names {names}")
    if rows.is_empty():
        raise UsageError(f"{file} has no rows below its first line")
    return rows.with_columns(pl.lit(file).alias(TABLE_FILE))


TABLE_FILE = "\0file"
"""The column of the table's name in messages."""


def positive(
    rows: pl.DataFrame, name: str, *, may_be_empty: bool = False, may_be_0: bool = False
) -> pl.Series:
    """Return a column of `text_table` as numbers above 0; empty ones are null.

    Raises:
        UsageError: a value is not such a number.
    """
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
