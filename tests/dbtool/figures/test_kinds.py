import math
import re
from unicodedata import normalize

import pytest
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

from dbtool.figures.caption import gaps_of
from dbtool.figures.drawing import draw
from dbtool.figures.kinds import panels_of
from dbtool.figures.names import NAMES
from dbtool.figures.specs import find_figure
from dbtool.figures.style import PERFECT
from tests.dbtool.figures import made_points
from tests.dbtool.figures.made_points import FIGURE_OF, points_of


def drawn(rows, release=None):
    """The axes of the figure of these rows."""
    points = points_of(rows, release=release)
    return draw(points, find_figure(FIGURE_OF[rows[0]["kind"]])).axes


def told(rows):
    """What is not drawn of these rows."""
    points = points_of(rows)
    return gaps_of(points, panels_of(points, find_figure(FIGURE_OF[rows[0]["kind"]])))


def marks(axes, label):
    """The points of the artists of that name."""
    return [
        (float(x), float(y))
        for line in axes.lines
        if line.get_label() == label
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


def look(axes, label):
    (line,) = [line for line in axes.lines if line.get_label() == label]
    return line


def exponent_of(text):
    """-3 of the text 10⁻³; None where it is no power of ten."""
    plain = normalize("NFKC", text).replace("\N{MINUS SIGN}", "-")
    return int(plain[2:]) if plain != text and re.fullmatch(r"10-?\d+", plain) else None


def words(axes):
    figure = axes.figure
    legends = [legend for part in (figure, axes) for legend in part.findobj(Legend)]
    texts = [*figure.texts, *axes.texts, *(t for legend in legends for t in legend.get_texts())]
    return {text.get_text() for text in texts}


STUDY = made_points.study_rows()
# Of rows the points of artists by their names, and words that are and that are not in the figure.
DRAWN = [
    (made_points.against_rows(),
     {"points: batch size 16": [(0, 400), (50, 500), (90, 900)]}, set(), set()),
    (made_points.metaparameter_rows(), {"ring: simple_cnn_base": [(4, 9.0)]},
     {"linear scaling", "square-root scaling", "beyond the searched range",
      "in the outer tenth of the searched range"}, set()),
    (made_points.scatter_rows(),
     {"trials: goal achieved": [(0.1, 0.01), (0.2, 0.05)], "trials: goal not achieved":
      [(0.001, 0.02)], "trials: infeasible": [(5.0, 1e-3), (8.0, 2e-4)], "best: made-up":
      [(0.1, 0.01)]}, {"the trial that reached the goal first"}, set()),
    (made_points.curve_rows(),
     {"line: Batch size 64": [(1, 0.5), (16, 0.1), (256, 0.009)],
      "read off: Batch size 256": [(256, 0.008)]},
     {"goal", "where steps to result are read off"}, set()),
    (STUDY, {"first: Trial 2": [(1, 0.4), (16, 0.009)],
     "others: Trial 3": [(1, 0.9), (16, 0.3)]}, set(), {"Trial 1"}),
    ([row | {"best": False} for row in STUDY],
     {"study: Trial 2": [(1, 0.4), (16, 0.009)]},
     {"the trials of the study"}, {"the other trials of the study"}),
    ([row | {"workload": None, "release": None, "best": False} for row in STUDY], {},
     {"Trial 1"}, set()),
    ([row | {"y": None, "steps": None, "perfect": None} for row in made_points.steps_rows()], {},
     {"no trial reached the goal"}, set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "points", "said", "unsaid"),
    DRAWN,
    ids=["against", "metaparameter", "scatter", "curves", "a study", "a study that missed its goal",
         "no trial", "nothing reached"],
)  # fmt: skip
def test_what_is_drawn_and_said(rows, points, said, unsaid):
    (axes,) = drawn(rows)
    assert {label: marks(axes, label) for label in points} == points
    assert said <= words(axes)
    assert not unsaid & words(axes)


def test_a_metaparameter_at_a_border_has_a_ring_and_what_lies_beyond_is_shaded():
    (axes,) = drawn(made_points.metaparameter_rows())
    assert marks(axes, "ring: simple_cnn_base") == [(4, 9.0)]
    assert marks(axes, "unreached: simple_cnn_base")[0][0] == 8
    shaded = [path for part in axes.collections for path in part.get_paths()]
    assert any(10.0 in path.vertices[:, 1] for path in shaded)
    assert axes.get_ylim()[1] > 10
    told = {"beyond the searched range", "in the outer tenth of the searched range"}
    assert told <= words(axes)


def test_of_a_study_the_trial_that_was_first_stands_out_and_curves_without_trials_have_names():
    rows = made_points.study_rows()
    (axes,) = drawn(rows)
    assert marks(axes, "first: Trial 2") == [(1, 0.4), (16, 0.009)]
    assert marks(axes, "others: Trial 3") == [(1, 0.9), (16, 0.3)]
    assert "Trial 1" not in words(axes)
    missed = [row | {"best": False} for row in rows]
    (axes,) = drawn(missed)
    assert marks(axes, "study: Trial 2") == [(1, 0.4), (16, 0.009)]
    assert "the trials of the study" in words(axes)
    (axes,) = drawn([row | {"workload": None, "release": None} for row in missed])
    assert "Trial 1" in words(axes)


def test_the_line_breaks_where_no_trial_reached_the_goal_and_a_cross_says_so():
    """In a strip over the axes, which has a row a curve that missed it somewhere."""
    ys = {"fc_1024": (640, None), "fc_64_64_64": (None, 320), "simple_cnn_base": (640, 320)}
    rows = made_points.series_rows("steps_to_result", (1, 2), ys, steps=lambda _, y: y)
    (axes,) = drawn(rows)
    assert marks(axes, "points: fc_1024") == [(1, 640)]
    assert math.isnan(marks(axes, "line: fc_1024")[-1][1])
    assert marks(axes, "points: simple_cnn_base") == [(1, 640), (2, 320)]
    crosses = [line for line in axes.lines if line.get_label().startswith("unreached")]
    assert [list(cross.get_xdata()) for cross in crosses] == [[2], [1]]
    # Above the axes and below the words over the panel.
    axes.figure.draw_without_rendering()
    first, second = (cross.get_transform().transform(cross.get_xydata()[0])[1] for cross in crosses)
    lowest = min(text.get_window_extent().y0 for text in axes.texts if text.get_text())
    assert axes.bbox.y1 < second < first < lowest
    assert look(axes, "strip").get_zorder() < crosses[0].get_zorder()
    assert "no trial reached the goal" in words(axes)


def test_the_line_breaks_without_a_cross_where_a_study_ended_before_its_goal():
    rows = [row | {"is_unknown": False} for row in made_points.steps_rows()[:4]]
    rows[1] |= {"y": None, "steps": None, "is_unknown": True}
    (axes,) = drawn(rows)
    assert [x for x, y in marks(axes, "line: simple_cnn_base") if math.isnan(y)] == [2]
    assert not [line for line in axes.lines if line.get_label().startswith("unreached")]


def test_bands_are_tinted_between_their_bounds_and_break_where_there_are_none():
    (axes,) = drawn(made_points.banded_rows())
    tints = [part for part in axes.collections if part.get_label() == "band: simple_cnn_base"]
    corners = [
        {(x, y) for path in part.get_paths() for x, y in path.vertices.tolist()} for part in tints
    ]
    # Without a bound below, the band ends at the point.
    assert {(1, 500), (1, 700), (2, 320), (2, 400)} in corners
    assert {(8, 150), (8, 200)} in corners
    assert not any(x in (4, 16) for found in corners for x, _ in found)
    bounds = [(x, y) for x, y in marks(axes, "band: simple_cnn_base") if not math.isnan(y)]
    assert sorted(bounds) == [(1, 500), (1, 700), (2, 400), (8, 150), (8, 200)]
    assert axes.get_ylim()[0] < 150
    assert axes.get_ylim()[1] > 700
    # The key of the band has its colour.
    (legend,) = axes.figure.findobj(Legend)
    texts = [text.get_text() for text in legend.get_texts()]
    key = legend.get_lines()[texts.index("95 % band at equal trials")]
    assert key.get_color() == NAMES["simple_cnn_base"].colour


def test_a_band_of_one_point_is_a_bar_with_ends():
    rows = [
        row | ({} if row["x"] == 8 else {"band_low": None, "band_high": None})
        for row in made_points.banded_rows()
    ]
    (axes,) = drawn(rows)
    ends = [line for line in axes.lines if line.get_label().startswith("band")]
    assert {line.get_marker() for line in ends} == {"_"}
    assert sorted(marks(axes, "band: simple_cnn_base")) == [(8, 150), (8, 200)]


def test_perfect_scaling_that_curves_share_is_one_line_wherever_their_points_lie():
    first, second = made_points.normalised_rows()[:3], made_points.normalised_rows()[3:]
    (axes,) = drawn([first[1], first[2], second[0], second[1]])
    line = look(axes, "perfect: fc_1024")
    assert marks(axes, "perfect: fc_1024") == [(1, 2), (2, 1), (4, 0.5)]
    assert to_hex(line.get_color()) == PERFECT
    assert sum(line.get_label().startswith("perfect") for line in axes.lines) == 1


def test_perfect_scaling_that_some_curves_share_is_one_line():
    rows = made_points.steps_rows()
    shared = [row | {"series": "fc_1024", "series_order": 2} for row in rows[1:]]
    apart = [
        row | {"series": "fc_64_64_64", "series_order": 3, "perfect": 2 * row["perfect"]}
        for row in rows
    ]
    (axes,) = drawn(rows + shared + apart)
    lines = [line for line in axes.lines if line.get_label().startswith("perfect")]
    assert [(line.get_label(), line.get_color()) for line in lines] == [
        ("perfect: simple_cnn_base", PERFECT),
        ("perfect: fc_64_64_64", NAMES["fc_64_64_64"].colour),
    ]


def test_of_many_curves_one_guide_is_drawn_and_no_band():
    rows = [
        row | {"series": f"fc_{place}", "series_order": place, "perfect": place * row["perfect"]}
        for place in range(1, 6)
        for row in made_points.banded_rows()
    ]
    axes, _ = drawn(rows + made_points.steps_rows(panel_order=2))
    (guide,) = [line for line in axes.lines if line.get_label().startswith("perfect")]
    assert marks(axes, guide.get_label())[0] == (1, 3 * 640)
    assert to_hex(guide.get_color()) == PERFECT
    # Where another panel has a line of its own, one entry of the key tells both.
    texts = [text.get_text() for each in axes.figure.legends for text in each.get_texts()]
    expected = "perfect scaling of the middle curve where there are many"
    assert [text for text in texts if "perfect" in text] == [expected]
    assert not [part for part in axes.collections if part.get_label().startswith("band")]


def test_series_of_a_panel_differ_in_shape_however_many_a_figure_has():
    panels = [range(6), range(6, 12), (0, 1, 10, 11)]
    rows = [
        row | {"panel_order": place, "series": f"fc_{name}", "series_order": name}
        for place, names in enumerate(panels)
        for name in names
        for row in made_points.steps_rows()
    ]
    shapes: dict[str, str] = {}
    for axes, names in zip(drawn(rows), panels, strict=True):
        points = [line for line in axes.lines if line.get_label().startswith("points")]
        assert len({line.get_marker() for line in points}) == len(names)
        for line in points:
            assert shapes.setdefault(line.get_label(), line.get_marker()) == line.get_marker()


def test_a_curve_of_fewer_trials_with_the_same_points_is_drawn_once():
    rows = [
        row | {"series": f"first {count} trials", "series_order": count, "asked_trials": count}
        for count in (10, 50, 100)
        for row in made_points.steps_rows()[count == 10 :]
    ]
    (axes,) = drawn(rows)
    names = {word for word in words(axes) if word.startswith("first")}
    assert names == {"first 10 trials", "first 100 trials"}
    assert "Drawn once where points are those of more trials: first 50 trials." in told(rows)


def test_a_panel_of_one_point_is_not_drawn_beside_others():
    lone = made_points.steps_rows(panel="Other", panel_order=2)[:1]
    rows = [*made_points.steps_rows(), *lone]
    (axes,) = drawn(rows)
    assert marks(axes, "points: simple_cnn_base")
    assert "Not drawn, for want of a second point: Other." in told(rows)
    (axes,) = drawn(lone)
    assert marks(axes, "points: simple_cnn_base") == [(1, 640)]


SCATTER_ENDS = {"x_from": 10**-4.5, "x_to": 10**-0.5, "y_from": 1e-6, "y_to": 10.0}


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        (made_points.best_rows(), {"y_from": 0.005, "y_to": 0.025}),
        (made_points.scatter_rows(), SCATTER_ENDS),
    ],
)
def test_axes_end_where_the_rows_say_and_what_lies_beyond_is_told(rows, ends):
    rows = [row | ends for row in rows]
    (axes,) = drawn(rows)
    found = dict(zip(SCATTER_ENDS, (*axes.get_xlim(), *axes.get_ylim()), strict=True))
    assert {name: found[name] for name in ends} == pytest.approx(ends)
    assert "2 points lie beyond the axes (see the CSV)." in told(rows)


def test_contours_join_equal_effective_learning_rates():
    (axes,) = drawn(made_points.scatter_rows())
    rates = {round(math.log10(x / y), 6) for x, y in marks(axes, "contours")}
    assert len(rates) > 2
    assert rates == {round(rate) for rate in rates}
    named = {exponent_of(text.get_text()) for text in axes.texts} - {None}
    assert named <= rates
    assert named


def test_a_search_without_momentum_has_no_contours():
    (axes,) = drawn([row | {"y": 1.0} for row in made_points.scatter_rows()])
    assert not marks(axes, "contours")
    # An axis of one value is none.
    assert not axes.get_ylabel()
    assert not len(axes.get_yticks())


def test_a_curve_of_one_measurement_is_a_dot():
    lone, *others = made_points.curve_rows()
    (axes,) = drawn([lone, *(row for row in others if row["series"] != lone["series"])])
    assert look(axes, f"line: {lone['series']}").get_marker() == "o"
    assert look(axes, f"line: {others[-1]['series']}").get_marker() == "None"


def test_two_releases_share_a_colour_and_differ_in_fill_and_line():
    second = {"release": "other", "release_order": 2}
    rows = [*made_points.steps_rows(), *made_points.steps_rows(**second)]
    (axes,) = drawn(rows, release="made-up,other")
    first, second = [line for line in axes.lines if line.get_label() == "line: simple_cnn_base"]
    assert first.get_color() == second.get_color()
    assert not first.is_dashed()
    assert second.is_dashed()
    fills = [
        line.get_markerfacecolor() for line in axes.lines if line.get_label().startswith("points")
    ]
    assert fills == [first.get_color(), "white"]
    assert {"release made-up", "release other"} <= words(axes)


def test_a_figure_may_mix_kinds():
    mixed = made_points.steps_rows(panel_order=2, panel="Other")
    first, second = drawn([*made_points.best_rows(), *mixed])
    assert first.get_yscale() == "linear"
    assert second.get_yscale() == "log"
