import xml.etree.ElementTree as ET

import pytest
from PIL import Image

from dbtool import __version__
from dbtool.figures.caption import caption_of
from dbtool.figures.files import write_figure
from dbtool.figures.points import Request, read_points
from dbtool.figures.render import draw
from dbtool.figures.specs import FORMATS, find_figure

CNN = "mnist/simple_cnn_base/nesterov_momentum"
# Figures that the small database has rows of.
FILLED = ["figure_01", "figure_03", "figure_04", "steps", "learning-rates"]


@pytest.fixture
def points(connection):
    return read_points(connection, find_figure("1"), Request())


@pytest.mark.parametrize("name", FILLED)
def test_the_same_points_give_the_same_bytes(connection, tmp_path, name):
    spec = find_figure(name)
    points = read_points(connection, spec, Request())
    first = write_figure(points, spec, tmp_path / "a", FORMATS)
    second = write_figure(points, spec, tmp_path / "b", FORMATS)
    assert [path.name for path in first] == [f"{spec.name}.{n}" for n in (*FORMATS, "csv")]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_nothing_else_is_left_in_the_folder(points, tmp_path):
    written = write_figure(points, find_figure("1"), tmp_path, ["png"])
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_a_png_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["png"])
    with Image.open(path) as image:
        assert image.text["SQL"] == points.sql
        assert image.text["Release"] == "made-up"
        assert image.text["Rows"] == "3"
        assert image.text["Version"] == f"dbtool {__version__}"
        assert round(image.info["dpi"][0]) == 200


def test_an_svg_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["svg"])
    words = [element.text or "" for element in ET.parse(path).iter()]  # noqa: S314 (our own file)
    assert points.sql in words
    assert {"Release: made-up", "Rows: 3", f"Version: dbtool {__version__}"} <= set(words)
    assert not any("date" in element.tag for element in ET.parse(path).iter())  # noqa: S314


def test_a_pdf_says_what_it_was_made_from(points, tmp_path):
    path, _ = write_figure(points, find_figure("1"), tmp_path, ["pdf"])
    contents = path.read_bytes()
    assert f"Release: made-up; Rows: 3; Version: dbtool {__version__}".encode() in contents
    assert b"steps_points" in contents
    assert b"CreationDate" not in contents


@pytest.mark.parametrize("figure", ["steps", "relative-steps"])
def test_a_goal_that_nothing_reached_still_gives_a_figure(figure, connection, tmp_path):
    spec = find_figure(figure)
    points = read_points(connection, spec, Request(goal=0.001, workloads=(CNN,)))
    assert points.rows["y"].to_list() == [None] * 3
    assert draw(points, spec).axes[0].texts[0].get_text() == "no trial reached the goal"
    assert all(path.stat().st_size for path in write_figure(points, spec, tmp_path, ["png"]))


def test_a_goal_passed_before_the_first_step_is_told_and_not_drawn(connection):
    spec = find_figure("steps")
    points = read_points(connection, spec, Request(goal=0.95, workloads=(CNN,)))
    assert points.rows["y"].to_list() == [0, 0, 0]
    assert draw(points, spec).axes
    assert "Goal passed before step 1" in " ".join(caption_of(points, spec))
