"""Transforms metrics of other tools into those of the database.

Decimals are transformed as written: an accuracy of 0.9 is an error of exactly 0.1.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

from dbtool.sources.numbers import EXACT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def transformed(texts: pl.Series, transform: str | None, *, float32: bool = False) -> pl.Series:
    """Return the values of a metric as the database stores them.

    Args:
        texts: as the file has them.
        transform: one of `TRANSFORMS`; None: values stay as they are.
        float32: whether they passed through 32-bit numbers; each is then the shortest decimal that
            rounds to the same one, so that 0.07999999821186066 is 0.08.

    Returns:
        Float64, null where the text is not a number.
    """
    texts = texts.str.strip_chars()
    values = texts.cast(pl.Float64, strict=False)
    if float32:
        texts = values.cast(pl.Float32).cast(pl.String)
        values = texts.cast(pl.Float64)
    if transform is None:
        return values
    turned = [
        None if value is None else _turned(text, value, transform)
        for text, value in zip(texts, values, strict=True)
    ]
    return pl.Series(texts.name, turned, pl.Float64)


def _turned(text: str, value: float, transform: str) -> float:
    if math.isfinite(value):
        return TRANSFORMS[transform](EXACT.create_decimal(text))
    # One less infinity is infinity of the other sign, as with any number; nan stays.
    return -value if transform.startswith("1 - ") else value


def _log(value: Decimal) -> float:
    if value <= 0:
        return -math.inf if value == 0 else math.nan
    return math.log(value)


TRANSFORMS: Mapping[str, Callable[[Decimal], float]] = {
    "1 - x": lambda x: float(EXACT.subtract(Decimal(1), x)),
    "x / 100": lambda x: float(EXACT.divide(x, Decimal(100))),
    "1 - x / 100": lambda x: float(EXACT.subtract(Decimal(1), EXACT.divide(x, Decimal(100)))),
    "log(x)": _log,
    "x * log(2)": lambda x: float(x) * math.log(2),
}
