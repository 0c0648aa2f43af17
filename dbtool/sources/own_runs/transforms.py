"""The ways in which metrics of other tools are turned into ours.

Decimals are turned as written: an accuracy of 0.9 is an error of 0.1, and no less.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from dbtool.sources.numbers import EXACT, number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def transformed(text: str, transform: str | None, *, float32: bool = False) -> float | None:
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
    return TRANSFORMS[transform](EXACT.create_decimal(text.strip()))


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
