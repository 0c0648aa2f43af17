"""`dbtool plot`, by real runs of the command."""

import csv
import json
import re
from io import StringIO

import polars as pl
import pytest

from dbtool.figures.specs import FIGURES
from tests.dbtool.figures.conftest import CNN, MEDIUM, SMALL, write_sgd
from tests.support.commands import caller


@pytest.fixture
def dbtool(database, tmp_path, monkeypatch, capsysbinary):
    monkeypatch.chdir(tmp_path)

    def plot(*words, code=0, db=database):
        done = caller(capsysbinary)("plot", *words, "--db", str(db))
        assert done.code == code, done.errors
        return done

    return plot


def test_plot_writes_png_and_csv_and_names_them(dbtool, tmp_path):
    done = dbtool("1")
    assert done.output.splitlines() == ["figures/figure_01.png", "figures/figure_01.csv"]
    assert "no data in release made-up: Simple CNN on Fashion MNIST" in done.errors
    assert (tmp_path / "figures" / "figure_01.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_all_draws_what_has_data_and_counts_the_rest(dbtool, tmp_path):
    [line] = dbtool("all", "--out", "drawn", "--format", "svg").errors.splitlines()
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert {"figure_01.svg", "figure_03.svg", "steps.csv", "learning-rates.svg"} <= names
    found = re.match(r"left out, for want of data: (\d+) figures, and parts of (\d+); --v", line)
    assert found
    named = dbtool("all", "--format", "svg", "--out", "rows", "--verbose").errors.splitlines()
    assert sum(line.startswith("left out: ") for line in named) == int(found[1])
    # What a picture lacks though there is data, as batch sizes without a band, counts too.
    figures = {line.split(":")[0] for line in named if not line.startswith("left out: ")}
    assert len(figures) == int(found[2])
    assert "figure_01" not in dbtool("all", "--workload", MEDIUM).output


def test_the_printed_query_gives_the_points_of_the_workloads_that_are_named(dbtool, db, tmp_path):
    words = ("steps", "--trials", "2", "--workload", "mnist/fc_*_*_*/sgd")
    printed = db.sql(dbtool(*words, "--sql").output).polars().drop_nulls("x")
    dbtool(*words, "--data", "csv", "--out", ".")
    written = pl.read_csv(tmp_path / "steps.csv")
    assert set(written["workload"]) == {SMALL, MEDIUM}
    assert printed.select("x", "y").rows() == written.select("x", "y").rows()


def test_the_list_has_every_figure_by_its_whole_name(dbtool):
    lines = dbtool("--list").output.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [spec.name for spec in FIGURES]


def test_data_writes_the_rows_alone_in_every_kind_of_file(dbtool, tmp_path):
    done = dbtool("3", "--data", "csv,json,parquet", "--out", "rows")
    names = [f"rows/figure_03.{kind}" for kind in ("csv", "json", "parquet")]
    assert done.output.splitlines() == names
    written = sorted(f"rows/{path.name}" for path in (tmp_path / "rows").iterdir())
    assert written == names
    rows = list(csv.DictReader(StringIO((tmp_path / names[0]).read_text())))
    objects = json.loads((tmp_path / names[1]).read_text())
    frame = pl.read_parquet(tmp_path / names[2])
    assert [row["x"] for row in rows] == [str(each["x"]) for each in objects]
    assert frame.columns == list(objects[0]) == list(rows[0])
    for name in ("series", "y", "trial_id", "learning_rate"):
        assert frame[name].to_list() == [each[name] for each in objects]
    assert [row["y"] for row in rows] == ["" if y is None else str(y) for y in frame["y"]]
    dbtool("3", "--out", "drawn")
    assert (tmp_path / "drawn" / "figure_03.csv").read_bytes() == (tmp_path / names[0]).read_bytes()


def test_pictures_of_other_points_are_told(dbtool, tmp_path):
    words = ("steps", "--out", ".", "--workload")
    dbtool(*words, SMALL, "--format", "svg")
    assert "steps.svg" not in dbtool(*words, SMALL, "--data", "csv").errors
    told = dbtool(*words, MEDIUM, "--data", "csv").errors
    assert "steps.svg shows points of an earlier run: draw it again" in told
    # So is one of a figure that now has no points, and one a panel for a column of print.
    (tmp_path / "optimizers.svg").write_text("drawn from another database")
    told = dbtool("optimizers", *words[1:], SMALL, code=1).errors
    assert "optimizers.svg shows points of an" in told
    words = ("search-space", *words[1:])
    pictures = [f"search-space-{n}.png" for n in (1, 2)]
    assert dbtool(*words, CNN, "--width", "3.5").output.split() == [*pictures, "search-space.csv"]
    done = dbtool(*words, SMALL)
    assert done.output.split() == ["search-space.png", "search-space.csv"]
    assert all(f"{name} shows points of an earlier run" in done.errors for name in pictures)


def test_several_releases_are_named_with_commas(dbtool, database, tmp_path):
    (tmp_path / "releases").mkdir()
    (tmp_path / "releases" / "made-up").symlink_to(database)
    write_sgd(tmp_path / "releases" / "second", {SMALL: {2: 1}}, release="second")
    words = ["--workload", SMALL, "--data", "csv", "--out", "."]
    dbtool("steps", "--release", "made-up, second", *words, db=tmp_path / "releases")
    rows = list(csv.DictReader(StringIO((tmp_path / "steps.csv").read_text())))
    own = [("made-up", x, y) for x, y in (("1", "90"), ("2", "60"), ("4", "50"))]
    found = [(row["release"], row["x"], row["y"]) for row in rows]
    assert found == [*own, ("second", "2", "10")]
    done = dbtool("steps", *words, db=tmp_path / "releases")
    assert "--release made-up,second draws them over each other" in done.errors


def test_options_that_change_nothing_in_a_figure_are_reported(dbtool):
    words = ("--data", "csv", "--out", ".")
    told = dbtool("curves", "steps", "--bands", *words).errors
    assert told.count("has no bands") == 1
    assert "curves has no bands: its points are not each the best of a search" in told
    options = ("--sustained", "--goal", "--trials")
    numbers = [word for option in options for word in (option, "2")]
    told = dbtool("schedule-shapes", *numbers, *words).errors
    for option in options:
        assert f"{option} changes nothing in schedule-shapes" in told
    told = dbtool("curves", "steps", "--sustained", "2", "--no-bands", *words).errors
    assert "nothing" not in told
    assert "bands" not in told
