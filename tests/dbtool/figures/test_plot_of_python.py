"""Figures and databases as Python users and notebooks see them."""

import contextlib
import re
from collections.abc import Iterator
from html import unescape

import pytest
from PIL import Image

import dbtool
from dbtool.database import Database
from dbtool.figures.batch import write_figures
from dbtool.figures.plot import checked
from dbtool.figures.points import Request
from dbtool.figures.specs import FigureLayout, find_figure
from tests.support.made_up import curve, write_shard

WORKLOAD = "mnist/fc_64_64_64/sgd"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("made") / "made-<up>"
    for size, evaluations in ((8, 5), (16, 3)):
        trials = [(0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9] * evaluations + [0.01]))]
        write_shard(folder, workload=WORKLOAD, batch_size=size, goal=0.03, trials=trials)
    with dbtool.open(folder) as database:
        yield database


def test_a_plot_has_the_points_and_the_query_that_gave_them(db):
    plot = db.plot("steps", workload="mnist/*", width=4.0)
    assert plot.points.select("x", "y").rows() == [(8, 50), (16, 30)]
    assert db.sql(plot.sql).polars().select("x", "y").rows() == [(8, 50), (16, 30)]
    assert plot.figure.get_figwidth() == 4.0
    assert repr(plot) == "<Plot steps: Steps to result against batch size, 2 points>"
    assert db.plot("steps", goal=0.95).points["y"].to_list() == [0, 0]


def test_the_words_of_the_caption_are_those_of_the_file(db, tmp_path):
    with dbtool.open(db.source) as database, contextlib.ExitStack() as stack:
        layout = FigureLayout(caption="file")
        specs, request = [find_figure("steps")], checked(database, Request())
        written = write_figures(database, specs, request, tmp_path, ["svg"], layout)
        list(stack.enter_context(contextlib.closing(written)))
    plot = db.plot("steps", caption="none")
    assert plot.caption == (tmp_path / "steps.txt").read_text()
    assert plot.caption.startswith("Where do perfect scaling")
    with pytest.raises(dbtool.UsageError, match=r"`dbtool plot` writes; here it is figure or none"):
        db.plot("steps", caption="file")


def test_a_notebook_shows_the_picture_that_is_saved(db, tmp_path):
    plot = db.plot("steps")
    file = plot.save(tmp_path / "steps.png")
    picture, shown = plot._repr_png_()
    assert file.read_bytes() == picture
    with Image.open(file) as image:
        # Two hundred pixels an inch are shown as the ninety-six of CSS.
        assert [shown["width"], shown["height"]] == [round(n * 96 / 200) for n in image.size]
    assert plot.save(tmp_path / "steps.svg").read_text().startswith("<?xml")
    with pytest.raises(dbtool.UsageError, match=r"'.*steps.gif' names no picture; let it end with"):
        plot.save(tmp_path / "steps.gif")


def test_a_notebook_shows_what_a_database_holds_and_what_to_ask_next(db):
    page = db._repr_html_()
    assert re.findall(r"<td>([^<]*)</td>", page)[:5] == ["&quot;made-up&quot;", "1", "2", "2", "82"]
    # The folder's name is text, and no element.
    assert "made-&lt;up&gt;" in page
    calls = unescape(page[page.index("<pre>") + 5 : page.index("</pre>")]).splitlines()
    assert f"db.plot('steps', workload='{WORKLOAD}')" in calls
    for call in calls:
        assert eval(call, {"db": db}) is not None  # noqa: S307 (the calls that it proposes)
    with dbtool.open(db.opened.name) as closed:
        pass
    assert "the database was closed" in closed._repr_html_()
