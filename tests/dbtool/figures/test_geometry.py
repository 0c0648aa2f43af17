import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.figures.geometry import Span, equal_octaves, powers, span_of, spread


def test_a_span_is_in_octaves():
    assert span_of([1, 8, 0], shortest=2) == Span(0, 3)
    assert span_of([4], shortest=4) == Span(0, 4)
    assert span_of([], shortest=4) == Span(0, 4)


def test_the_denser_axis_is_widened():
    x, y = equal_octaves(Span(0, 12), Span(0, 8), 3.0, 3.0)
    assert x == Span(0, 12)
    assert y.length == pytest.approx(12)
    assert y.low < 0
    assert y.high > 8


def test_a_stretch_is_not_widened_beyond_twice_its_length():
    assert equal_octaves(Span(0, 16), Span(0, 4), 3.0, 3.0) == (Span(0, 16), Span(0, 4))


@pytest.mark.parametrize(
    ("span", "room", "marks"),
    [
        (Span(-0.5, 3.5), 5, [0, 1, 2, 3]),
        (Span(-0.5, 12.5), 5, [0, 4, 8, 12]),
        (Span(-9.2, 1.0), 4, [-8, -4, 0]),
    ],
)
def test_ticks_are_even_powers(span, room, marks):
    assert powers(span, room) == marks


def test_labels_that_touch_move_apart_evenly():
    assert spread([0.0, 0.0, 5.0], gap=1.0) == [-0.5, 0.5, 5.0]


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=12),
    st.floats(0.01, 10),
)
def test_labels_keep_their_distance_and_their_order(wanted, gap):
    places = spread(wanted, gap)
    ordered = sorted(range(len(wanted)), key=lambda index: (wanted[index], places[index]))
    for below, above in itertools.pairwise(ordered):
        assert places[above] - places[below] >= gap - 1e-9
