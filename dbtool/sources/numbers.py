"""Numbers as files of other tools write them, and transforms of metrics into the database's.

Decimals are transformed as written: an accuracy of 0.9 is an error of exactly 0.1.
"""

import decimal
import math
import re
import string
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from dbtool.store.texts import shortest

# Around numbers: Python and Polars each take other characters for blank.
BLANKS = string.whitespace + "\N{NO-BREAK SPACE}"
# Exact for whatever a tool writes; no contents of a file raise an error.
EXACT = decimal.Context(prec=60, traps=[])
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# As programs write finite numbers: not as 007 or +1.
_WRITTEN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,9})?", re.ASCII)
# Python also accepts 1_000 and digits of other scripts as numbers.
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
COMMA = r"^\s*[+-]?[\d.]*\d,[\d.,]*\d([eE][+-]?\d+)?\s*$"
"""What looks like a number with commas, as a regular expression of Python and Polars."""
USE_POINTS = "decimal numbers need a point, and no number a comma"
# Python refuses to convert longer texts into whole numbers.
_LONGEST = 400
_FEW = 20
# Whole numbers of parts of 2**_SHARES are shares of examples, unless more of their bits are 0 than
# _CHANCE.
_SHARES, _CHANCE = 20, 8


def number(text: str) -> float | None:
    """Return the number that a text stands for, maybe nan or infinity; None for other texts."""
    stripped = text.strip(BLANKS)
    if len(stripped) > _LONGEST:
        return None
    if _DECIMAL.fullmatch(stripped) or _NOT_FINITE.fullmatch(stripped):
        return float(stripped)
    return None


def whole_number(text: str, times: int = 1) -> int | None:
    """Return the whole number that a decimal is, such as 100, 1e2 or 100.0; None for other texts.

    The decimal is multiplied first, and exactly: 0.5 times 10 is 5.
    """
    stripped = text.strip(BLANKS)
    if len(stripped) > _LONGEST or not _DECIMAL.fullmatch(stripped) or is_rounded(stripped):
        return None
    product = EXACT.multiply(EXACT.create_decimal(stripped), Decimal(times))
    if not product.is_finite() or not -(2**63) < product < 2**63:
        return None
    whole = int(product)
    return whole if whole == product else None


def is_rounded(text: str) -> bool:
    """Return whether a number is so large, and so written, that a 64-bit float has rounded it.

    Example:
        >>> is_rounded("1.6094379124341003e18"), is_rounded("1609437912434100374")
        (True, False)
    """
    value = None if text.lstrip("+-").isdecimal() else number(text)
    return value is not None and 2**53 < abs(value) < math.inf


def same(text: str) -> str:
    """Return a text that is equal for equal numbers and truths; 007 is not a number.

    Example:
        >>> same("32.0") == same("32"), same("1e-3") == same("0.001"), same("007") == same("7")
        (True, True, False)
    """
    if len(text) <= EXACT.prec and _WRITTEN.fullmatch(text):
        return str(EXACT.plus(EXACT.create_decimal(text)).normalize(EXACT))
    return text.lower() if text.lower() in {"true", "false"} else text


def respelled(texts: pl.Series) -> pl.Series:
    """Return texts as the first of those that are equal numbers is spelled, and 1.0 as 1."""
    first: dict[str, str] = {}
    changed: dict[str, str] = {}
    for text in texts.drop_nulls().unique(maintain_order=True):
        name = re.sub(r"^(-?(?:0|[1-9]\d*))\.0+$", r"\1", first.setdefault(same(text), text))
        changed |= {} if text == name else {text: name}
    return texts.replace(changed) if changed else texts


def narrow_bits(texts: pl.DataFrame) -> pl.DataFrame:
    """Return 16 or 32 as `bits` where all numbers are floats of so few bits with more digits.

    Each is then within the last digit of the nearest such float. Halves, quarters and so on with
    all of their digits, such as shares of 8,192 examples, are no evidence, unless they have fewer
    bits, time and again, than such shares would have.

    Args:
        texts: text, and the columns that are equal for numbers of one kind, such as run and column.
    """
    keys = [name for name in texts.columns if name != "text"]
    # The first rows rule out most others.
    first = _narrow(texts.group_by(keys).head(_FEW), keys, np.float32)
    some = texts.join(first.filter("fits"), on=keys, how="semi")
    found = [
        _narrow(some, keys, kind).filter(pl.col("fits") & pl.col("shown")).select(*keys, bits=bits)
        for bits, kind in ((16, np.float16), (32, np.float32))
    ]
    return pl.concat(found).unique(keys, keep="first", maintain_order=True)


def _narrow(texts: pl.DataFrame, keys: list[str], kind: type[np.floating[Any]]) -> pl.DataFrame:
    """Return by keys whether the numbers fit floats of a kind, and show that they were such."""
    text, value = pl.col("text"), pl.col("value")
    exponent = text.str.extract(r"[eE]([+-]?\d+)").cast(pl.Int32, strict=False).fill_null(0)
    places = text.str.extract(r"\.(\d*)").str.len_chars().cast(pl.Int32).fill_null(0)
    digits = text.str.replace(r"[eE].*", "").str.replace_all(r"[^0-9]", "")
    numbers = texts.select(
        *keys,
        text.cast(pl.Float64, strict=False).alias("value"),
        digits.str.strip_chars_start("0").str.len_chars().alias("digits"),
        places=places - exponent,
    ).filter(value.is_finite())
    with np.errstate(over="ignore"):
        nearest = numbers["value"].to_numpy().astype(kind).astype(float)
    share = value.abs() * 2.0**_SHARES
    written = value.abs() * 2.0 ** pl.col("places").clip(0, _SHARES)
    numbers = numbers.with_columns(
        nearest=nearest,
        away=(numbers["value"] - nearest).abs(),
        share=pl.when((written % 1 == 0) & (value != 0)).then(share.cast(pl.Int64, strict=False)),
    )
    enough = pl.col("digits") >= (8 if kind is np.float16 else 10)
    likely = enough & ((pl.col("digits") > 12) | (pl.col("away") > 0))
    # A float of few decimals, such as 1, is not written with many.
    likely &= pl.col("nearest") * 1e6 % 1 != 0
    # Of the unit, and of the 64-bit number that the text stands for.
    slack = 10.0 ** -pl.col("places") * 0.500001 + value.abs() * 2.0**-52
    # The bits that shares have beyond those of the kind, each 0 by chance.
    count = pl.col("share").filter(enough).unique() / (pl.col("share") & -pl.col("share")).min()
    zeros = (count.log(2).floor() - np.finfo(kind).nmant).clip(0).sum()
    return numbers.group_by(keys, maintain_order=True).agg(
        fits=(pl.col("away") <= slack).all(),
        shown=(likely & pl.col("share").is_null()).any() | (likely.any() & (zeros > _CHANCE)),
    )


def transformed(texts: pl.Series, transform: str | None, *, bits: int | None = None) -> pl.Series:
    """Return the values of a metric as the database stores them; null where a text is not one.

    Args:
        texts: as the file has them.
        transform: one of `TRANSFORMS`; None: values stay as they are.
        bits: 16 or 32 where they passed through floats of so many bits; each is then the shortest
            decimal that rounds to the same one, so that 0.07999999821186066 is 0.08.
    """
    texts = texts.str.strip_chars(BLANKS)
    values = texts.cast(pl.Float64, strict=False)
    if bits is not None:
        texts = shortest(values.cast(pl.Float16 if bits == 16 else pl.Float32))
        values = texts.cast(pl.Float64)
    if transform is None:
        return values
    # One less infinity is infinity of the other sign, as with any number; nan stays.
    sign = -1 if transform.startswith("1 - ") else 1
    turned = [
        TRANSFORMS[transform](EXACT.create_decimal(text))
        if value is not None and math.isfinite(value)
        else value and sign * value
        for text, value in zip(texts, values, strict=True)
    ]
    return pl.Series(texts.name, turned, pl.Float64)


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
