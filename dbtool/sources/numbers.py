"""Numbers as files of other tools write them."""

from __future__ import annotations

import decimal
import re
from decimal import Decimal

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

    Args:
        text: the decimal.
        times: what it is multiplied by first, exactly: 0.5 times 10 is 5.
    """
    stripped = text.strip()
    if len(stripped) > _LONGEST or not _DECIMAL.fullmatch(stripped):
        return None
    product = EXACT.multiply(EXACT.create_decimal(stripped), Decimal(times))
    if not product.is_finite() or abs(product) >= 2**63 or product != product.to_integral_value():
        return None
    return int(product)
