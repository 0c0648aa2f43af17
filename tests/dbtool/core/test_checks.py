"""Numbers that a person gives are taken as they are meant, or refused in one sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dbtool.core.checks import require_number, require_whole
from dbtool.core.errors import UsageError


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), True + 2])
def test_whole_numbers_of_any_kind_become_ints(value: Any) -> None:
    assert type(require_whole("trials", value)) is int
    assert require_whole("trials", value) == 3


@pytest.mark.parametrize("value", [2.0, np.float64(2), "2", None, 0, -1, [1]])
def test_what_is_not_a_whole_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"trials is .*, and should be a whole number from 1$"):
        require_whole("trials", value)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1)])
def test_numbers_of_any_kind_become_floats(value: Any) -> None:
    assert type(require_number("level", value, 0.5, 1)) is float


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None, [1], 10**400])
def test_what_is_not_a_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"goal is .*, and should be a finite number$"):
        require_number("goal", value)
    with pytest.raises(UsageError, match=r"goal is .*, and should be a number from 1 to 2$"):
        require_number("goal", value, 1, 2)
