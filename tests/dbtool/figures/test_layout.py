"""Figures as laid out: nothing overlaps or is said twice, and the same points give one file."""

import contextlib
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.figures.batch import write_figure
from dbtool.figures.drawing import draw, draw_parts
from dbtool.figures.legend import lines_of, width_of
from dbtool.figures.plot import checked, packed_figures
from dbtool.figures.points import Request
from dbtool.figures.scales import Size, Span, equal_octaves, set_scales, span_of
from dbtool.figures.specs import DATA_FORMATS, FIGURES, FORMATS, FigureLayout, find_figure
from dbtool.figures.style import CAPTION
from tests.dbtool.figures.made_points import FIGURE_OF, ROWS_OF, points_of, steps_rows
from tests.support.made_up import curve, write_shard
from tests.support.slow import quick_few

# Those whose axes, marks or legend are drawn by other code than those of another kind.
KINDS = pytest.mark.parametrize(
    "kind", quick_few(ROWS_OF, {"steps_to_result", "metaparameter", "scatter", "grid", "curves"})
)


def figure_of(kind, width=None):
    """Four panels of that kind, with long titles."""
    rows = [
        row | {"panel": f"Transformer, narrow and shallow, on Common Crawl {place}"}
        | {"panel_order": 10 * place + row["panel_order"]}
        for place in range(4)
        for row in ROWS_OF[kind]
    ]  # fmt: skip
    layout = FigureLayout(width, title=True, caption="figure")
    return draw(points_of(rows), find_figure(FIGURE_OF[kind]), layout)


def is_beside(label, box):
    x, y = label.get_window_extent().get_points().mean(axis=0)
    return box.x0 <= x <= box.x1 or box.y0 <= y <= box.y1


def laid_out(figure):
    """The boxes of all words of a figure but those along contours."""
    figure.draw_without_rendering()
    # Ticks beyond the ends of an axis are not drawn.
    beyond = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in axis.get_ticklabels()
        if not is_beside(label, axes.bbox.padded(1))
    }
    for text in figure.findobj(Text):
        shown = text.get_visible() and text.get_text().strip() and text not in beyond
        if shown and not text.get_rotation() % 90:
            yield text.get_window_extent()


@pytest.mark.parametrize("width", quick_few([3.5, 13.0], {3.5}))
@KINDS
def test_no_words_overlap_or_leave_the_page(kind, width):
    figure = figure_of(kind, width)
    assert figure.get_size_inches()[0] == pytest.approx(width)
    caption = [text for text in figure.texts if text.get_fontsize() == CAPTION]
    assert 0 < len(caption) <= 3
    # Boxes of lines that follow each other touch.
    boxes = [box.padded(-0.5) for box in laid_out(figure)]
    for box in boxes:
        assert 0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert 0 <= box.y0 <= box.y1 <= figure.bbox.y1
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    around = [(axes.bbox, axes.get_tightbbox()) for axes in figure.axes]
    for (axes, _), (_, other) in itertools.permutations(around, 2):
        assert not axes.overlaps(other)


def test_type_stays_and_panels_that_do_not_fit_beside_each_other_go_below():
    narrow, wide = (figure_of("steps_to_result", width) for width in (3.5, 9.0))
    assert narrow.texts[0].get_fontsize() == wide.texts[0].get_fontsize()
    assert {axes.get_subplotspec().colspan.start for axes in narrow.axes} == {0}


@KINDS
def test_a_picture_for_a_column_has_labels_and_legend_alone(kind):
    rows, titles = ROWS_OF[kind], ("Simple CNN on MNIST", "ResNet-8 on CIFAR-10")
    several = [row | {"panel_order": n, "panel": titles[n]} for n in (0, 1) for row in rows]
    for made, expected in ((rows, [""]), (several, titles)):
        parts = draw_parts(points_of(made), find_figure(FIGURE_OF[kind]), FigureLayout(3.5))
        assert max(figure.get_size_inches()[1] for figure in parts) < 3.5 + 1e-9
        assert not any(figure.texts for figure in parts)
        if kind != "grid" or made is several:
            assert [_title(axes) for figure in parts for axes in figure.axes] == [*expected]


def _title(axes):
    """The words of the panel's title; "" where it has none."""
    return " ".join(t.get_text() for t in reversed(axes.texts) if t.get_fontweight() == "bold")


def test_a_search_in_a_column_is_high_enough_for_its_stars():
    for figure in draw_parts(points_of(ROWS_OF["grid"]), find_figure("10"), FigureLayout(3.5)):
        assert figure.axes[0].get_window_extent().height / figure.dpi > 1.2


@pytest.mark.parametrize(("panels", "expected"), [(7, [4, 3]), (13, [5, 5, 3])])
def test_headings_of_a_row_begin_at_one_height_and_no_panel_stands_alone(panels, expected):
    rows = [
        row | {"panel_order": place, "panel": "Simple CNN on MNIST" + " once more" * (place % 3)}
        for place in range(panels)
        for row in steps_rows()
    ]
    figure = draw(points_of(rows), find_figure("1"))
    figure.draw_without_rendering()
    tops: dict[int, list[float]] = {}
    for axes in figure.axes:
        (title,) = (text for text in axes.texts if "CNN" in text.get_text())
        spec: Any = axes.get_subplotspec()
        tops.setdefault(spec.rowspan.start, []).append(title.get_window_extent().y1)
    assert [len(row) for row in tops.values()] == expected
    assert all(max(row) - min(row) < 1 for row in tops.values())


@pytest.mark.parametrize("kind", quick_few(ROWS_OF, {"steps_to_result"}))
def test_the_same_points_give_the_same_bytes(kind, tmp_path):
    points, spec = points_of(ROWS_OF[kind]), find_figure(FIGURE_OF[kind])
    formats = (*FORMATS, *DATA_FORMATS)
    first, second = (write_figure(points, spec, tmp_path / name, formats).files for name in "ab")
    assert [path.name for path in first] == [f"{spec.name}.{name}" for name in formats]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted((tmp_path / "a").iterdir()) == sorted(first)


def line_colours(axes):
    lines = [line for line in axes.lines if "line: " in line.get_label()]
    return {line.get_label(): line.get_color() for line in lines}


def test_a_curve_that_is_left_out_keeps_its_colour():
    curves = [{"series": f"goal 0.0{order}", "series_order": order} for order in (1, 2, 3)]
    whole = [row for curve in curves for row in steps_rows(**curve)]
    held = [row for curve in curves[:2] for row in steps_rows(**curve)]
    lacking = [*held, steps_rows(**curves[2])[0] | {"x": None, "y": None}]
    every, fewer = (
        line_colours(draw(points_of(rows), find_figure("1")).axes[0]) for rows in (whole, lacking)
    )
    assert fewer.items() < every.items()


def test_panels_with_a_part_of_a_sequence_have_its_colours():
    curves = [{"series": f"first {count} trials", "series_order": count} for count in (10, 50, 100)]
    rows = [row for curve in curves for row in steps_rows(**curve)]
    rows += [row for curve in curves[:2] for row in steps_rows(**curve, panel_order=2)]
    whole, part = draw(points_of(rows), find_figure("1")).axes
    assert line_colours(part).items() < line_colours(whole).items()


def test_a_title_without_spaces_stays_over_its_panel():
    rows = [
        row | {"panel": "a/very/long/path/" * 8 + str(place), "panel_order": place}
        for place in range(2)
        for row in steps_rows()
    ]
    figure = draw(points_of(rows), find_figure("1"))
    figure.draw_without_rendering()
    first, second = (
        [text.get_window_extent() for text in axes.texts if "a/" in text.get_text()]
        for axes in figure.axes
    )
    assert len(first) > 1
    assert not any(one.overlaps(other) for one in first for other in second)


def test_long_words_along_an_axis_take_two_lines():
    rows = [
        row | {"y_label": "Steps of the learning rate's decay, as a share of the most searched"}
        for row in ROWS_OF["grid"]
    ]
    label = draw(points_of(rows), find_figure(FIGURE_OF["grid"])).axes[0].get_ylabel()
    assert label.count("\n") == 1


@pytest.mark.parametrize("scale", ["log2", "log10"])
@given(low=st.floats(-20, 20), length=st.floats(0.2, 30), inches=st.floats(0.8, 6))
@example(low=0.5, length=5.0, inches=2.0)
def test_an_axis_has_numbers_and_not_too_many(scale, low, length, inches):
    axes = Figure().add_subplot()
    span = Span(low, low + length)
    set_scales(axes, (scale, scale), span, span, Size(inches, inches))
    shown = [x for x in axes.get_xticks() if axes.get_xlim()[0] <= x <= axes.get_xlim()[1]]
    assert len(shown) <= max(9, 4 * inches)
    assert len(shown) > 1 or (scale == "log2" and length < 8)


def test_the_denser_axis_is_widened():
    x, y = equal_octaves(Span(0, 12), Span(0, 8), Size(3.0, 3.0))
    assert x == Span(0, 12)
    assert y.length == pytest.approx(12)
    assert y.low < 0
    assert y.high > 8
    # But not beyond twice its length.
    far = Span(0, 16), Span(0, 4)
    assert equal_octaves(*far, Size(3.0, 3.0)) == far


def test_lines_are_as_wide_as_they_are_measured_and_none_ends_within_a_goal():
    text = "Where perfect scaling ends and the plateau begins"
    for line in lines_of(text, 1.2, 7.0):
        assert width_of(line, 7.0) <= 1.2 or " " not in line
    assert width_of(text, 14.0) == pytest.approx(2 * width_of(text, 7.0))
    for width in (0.8, 1.2):
        assert "error < 0.01" in lines_of("Muon; validation error < 0.01", width, 7.0)[-1]


RATES = [-1.0, 0.0, 5e-324, 0.1, 1e308]


def _release(folder: Path, rates: list[float], space: dict[str, Any]) -> Path:
    trials: Any = [
        (trial_id, "COMPLETE", {"learning_rate": rate, "momentum": 1 - 1e-16}, curve([0.9, 0.05]))
        for trial_id, rate in enumerate(rates)
    ]
    for batch_size in (1, 8, 2**20):
        search_space = {"learning_rate": space, "momentum": space}
        write_shard(folder, batch_size=batch_size, trials=trials, search_space=search_space)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(-1, 0), (5e-324, 1e308)])
def test_every_figure_is_drawn_or_says_why(tmp_path, low, high):
    space = {"type": "DOUBLE", "min_value": low, "max_value": high, "scale": "LOG"}
    with dbtool.open(_release(tmp_path / "odd", RATES, space)) as db:
        packed_figures(db, FIGURES, checked(db, Request()))
        report = db.scaling("*")
        assert str(report)
        report.plot()
        for spec in FIGURES:
            if spec.takes_workloads:
                with contextlib.suppress(DbtoolError):
                    db.plot(spec.name, workload="*")._repr_png_()


@pytest.mark.parametrize("scale", ["log2", "log10", "linear"])
def test_axes_end_where_numbers_do(scale):
    size = Size(3, 2)
    span = span_of([-1.7e308, 0, 5e-324, 1.7e308], scale, 1.0, margin=0.5)
    figure = Figure()
    axes = figure.add_subplot()
    set_scales(axes, (scale, scale), *equal_octaves(span, span, size), size)
    figure.draw_without_rendering()
