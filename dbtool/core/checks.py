"""Checks of numbers from the user, with one sentence for every number out of range."""

from __future__ import annotations

import math
import operator
from typing import Any

from dbtool.core.errors import UsageError


def require_whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number as an int; NumPy integers are accepted.

    Args:
        name: name of the parameter.
        value: value to check.
        least: smallest valid value.

    Raises:
        UsageError: the value is not a whole number, or is too small.

    Example:
        >>> require_whole("trials", 0)
        Traceback (most recent call last):
            ...
        dbtool.core.errors.UsageError: trials is 0, and should be a whole number from 1
    """
    try:
        found = operator.index(value)
    except TypeError:
        found = least - 1
    if found < least:
        raise UsageError(f"{name} is {value!r}, and should be a whole number from {least}")
    return found


def require_number(
    name: str, value: Any, least: float = -math.inf, most: float = math.inf
) -> float:
    """Return a finite number as a float.

    Args:
        name: name of the parameter.
        value: value to check.
        least: smallest valid value.
        most: largest valid value.

    Raises:
        UsageError: the value is not a finite number, or is out of range.

    Example:
        >>> require_number("level", 2, 0.5, 0.999)
        Traceback (most recent call last):
            ...
        dbtool.core.errors.UsageError: level is 2, and should be a number from 0.5 to 0.999
    """
    try:
        found = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    # This form of the condition also rejects NaN.
    if not (least <= found <= most and math.isfinite(found)):
        words = "a finite number" if math.isinf(least) else f"a number from {least:.4g}"
        words += "" if math.isinf(most) else f" to {most:.4g}"
        raise UsageError(f"{name} is {value!r}, and should be {words}")
    return found
