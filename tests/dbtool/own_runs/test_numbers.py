"""Numbers as files have them, and how they are turned."""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.sources.numbers import TRANSFORMS, number, transformed, whole_number


def _transformed(text: str, transform: str | None, *, bits: int | None = None) -> float | None:
    found = transformed(pl.Series([text]), transform, bits=bits)
    assert found.dtype == pl.Float64
    value: float | None = found.item()
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0), (" .5 ", 0.5), ("5.", 5.0), ("-1e-3", -0.001), ("1e400", math.inf), ("+2", 2.0),
        ("nan", math.nan), ("NaN", math.nan), ("inf", math.inf), ("-Infinity", -math.inf),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float) -> None:
    assert repr(number(text)) == repr(value) == repr(_transformed(text, None))
    for transform in (None, *TRANSFORMS):
        assert not math.isnan(value) or math.isnan(_transformed(text, transform) or 0)


@pytest.mark.parametrize("text", ["", "x", "1_0", "0x1", "٣", "1,5", "- 1", "true"])
def test_what_is_no_number(text: str) -> None:
    assert number(text) is None
    assert whole_number(text) is None
    assert _transformed(text, "1 - x") is None


@pytest.mark.parametrize(
    ("text", "times", "value"),
    [
        ("100", 1, 100), ("1e2", 1, 100), ("100.0", 1, 100), ("0.1", 10, 1), ("0.3", 10, 3),
        ("0.5", 1, None), ("nan", 1, None), ("1e30", 1, None), ("-3", 1, -3),
        ("1e999999999", 1, None),
    ],
)  # fmt: skip
def test_whole_numbers(text: str, times: int, value: int | None) -> None:
    assert whole_number(text, times) == value


@pytest.mark.parametrize(
    ("text", "transform", "value"),
    [
        # Floats would give 0.09999999999999998, which is past a goal of 0.1.
        ("0.9", "1 - x", 0.1),
        ("8", "x / 100", 0.08),
        ("91.7", "1 - x / 100", 0.083),
        ("1", "log(x)", 0.0),
        ("1", "x * log(2)", 0.6931471805599453),
        ("0", "log(x)", -math.inf),
        ("inf", "log(x)", math.inf),
        ("-inf", "1 - x", math.inf),
        ("1e999999999", "x / 100", math.inf),
    ],
)
def test_transforms(text: str, transform: str, value: float) -> None:
    assert _transformed(text, transform) == value


@given(st.decimals(0, 1, allow_nan=False, places=6))
def test_one_minus_a_decimal_is_the_number_nearest_to_it(value: object) -> None:
    exact = 1 - Fraction(str(value))
    assert _transformed(str(value), "1 - x") == exact.numerator / exact.denominator


@given(st.decimals(0, 100, allow_nan=False, places=4))
def test_32_bit_numbers_give_back_the_decimal_that_was_logged(value: object) -> None:
    logged = repr(float(np.float32(float(str(value)))))
    assert _transformed(logged, None, bits=32) == float(str(value))


@given(st.text())
def test_any_text(text: str) -> None:
    for transform in (None, *TRANSFORMS):
        for bits in (None, 16, 32):
            found = _transformed(text, transform, bits=bits)
            assert (found is None) == (number(text) is None)
