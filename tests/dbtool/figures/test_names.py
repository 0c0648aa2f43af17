"""What names are called, and the colours and markers that they are drawn in."""

import re

import pytest
from matplotlib.colors import to_rgb

from dbtool.figures.names import NAMES, form_a_sequence, goal_words, readable
from dbtool.figures.style import (
    MARKERS,
    OTHER_COLOURS,
    SEQUENCE,
    colours,
    page_colour,
    page_looks,
    sequence,
)
from producers.workloads.registry import WORKLOADS


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("resnet_50 on mnist_subsets/mnist_6875", "ResNet-50 on MNIST, 6,875 images"),
        ("mnist/fc_1024/sgd, budgets", "FC 1024 on MNIST, SGD, budgets"),
        ("brown/transformer_tiny/adam", "Transformer, tiny on the Brown corpus, Adam"),
        ("solution_quality/mnist/fc_64/sgd", "FC 64 on MNIST, SGD (solution quality)"),
        ("fc_64 on sparsity_90/mnist", "FC 64 on MNIST (sparsity 90)"),
        ("two\nlines", "two lines"),
    ],
)
def test_names_are_readable_and_on_one_line(text, called):
    assert readable(text) == called


def test_every_workload_that_can_be_trained_has_a_readable_name():
    assert [name for name in WORKLOADS if "_" in readable(name)] == []


def test_a_goal_is_said_as_one_reads_it():
    strict = goal_words("val_classification_error", 0.01, inclusive=False)
    assert strict == "validation error < 0.01"
    inclusive = goal_words("test_average_precision", 0.3, inclusive=True)
    assert inclusive == "test average precision ≥ 0.3"


def test_names_that_differ_in_a_number_form_a_sequence():
    assert form_a_sequence(["0.2 epochs", "1 epoch", "10 epochs"])
    assert form_a_sequence(["5k steps", "1M steps"])
    assert form_a_sequence(["sparsity 0 %", "sparsity 90 %"])
    assert not form_a_sequence(["resnet_50", "vgg_11"])
    assert not form_a_sequence(["1"])


def test_known_names_keep_their_colours_and_no_other_takes_them():
    found = colours(["imagenet", "unheard of", "unseen"])
    assert found["imagenet"] == NAMES["imagenet"].colour
    assert len(set(found.values())) == 3


def test_a_sequence_darkens_steadily():
    for count in range(2, 14):
        lightness = [
            sum(w * int(c[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))
            for c in sequence(count)
        ]
        assert lightness == sorted(lightness, reverse=True)
        assert len(set(lightness)) == count


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
