"""Types of columns of text, such as those of CSV, and floats as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Collection

_WHOLE = r"\A-?(0|[1-9]\d*)\z"
_NUMBER = r"\A(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|NaN|nan|-?inf|-?Infinity)\z"
# As no program writes a number.
_BARE = r"\A-?\d+[eE]\d"
_ENDS_IN_0 = r"\.\d+0([eE]|\z)"
_DATE = r"\A\d{4}-\d\d-\d\d\z"
_TIME = r"\A\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?\z"


def typed(texts: pl.Series, empty: Collection[str], *, stated: bool) -> pl.Series:
    """Return texts as what all of them are written as: truths, numbers or dates, or else as is.

    What no program writes as a number stays text, as it may be a name: 007, 1e3, and 1.10 beside
    1.9, which have not the same number of places; unless they are stated to be numbers, as in JSON.
    """
    given, texts = texts, texts.set(texts.is_in(empty), None)
    there = texts.drop_nulls()
    whole = there.str.contains(_WHOLE)
    if there.is_empty():
        return given
    if there.str.to_lowercase().is_in(["true", "false"]).all():
        return texts.str.to_lowercase() == "true"
    values: list[pl.Series] = []
    if whole.all():
        values = [texts.cast(kind, strict=False) for kind in (pl.Int64, pl.Decimal(38, 0))]
    # A larger whole number would be rounded.
    elif (there.str.contains(_NUMBER) & (~whole | (there.str.len_bytes() <= 15))).all() and (
        stated or _as_programs_write(there)
    ):
        values = [texts.cast(pl.Float64, strict=False)]
    elif there.str.contains(_DATE).all():
        values = [texts.str.to_date(strict=False)]
    elif there.str.contains(_TIME).all():
        values = [texts.str.to_datetime(strict=False)]
    return next((each for each in values if each.null_count() == texts.null_count()), given)


def _as_programs_write(numbers: pl.Series) -> bool:
    """Return whether numbers are so written: the shortest, or with the same number of places."""
    if numbers.str.contains(_BARE).any():
        return False
    finite = numbers.filter(numbers.str.contains(r"\d"))
    places = finite.str.extract(r"\.(\d+)").str.len_chars()
    return places.n_unique() == 1 or not finite.str.contains(_ENDS_IN_0).any()


def shortest(values: pl.Series) -> pl.Series:
    """Return floats of 16 or 32 bits as the shortest decimals that are the same float."""
    if values.dtype != pl.Float16:
        return values.cast(pl.String)
    # The library writes them with the digits of 32 bits.
    texts = [None if each is None else str(np.float16(each)) for each in values]
    return pl.Series(values.name, texts, pl.String)
