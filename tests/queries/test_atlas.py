"""The atlas of critical batch sizes, from made-up releases of planted hyperbolas."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.markers import CARETRIGHTBASE

from dbtool.core.errors import DbtoolError
from dbtool.database import Database, open_database
from dbtool.figures.drawing import draw, draw_parts
from dbtool.figures.points import Points, Request, filled_query, read_points
from dbtool.figures.specs import FigureLayout, find_figure
from tests.support.made_up import Row, passing, write_shard

ATLAS = find_figure("atlas")
FEWEST, FAR = 100, 2**30
# Of each workload its critical batch size and its batch sizes.
PLANTED = {
    ("one", "digits/fc_64/sgd"): (64, range(0, 11, 2)),
    ("one", "digits/fc_64/adam"): (1024, range(4, 15, 2)),
    ("one", "letters/fc_64/sgd"): (FAR, range(0, 8, 2)),
    ("one", "letters/fc_64/adam"): (64, range(2)),
    ("two", "digits/fc_64/sgd"): (128, range(0, 11, 2)),
}


def reached(critical: int, batch_size: int) -> list[Row]:
    """The evaluations of a trial about the step that takes it past the goal."""
    return passing(round((FEWEST if critical < FAR else 1 / 1024) * (1 + critical / batch_size)))


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder: Path = tmp_path_factory.mktemp("atlas")
    for (release, workload), (critical, exponents) in PLANTED.items():
        for size in (2**exponent for exponent in exponents):
            trials = [(0, "COMPLETE", {"learning_rate": 0.1}, reached(critical, size))]
            study: Any = {"workload": workload, "batch_size": size, "goal": 0.1}
            write_shard(folder / release, release=release, trials=trials, **study)
    with open_database(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def points(db: Database) -> Points:
    return read_points(db, ATLAS, Request())


def test_a_line_is_a_workload_of_a_release_with_what_scaling_tells_of_it(db, points):
    lines = points.rows.filter(kind="forest")
    drawn = {(row["release"], row["workload"]): row for row in lines.iter_rows(named=True)}
    assert list(drawn) == sorted(drawn, key=lambda name: (name[0], drawn[name]["x"]))
    assert sorted(lines["y"]) == [1, 2, 3, 4]
    for name in (name for name, (critical, _) in PLANTED.items() if critical < FAR):
        if name in drawn:
            assert drawn[name]["x"] == pytest.approx(PLANTED[name][0], rel=0.02)
    bound = drawn["one", "letters/fc_64/sgd"]
    assert (bound["verdict"], bound["critical"], bound["high"]) == ("lower_bound", None, None)
    assert bound["x"] == bound["low"] > 32
    names = ("critical_batch_size", "low", "high", "verdict", "fewest_steps", "trials")
    for (release, workload), row in drawn.items():
        told = db.scaling(workload, release=release).rows("critical").row(0, named=True)
        own = [row[name] for name in ("critical", *names[1:])]
        assert own == pytest.approx([told[name] for name in names])
    assert {name: each.names for name, each in points.missing.items()} == {
        "one": ["FC 64 on letters, Adam"]
    }


def test_planted_hyperbolas_fall_on_one_curve(points):
    rows = points.rows.filter(kind="units")
    assert set(rows["workload"]) == {"digits/fc_64/sgd", "digits/fc_64/adam"}
    assert rows.height == 18
    for x, y in rows.select("x", "y").iter_rows():
        assert y == pytest.approx(1 + 1 / x, rel=0.03)


def test_releases_workloads_and_trials_can_be_named(db):
    one = Request("two,one", workloads=("digits/fc_64/sgd",), trials=1)
    rows = read_points(db, ATLAS, one).rows
    names = ["release", "release_order"]
    assert set(rows.select(names).iter_rows()) == {("two", 1), ("one", 2)}
    # The query that --sql prints runs as it is, whoever runs it.
    assert db.sql(filled_query(ATLAS, one)).polars().equals(rows)
    with pytest.raises(DbtoolError, match="no workloads with a goal that tell a critical"):
        read_points(db, ATLAS, Request(workloads=("letters/fc_64/adam",)))


def test_bounds_are_arrows_and_names_are_never_cut(points):
    axes, units = draw(points, ATLAS, FigureLayout(3.5)).axes
    assert "FC 64 on letters, SGD" in {text.get_text().replace("\n", " ") for text in axes.texts}
    bars = (each for each in axes.containers if isinstance(each, ErrorbarContainer))
    caps = [cap for each in bars for cap in each.lines[1]]
    (arrow,) = (cap for cap in caps if cap.get_marker() == CARETRIGHTBASE)
    (bound,) = points.rows.filter(verdict="lower_bound")["x"]
    assert np.asarray(arrow.get_xdata()).item() > bound
    assert "hyperbola" in {line.get_label() for line in units.lines}


def test_a_column_has_as_many_lines_a_picture_as_it_has_room_for(points):
    forest = points.rows.filter(kind="forest", panel_order=1).head(1)
    many = [forest.with_columns(y=pl.lit(y, pl.Float64)) for y in range(1, 31)]
    for releases in (["one"], ["one", "two"]):
        crowded = replace(points, rows=pl.concat(many), releases=releases)
        *parts, last = draw_parts(crowded, ATLAS, FigureLayout(3.5))
        names = [text.get_text() for figure in (*parts, last) for text in figure.axes[0].texts]
        assert sum("FC 64" in name for name in names) == 30
        for figure in parts:
            assert figure.get_size_inches()[1] < 3.5 + 1e-9
            # Batch sizes lie at the same place in all of them.
            assert figure.axes[0].get_xlim() == last.axes[0].get_xlim()
