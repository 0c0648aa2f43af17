import csv
from io import StringIO

import pytest
from PIL import Image

from dbtool import __version__
from dbtool.core.catalog import figure_curves
from dbtool.core.errors import UsageError
from dbtool.database import open_database
from dbtool.figures.batch import write_figure
from dbtool.figures.points import Request, filled_query, read_points
from dbtool.figures.specs import FIGURES, find_figure
from tests.support.made_up import write_shard


def test_without_names_workloads_with_one_goal_share_a_panel(db):
    points = read_points(db, find_figure("steps"), Request()).rows
    panels = dict.fromkeys(zip(points["panel_order"], points["panel"], strict=True))
    named = ["simple_cnn_base on mnist with nesterov_momentum", "mnist with sgd"]
    assert list(panels) == list(enumerate(named, 1))


def test_a_metric_without_a_column_of_its_own_is_read_like_any_other(tmp_path):
    rows = [{"step": step, "other_metrics": {"val_top_5": 1 / (1 + step)}} for step in range(4)]
    write_shard(tmp_path, batch_size=8, trials=[(0, "COMPLETE", {}, rows)])
    with open_database(tmp_path) as db:
        query = "SELECT steps, value FROM steps_to_result(NULL, NULL, 'val_top_5', 0.5, NULL)"
        assert db.sql(query).rows() == [(2, 1 / 3)]


def test_csv_has_panel_series_x_y_first_and_an_empty_y(db):
    text = read_points(db, find_figure("1"), Request()).csv()
    head, *lines = csv.reader(StringIO(text))
    assert head[:4] == ["panel", "series", "x", "y"]
    assert [line[2:4] for line in lines] == [["64", "20"], ["128", "10"], ["256", ""]]


def test_text_in_a_query_is_quoted():
    text = filled_query(find_figure("steps"), Request(release="o'clock", workloads=("a", "b")))
    assert "'o''clock'::VARCHAR" in text
    assert "['a', 'b']::VARCHAR[]" in text


def test_files_say_what_they_were_made_from(db, tmp_path):
    points = read_points(db, find_figure("1"), Request())
    written = write_figure(points, find_figure("1"), tmp_path, ["png", "pdf"])
    png, pdf = written.files
    with Image.open(png) as image:
        assert image.info["SQL"] == points.sql
        assert image.info["Release"] == "made-up"
        assert image.info["Rows"] == "3"
        assert image.info["Version"] == f"dbtool {__version__}"
        assert round(image.info["dpi"][0]) == 200
    contents = pdf.read_bytes()
    assert f"Release: made-up; Rows: 3; Version: dbtool {__version__}".encode() in contents
    assert b"steps_points" in contents
    assert b"CreationDate" not in contents


def test_a_figure_answers_to_its_name_and_its_number():
    words = {"figure_01": "figure_01", "01": "figure_01", "Figure 3": "figure_03"}
    for word, name in (words | {"learning_rates": "learning-rates"}).items():
        assert find_figure(word).name == name
    for word in ("figure_99", "9z", "step", ""):
        with pytest.raises(UsageError, match="unknown figure"):
            find_figure(word)


def test_every_figure_has_a_query_that_can_be_given_as_an_argument():
    # A query that opens with two dashes would be taken for an option.
    for spec in FIGURES:
        assert spec.query_path.read_text(encoding="utf-8").startswith("/*\n")


def test_the_list_of_curves_is_that_of_the_figures_that_read_it():
    listed = {curve["figure"] for curve in figure_curves()}
    reading = {
        spec.curves or spec.name
        for spec in FIGURES
        if "curves_of($figure)" in spec.query_path.read_text(encoding="utf-8")
    }
    assert listed == reading
    # A curve is named once in its panel, and a panel of one row once in its figure.
    names = [(each["figure"], each["panel"], each.get("series")) for each in figure_curves()]
    assert len(set(names)) == len(names)
