"""What figures say: names and the colours that they are drawn in, and captions."""

import re

import pytest
from matplotlib.colors import to_rgb

import dbtool
from dbtool import __version__
from dbtool.figures.caption import caption_of, short_caption
from dbtool.figures.drawing import draw
from dbtool.figures.kinds import panels_of
from dbtool.figures.names import NAMES, readable
from dbtool.figures.points import Request, read_points, what_fills
from dbtool.figures.specs import find_figure
from dbtool.figures.style import (
    MARKERS,
    OTHER_COLOURS,
    SEQUENCE,
    page_colour,
    page_looks,
    sequence,
)
from producers.workloads.registry import WORKLOADS
from tests.dbtool.figures.made_points import (
    FIGURE_OF,
    ROWS_OF,
    banded_rows,
    best_rows,
    points_of,
    scatter_rows,
    steps_rows,
)
from tests.support.made_up import passing, write_shard


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


TRAINABLE = frozenset(WORKLOADS)


def caption(points, figure):
    return caption_of(points, find_figure(figure))


def test_the_caption_stands_without_the_picture(db):
    spec = find_figure("1")
    points = read_points(db, spec, Request(trainable=TRAINABLE))
    asks, facts, unreached, missing = caption(points, "1")
    assert asks == (
        f"{spec.question} A point is the fewest steps to the goal of any trial of a study, "
        "which is the search at one batch size."
    )
    assert facts.replace("\N{NO-BREAK SPACE}", " ") == (
        "Release: made-up · workload: mnist/simple_cnn_base/nesterov_momentum · "
        "1 to 3 trials a study, diverged ones not counted · "
        f"goal: validation error < 0.01 · dbtool {__version__}"
    )
    assert unreached == "Goal not reached: Simple CNN on MNIST at batch size 256."
    assert missing.startswith("No data in release made-up: Simple CNN on Fashion MNIST; ResNet-8")
    assert "`dbtool fetch`" in missing
    assert "`dbtool produce fashion_mnist/simple_cnn_base/nesterov_momentum`" in missing


def test_replicates_count_by_their_settings(tmp_path):
    for size in (8, 16):
        # Two settings with two replicates each.
        trials = [
            (
                number,
                "COMPLETE",
                {"learning_rate": 0.1 + number // 2},
                passing(900 // size + number),
            )
            for number in range(4)
        ]
        name = "digits/mlp/sgd"
        write_shard(tmp_path, trials=trials, workload=name, batch_size=size, replicates=True)
    with dbtool.open(tmp_path) as db:
        steps = read_points(db, STEPS, Request())
        told = " ".join(caption(steps, "steps"))
        stars = draw(read_points(db, find_figure("scatter"), Request()), find_figure("scatter"))
    assert "of any setting (by the median of its replicates) of a study" in told
    assert "best of k = 2 settings, diverged" in told
    assert "4 trials a study" in told.replace("\N{NO-BREAK SPACE}", " ")
    key = [text.get_text() for legend in stars.legends for text in legend.get_texts()]
    assert "the middle replicate of the setting that reached the goal first" in key


def test_the_caption_tells_which_curve_could_not_be_normalised(db):
    told = caption(read_points(db, find_figure("3"), Request()), "3")
    assert any(part.endswith("to divide by: FC 1024.") for part in told)


@pytest.mark.parametrize("kind", ROWS_OF)
def test_every_kind_says_what_a_point_is_and_where_it_is_from(kind):
    told = " ".join(caption(points_of(ROWS_OF[kind]), FIGURE_OF[kind]))
    assert " is " in told
    assert "Release: made-up" in told
    count = "counted" if kind in {"scatter", "grid"} else "not counted"
    assert f"trials a study, diverged ones {count}" in told.replace("\N{NO-BREAK SPACE}", " ")


def test_each_release_is_told_what_it_lacks_and_the_picture_names_no_commands():
    lacking = steps_rows()[0] | {"x": None, "y": None, "release": "published", "release_order": 2}
    points = points_of([*steps_rows(), lacking], release="made-up,published")
    told, spec = caption(points, "1"), find_figure("1")
    what = "No data in release published: Simple CNN on MNIST."
    assert told[-1] == f"{what} To fill: `dbtool produce mnist/simple_cnn_base/nesterov_momentum`."
    assert any(part.startswith("Release: made-up, published") for part in told)
    assert "The CSV beside it says what is missing." in short_caption(
        points, spec, panels_of(points, spec)
    )
    assert not any("`" in text.get_text() for text in draw(points, spec).texts)


def test_figures_of_two_kinds_say_what_a_point_is_in_each():
    steps = [row | {"panel": "Steps", "panel_order": 2} for row in steps_rows()]
    first = caption(points_of([*best_rows(), *steps]), "7")[0]
    assert "In \N{LEFT DOUBLE QUOTATION MARK}Simple CNN on MNIST" in first
    assert ", a point is the best value" in first
    assert ", a point is the fewest steps" in first


UNKNOWN = {"y": None, "steps": None, "is_unknown": True}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row for row in scatter_rows() if row["series"] != "goal achieved"],
         "No trial reached the goal: Simple CNN on MNIST."),
        ([*steps_rows(), *steps_rows(release="other", release_order=2)[:4]],
         "Goal not reached: Simple CNN on MNIST in made-up at batch size 16."),
        ([row | {"panel_order": place, "panel": f"Panel {place}"}
          for place in range(20) for row in steps_rows()],
         "Goal not reached: at 20 points of 20 curves (see the CSV)."),
        ([row | (UNKNOWN if row["x"] == 2 else {"is_unknown": False}) for row in steps_rows()],
         "Steps unknown, since the search ended first: Simple CNN on MNIST at batch size 2."),
        ([row | {"y": 0, "steps": 0} for row in steps_rows()[:2]], "Goal passed before step 1: "),
        ([row | {"perfect_low": 1.0} for row in steps_rows()], "passes below points with"),
    ],
)  # fmt: skip
def test_what_is_missing_and_what_a_fitted_line_means_is_told(rows, sentence):
    releases = ",".join(dict.fromkeys(row["release"] for row in rows))
    figure = FIGURE_OF[rows[0]["kind"]]
    assert sentence in " ".join(caption(points_of(rows, release=releases), figure))


def test_what_a_band_means_is_told_where_there_is_one():
    told = " ".join(caption(points_of(banded_rows()), "1"))
    assert "The median of the best of k = 30 trials, diverged ones counted, lies" in told
    assert "has more trials, its point lies at the better end of the band" in told
    # Two panels, all of whose studies have as many trials as are compared.
    even = [
        row | {"best_of": count, "panel_order": order, "trials": count}
        for order, count in enumerate((30, 40), 1)
        for row in banded_rows()
    ]
    told = " ".join(caption(points_of(even), "1"))
    assert "counted, as many as all studies of a panel have (30 to 40), lies in" in told
    assert "more trials" not in told
    empty = {"best_of": None, "perfect_low": None, "perfect_high": None, "is_unknown": False}
    told = " ".join(caption(points_of([row | empty for row in banded_rows()]), "1"))
    assert "Goal not reached: Simple CNN on MNIST at batch size 16." in told
    for words in ("best of k", "interval", "unknown"):
        assert words not in told


STEPS = find_figure("steps")


def test_what_fills_names_only_commands_that_would():
    sparse = "sparsity_90/unheard/of/sgd"
    assert what_fills([sparse], ["measured"], TRAINABLE, STEPS) == ""
    transformer = "lm1b/transformer_base/nesterov_momentum"
    by_training = f"`dbtool produce {transformer}`"
    assert what_fills([transformer], ["published"], TRAINABLE, STEPS) == by_training
    fetched_or_trained = what_fills([transformer], ["measured"], TRAINABLE, STEPS)
    assert "`dbtool fetch`" in fetched_or_trained
    assert fetched_or_trained.endswith(f" or {by_training}")
    assert "`dbtool fetch`" not in what_fills(
        [sparse, "brown/lstm/sgd"], ["measured"], TRAINABLE, STEPS
    )
    many = [f"mnist/fc_{size}/sgd" for size in ("1024", "64_64_64", "128_128_128", "256_256_256")]
    measured = what_fills(
        [sparse], ["measured"], frozenset([sparse]), find_figure("sparsity-lipschitz")
    )
    assert measured == f"`dbtool produce {sparse} --measure gradient_lipschitz_constant`"
    assert "and 1 more like these" in what_fills(many, ["published"], TRAINABLE, STEPS)


def test_points_without_any_trial_are_told_as_formulas():
    nothing = dict.fromkeys(("workload", "trials", "release"))
    rows = [row | nothing for row in ROWS_OF["curves"]]
    told = " ".join(caption(points_of(rows, "curves"), "curves"))
    assert "follow from formulas" in told
    assert "Release" not in told
