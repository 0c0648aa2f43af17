"""Numbers as files of other tools write them, and transforms of metrics into the database's.

Decimals are transformed as written: an accuracy of 0.9 is an error of exactly 0.1.
"""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Exact for whatever a tool writes; no contents of a file raise an error.
EXACT = decimal.Context(prec=60, traps=[])
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Python also accepts 1_000 and digits of other scripts as numbers.
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
# Python refuses to convert longer texts into whole numbers.
_LONGEST = 400


def number(text: str) -> float | None:
    """Return the number that a text stands for, maybe nan or infinity; None for other texts."""
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        return None
    if _DECIMAL.fullmatch(stripped) or _NOT_FINITE.fullmatch(stripped):
        return float(stripped)
    return None


def whole_number(text: str, times: int = 1) -> int | None:
    """Return the whole number that a decimal is, such as 100, 1e2 or 100.0; None for other texts.

    The decimal is multiplied first, and exactly: 0.5 times 10 is 5.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST or not _DECIMAL.fullmatch(stripped):
        return None
    product = EXACT.multiply(EXACT.create_decimal(stripped), Decimal(times))
    if not product.is_finite() or abs(product) >= 2**63 or product != product.to_integral_value():
        return None
    return int(product)


def transformed(texts: pl.Series, transform: str | None, *, float32: bool = False) -> pl.Series:
    """Return the values of a metric as the database stores them; null where a text is not one.

    Args:
        texts: as the file has them.
        transform: one of `TRANSFORMS`; None: values stay as they are.
        float32: whether they passed through 32-bit numbers; each is then the shortest decimal that
            rounds to the same one, so that 0.07999999821186066 is 0.08.
    """
    texts = texts.str.strip_chars()
    values = texts.cast(pl.Float64, strict=False)
    if float32:
        texts = values.cast(pl.Float32).cast(pl.String)
        values = texts.cast(pl.Float64)
    if transform is None:
        return values
    turned = [
        None if value is None else _transformed_value(text, value, transform)
        for text, value in zip(texts, values, strict=True)
    ]
    return pl.Series(texts.name, turned, pl.Float64)


def _transformed_value(text: str, value: float, transform: str) -> float:
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
