"""Colours and markers of series, as a page in the browser takes them."""

import re

import pytest
from matplotlib.colors import to_rgb

from dbtool.figures.names import NAMES
from dbtool.figures.style import MARKERS, OTHER_COLOURS, SEQUENCE, page_colour, page_looks

DARK_GROUND = "#191d23"
COLOURS = sorted(
    {*(each.colour for each in NAMES.values() if each.colour), *OTHER_COLOURS, *SEQUENCE}
)


def luminance(colour: str) -> float:
    """The relative luminance of the Web Content Accessibility Guidelines 2.2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in to_rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", COLOURS)
def test_a_colour_is_itself_on_light_ground_and_is_seen_on_dark_ground(colour):
    found = re.fullmatch(r"light-dark\((#\w{6}), (#\w{6})\)", page_colour(colour))
    assert found is not None
    assert found[1] == colour
    # What the guidelines ask of graphics.
    assert (luminance(found[2]) + 0.05) / (luminance(DARK_GROUND) + 0.05) >= 3


def test_markers_are_the_shapes_that_matplotlib_draws():
    markers = page_looks()["markers"]
    assert [*markers] == [*MARKERS]
    # Closed polygons in a square of side 1 about the origin.
    assert markers["s"] == [[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]]]
    assert markers["^"] == [[[0.0, 0.5], [-0.5, -0.5], [0.5, -0.5], [0.0, 0.5]]]
    [circle] = markers["o"]
    assert all(abs((x * x + y * y) ** 0.5 - 0.5) < 0.02 for x, y in circle)
