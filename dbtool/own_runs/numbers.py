"""Numbers as files of other tools write them, and the ways in which metrics are turned into ours.

Decimals are turned as written: an accuracy of 0.9 is an error of 0.1, and no less.
"""

from __future__ import annotations

import decimal
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"([+-]?)(nan|inf|infinity)", re.ASCII | re.IGNORECASE)
# Exact for whatever a tool writes; nothing that a file holds raises an error.
_EXACT = decimal.Context(prec=60, traps=[])
# Python refuses to turn longer texts into whole numbers.
_LONGEST = 400


def number(text: str) -> float | None:
    """The number that a text stands for, with nan and infinity; None where it is none."""
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        return None
    if _DECIMAL.fullmatch(stripped) or _NOT_FINITE.fullmatch(stripped):
        return float(stripped)
    return None


def whole_number(text: str, times: int = 1) -> int | None:
    """The whole number that a decimal is, as 100 and 1e2 and 100.0 are; None for any other text.

    Args:
        text: the decimal.
        times: what it is multiplied by first, exactly: 0.5 times 10 is 5.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST or not _DECIMAL.fullmatch(stripped):
        return None
    product = _EXACT.multiply(_EXACT.create_decimal(stripped), Decimal(times))
    if not product.is_finite() or abs(product) >= 2**63 or product != product.to_integral_value():
        return None
    return int(product)


def turned(text: str, transform: str | None, *, float32: bool = False) -> float | None:
    """The value of a metric as the database holds it; None where the text is no number.

    Args:
        text: as the file has it.
        transform: one of `TRANSFORMS`; None: as it is.
        float32: whether it passed through a 32-bit number; it is then the shortest decimal that
            rounds to the same one, so that 0.07999999821186066 is 0.08.
    """
    value = number(text)
    if value is None:
        return None
    if float32 and math.isfinite(value):
        with np.errstate(over="ignore"):
            text = str(np.float32(value))
        value = float(text)
    if transform is None:
        return value
    if not math.isfinite(value):
        # One less infinity is infinity of the other sign, as with any number; nan stays.
        return -value if transform.startswith("1 - ") else value
    return TRANSFORMS[transform](_EXACT.create_decimal(text.strip()))


def _log(value: Decimal) -> float:
    if value <= 0:
        return -math.inf if value == 0 else math.nan
    return math.log(value)


TRANSFORMS: Mapping[str, Callable[[Decimal], float]] = {
    "1 - x": lambda x: float(_EXACT.subtract(Decimal(1), x)),
    "x / 100": lambda x: float(_EXACT.divide(x, Decimal(100))),
    "1 - x / 100": lambda x: float(_EXACT.subtract(Decimal(1), _EXACT.divide(x, Decimal(100)))),
    "log(x)": _log,
    "x * log(2)": lambda x: float(x) * math.log(2),
}
