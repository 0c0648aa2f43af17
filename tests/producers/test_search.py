"""Search: ranges on their scales, and points that do not depend on how many are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.search import Choice, Range, Sobol, points, search_space_json

POSITIONS = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("metaparameter", "expected"),
    [
        (Range(2.0, 4.0), 3.0),
        (Range(1e-4, 1.0, "LOG_SCALE"), 1e-2),
        # Halfway between 0.1 and 0.0001 on the scale of one minus the value.
        (Range(0.9, 0.9999, "REVERSE_LOG_SCALE"), 1 - 10**-2.5),
        (Range(1, 3, integer=True), 2.0),
        (Choice((0.0, 0.01, 0.1)), 0.01),
    ],
)
def test_the_middle_of_a_range(metaparameter: Range | Choice, expected: float) -> None:
    assert metaparameter.at(0.5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scale", ["LINEAR_SCALE", "LOG_SCALE"])
def test_whole_numbers_include_both_ends(scale: str) -> None:
    metaparameter = Range(2, 5, scale, integer=True)  # type: ignore[arg-type]
    drawn = [metaparameter.at(position) for position in np.linspace(0, 1, 1000, endpoint=False)]
    assert sorted(set(drawn)) == [2.0, 3.0, 4.0, 5.0]
    if scale == "LINEAR_SCALE":
        assert [drawn.count(value) for value in (2.0, 3.0, 4.0, 5.0)] == [250] * 4


def test_choices_take_equal_shares() -> None:
    choice = Choice((3.0, 1.0, 2.0))
    drawn = [choice.at(position / 300) for position in range(300)]
    assert [drawn.count(value) for value in choice.values] == [100] * 3


SPACE = {
    "learning_rate": Range(1e-4, 10.0, "LOG_SCALE"),
    "momentum": Range(0.9, 0.9999, "REVERSE_LOG_SCALE"),
}


@given(first=st.integers(0, 40), count=st.integers(1, 40))
def test_point_k_is_the_same_however_many_are_asked_for(first: int, count: int) -> None:
    assert points(SPACE, seed=4, first=first, count=count) == ALL[first : first + count]


ALL = points(SPACE, seed=4, first=0, count=80)


def test_points_fill_the_space_evenly() -> None:
    """Of the first 64 points of a Sobol sequence, each cell of an 8 by 8 grid holds one."""
    cells = {
        (
            int(SPACE["learning_rate"].position(point["learning_rate"]) * 8),
            int(SPACE["momentum"].position(point["momentum"]) * 8),
        )
        for point in ALL[:64]
    }
    assert len(cells) == 64


def test_a_sequence_that_is_not_scrambled_by_hand() -> None:
    """The first points of the two-dimensional sequence, on ranges of 16 steps a dimension."""
    space = {"x": Range(0.0, 16.0), "y": Range(0.0, 16.0)}
    expected = [(0, 0), (8, 8), (12, 4), (4, 12), (6, 6), (14, 14), (10, 2)]
    for seed in (1, 2):
        drawn = points(space, seed=seed, first=0, count=7, sobol=Sobol(scramble=False))
        assert [(point["x"], point["y"]) for point in drawn] == expected
    for first, count, skip in ((0, 6, 1), (2, 2, 1), (0, 1, 6)):
        sobol = Sobol(scramble=False, skip=skip)
        part = points(space, seed=1, first=first, count=count, sobol=sobol)
        start = first + skip
        assert [(each["x"], each["y"]) for each in part] == expected[start : start + count]


def test_search_space_as_the_archive_writes_it() -> None:
    assert search_space_json({"m": SPACE["momentum"], "s": Choice((0.0, 0.1))}) == {
        "m": {
            "type": "DOUBLE",
            "min_value": 0.9,
            "max_value": 0.9999,
            "scale": "REVERSE_LOG_SCALE",
        },
        "s": {"type": "DISCRETE", "feasible_points": [0.0, 0.1]},
    }


@pytest.mark.parametrize(
    "arguments",
    [(2.0, 1.0), (0.0, 1.0, "LOG_SCALE"), (0.5, 1.0, "REVERSE_LOG_SCALE"), (0.1, 1.0, "log")],
)
def test_ranges_that_make_no_sense_are_refused(arguments: tuple) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=r"range|'log' is not one of"):
        Range(*arguments)
