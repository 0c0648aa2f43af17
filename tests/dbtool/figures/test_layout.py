import itertools

import pytest

from dbtool.errors import UsageError
from dbtool.figures.files import write_figure
from dbtool.figures.look import Look
from dbtool.figures.names import form_a_sequence, readable
from dbtool.figures.render import draw
from dbtool.figures.specs import FORMATS, find_figure
from dbtool.figures.style import COLOURS, colours, sequence
from dbtool.figures.text import lines_of, width_of
from producers.workloads.registry import WORKLOADS
from tests.dbtool.figures.made_points import FIGURE_OF, ROWS_OF, points_of, steps_rows

LOOKS = [Look(), Look(width=3.5), Look(style="screen"), Look(width=13.0, style="screen")]


def several(kind):
    """Four panels of that kind, with long titles."""
    rows = [
        row | {"panel": f"Transformer, narrow and shallow, on Common Crawl {place}"}
        | {"panel_order": 10 * place + row["panel_order"]}
        for place in range(4)
        for row in ROWS_OF[kind]
    ]  # fmt: skip
    return points_of(rows)


def figure_of(kind, look):
    return draw(several(kind), find_figure(FIGURE_OF[kind]), look)


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("kind", ROWS_OF)
def test_no_words_overlap_or_leave_the_page(kind, look):
    figure = figure_of(kind, look)
    figure.draw_without_rendering()
    labels = [axes.yaxis.label for axes in figure.axes] + [axes.xaxis.label for axes in figure.axes]
    boxes = [
        text.get_window_extent() for text in (*figure.texts, *labels) if text.get_text().strip()
    ]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y1 <= figure.bbox.y1
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize("kind", ROWS_OF)
def test_a_figure_is_as_wide_as_asked_and_its_type_stays(kind):
    narrow, wide = (figure_of(kind, Look(width=width)) for width in (3.5, 9.0))
    assert narrow.get_size_inches()[0] == pytest.approx(3.5)
    assert wide.get_size_inches()[0] == pytest.approx(9.0)
    assert narrow.texts[0].get_fontsize() == wide.texts[0].get_fontsize()
    # Panels that do not fit beside each other go below.
    assert len({round(axes.get_position().x0, 3) for axes in narrow.axes}) == 1


def test_the_screen_has_larger_type_and_heavier_lines():
    paper, screen = (figure_of("steps_to_result", Look(style=s)) for s in ("print", "screen"))
    assert screen.texts[0].get_fontsize() == pytest.approx(1.5 * paper.texts[0].get_fontsize())
    thin, thick = (f.axes[0].lines[1].get_linewidth() for f in (paper, screen))
    assert thick == pytest.approx(1.5 * thin)


@pytest.mark.parametrize("wrong", [{"style": "poster"}, {"width": 0.5}, {"width": float("nan")}])
def test_a_wrong_look_is_told(wrong):
    with pytest.raises(UsageError, match=r"width|style"):
        Look(**wrong)


@pytest.mark.parametrize("kind", ROWS_OF)
def test_the_same_points_give_the_same_bytes(kind, tmp_path):
    points, spec = points_of(ROWS_OF[kind]), find_figure(FIGURE_OF[kind])
    look = Look(style="screen")
    first = write_figure(points, spec, tmp_path / "a", FORMATS, look)
    second = write_figure(points, spec, tmp_path / "b", FORMATS, look)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_panels_that_share_their_curves_share_a_legend():
    texts = [text.get_text() for text in figure_of("normalised", Look()).texts]
    assert texts.count("FC 1024") == 1


def test_a_goal_that_all_panels_have_is_said_once():
    texts = [text.get_text() for text in figure_of("steps_to_result", Look()).texts]
    assert sum(text == "validation error < 0.01" for text in texts) == 1


def test_a_curve_that_is_left_out_keeps_its_colour():
    curves = [{"series": f"goal 0.0{order}", "series_order": order} for order in (1, 2, 3)]
    whole = [row for curve in curves for row in steps_rows(**curve)]
    held = [row for curve in curves[:2] for row in steps_rows(**curve)]
    lacking = [*held, steps_rows(**curves[2])[0] | {"x": None, "y": None}]
    found = [
        [line.get_color() for line in draw(points_of(rows), find_figure("1")).axes[0].lines]
        for rows in (whole, lacking)
    ]
    assert set(found[1]) < set(found[0])


def test_panels_with_a_part_of_a_sequence_have_its_colours():
    curves = [{"series": f"first {count} trials", "series_order": count} for count in (10, 50, 100)]
    rows = [row for curve in curves for row in steps_rows(**curve)]
    rows += [row for curve in curves[:2] for row in steps_rows(**curve, panel_order=2)]
    whole, part = draw(points_of(rows), find_figure("1")).axes
    colour_of = [
        {line.get_label(): line.get_color() for line in axes.lines if "line: " in line.get_label()}
        for axes in (whole, part)
    ]
    assert colour_of[1].items() < colour_of[0].items()


def test_a_title_without_spaces_stays_over_its_panel():
    rows = [
        row | {"panel": "a/very/long/path/" * 8 + str(place), "panel_order": place}
        for place in range(2)
        for row in steps_rows()
    ]
    figure = draw(points_of(rows), find_figure("1"))
    titles = [text for text in figure.texts if "…" in text.get_text()]
    first, second = (title.get_window_extent() for title in titles)
    assert not first.overlaps(second)


def test_long_words_along_an_axis_take_two_lines():
    rows = [
        row | {"y_label": "Steps of the learning rate's decay, as a share of the most searched"}
        for row in ROWS_OF["grid"]
    ]
    label = draw(points_of(rows), find_figure(FIGURE_OF["grid"])).axes[0].get_ylabel()
    assert label.count("\n") == 1


def test_names_that_differ_in_a_number_form_a_sequence():
    assert form_a_sequence(["0.2 epochs", "1 epoch", "10 epochs"])
    assert form_a_sequence(["5k steps", "1M steps"])
    assert form_a_sequence(["sparsity 0 %", "sparsity 90 %"])
    assert not form_a_sequence(["resnet_50", "vgg_11"])
    assert not form_a_sequence(["1"])


def test_known_names_keep_their_colours_and_no_other_takes_them():
    found = colours(["imagenet", "unheard of", "unseen"])
    assert found["imagenet"] == COLOURS["imagenet"]
    assert len(set(found.values())) == 3


def test_a_sequence_darkens_steadily():
    for count in range(2, 14):
        lightness = [
            sum(w * int(c[i : i + 2], 16) for w, i in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))
            for c in sequence(count)
        ]
        assert lightness == sorted(lightness, reverse=True)
        assert len(set(lightness)) == count


def test_every_workload_that_can_be_trained_has_a_readable_name():
    assert readable("brown/transformer_tiny/adam") == "Transformer, tiny on the Brown corpus, Adam"
    assert [name for name in WORKLOADS if "_" in readable(name)] == []


def test_names_are_readable_and_on_one_line():
    assert readable("resnet_50 on mnist_subsets/mnist_6875") == "ResNet-50 on MNIST, 6,875 images"
    assert readable("mnist/fc_1024/sgd, budgets") == "FC 1024 on MNIST, SGD, budgets"
    path = "solution_quality/mnist/simple_cnn_base/sgd"
    assert readable(path) == "Simple CNN on MNIST, SGD (solution quality)"
    assert readable("fc_64 on sparsity_90/mnist") == "FC 64 on MNIST (sparsity 90)"
    assert readable("two\nlines") == "two lines"


def test_lines_are_as_wide_as_they_are_measured():
    text = "Where perfect scaling ends and the plateau begins"
    for line in lines_of(text, 1.2, 7.0):
        assert width_of(line, 7.0) <= 1.2 or " " not in line
    assert width_of(text, 14.0) == pytest.approx(2 * width_of(text, 7.0))
