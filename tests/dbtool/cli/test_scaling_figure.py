"""The figure of a scaling: what is drawn are the answer's numbers."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from dbtool.database import open_database
from dbtool.figures.caption import caption_of
from dbtool.figures.drawing import draw
from dbtool.figures.points import NoDataError, Points
from dbtool.figures.scaling import scaling_points
from dbtool.figures.specs import find_figure
from dbtool.report.scaling import ScalingReport
from tests.support.made_up import curve, write_shard

HYPERBOLA, PERFECT, FEW = "mnist/fc_64_64_64/sgd", "mnist/fc_1024/sgd", "mnist/fc_128_128_128/sgd"
# Matplotlib would take it for mathematics, and SQL for the end of a text.
HOSTILE = "mnist/$x_{'; --/sgd"
SIZES = [4**power for power in range(7)]


def write_steps(folder: Path, workload: str, steps: dict[int, int | None]) -> None:
    """Studies whose five trials get past the goal at the tenfold of a number, or never."""
    for batch_size, evaluations in steps.items():
        values = [0.9] * 5 if evaluations is None else [0.9] * evaluations + [0.02]
        rows = curve(values, batch_losses=False)
        trials = [(number, "COMPLETE", {"learning_rate": 0.1}, rows) for number in range(5)]
        write_shard(folder, workload=workload, batch_size=batch_size, goal=0.03, trials=trials)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hyperbola with fewest steps 200 and critical batch size 64, and what tells less."""
    folder = tmp_path_factory.mktemp("planted")
    write_steps(folder, HYPERBOLA, {size: round(20 * (1 + 64 / size)) for size in SIZES})
    write_steps(folder, PERFECT, {2**power: 2 ** (10 - power) for power in range(7)})
    write_steps(folder, FEW, {8: 40, 16: 20, 32: None})
    write_steps(folder, HOSTILE, {8: 40})
    return folder


def points_of(report: ScalingReport) -> Points:
    trials: Any = report.trials
    return scaling_points(trials.db, report.answers, report.settings)


@pytest.fixture(scope="module")
def found(planted: Path) -> Iterator[ScalingReport]:
    with open_database(planted) as db:
        names = (HYPERBOLA, PERFECT, FEW, HOSTILE)
        yield db.scaling(names)


@pytest.fixture(scope="module")
def panels(found: ScalingReport) -> list[Axes]:
    points = points_of(found)
    return draw(points, find_figure("steps")).axes


def drawn(axes: Axes, label: str) -> list[Any]:
    return [artist for artist in axes.lines if artist.get_label() == label]


def xs_of(line: Any) -> list[float]:
    return [float(x) for x in line.get_xdata()]


def test_what_is_drawn_are_the_numbers_of_the_answer(found, panels):
    axes, scaling, found_points = panels[0], found.answers[0].scaling, points_of(found).rows
    assert scaling.tradeoff.low < 64 < scaling.tradeoff.high
    knees = [scaling.perfect_to, scaling.useful_to]
    found_sizes = [knees[0], scaling.tradeoff, scaling.overhead, knees[1]]
    assert {each.verdict for each in found_sizes} == {"identified"}
    # From the lowest row up.
    bars = [xs_of(line) for line in drawn(axes, "interval")]
    assert bars == [[each.low, each.high] for each in reversed(found_sizes)]
    critical = [xs_of(line)[0] for line in drawn(axes, "critical")]
    assert critical == [scaling.overhead.value, scaling.tradeoff.value]
    lines = [xs_of(line)[0] for line in drawn(axes, "knee")]
    assert lines == [knees[1].value, knees[0].value]
    (fitted,) = drawn(axes, "fitted")
    xs, ys = (np.array(data, float) for data in fitted.get_data())
    assert (xs[0], xs[-1]) == pytest.approx((1, 4096))
    assert ys == pytest.approx([scaling.curve.at(x) for x in xs])
    # Steps lie within an evaluation of the planted ones.
    assert ys == pytest.approx(200 * (1 + 64 / xs), rel=0.1)
    (dashed,) = [line for line in axes.lines if line.get_label().startswith("perfect:")]
    (low, *_), (high, *_) = (found_points[name] for name in ("perfect_low", "perfect_high"))
    assert low < 200 * 64 < high
    assert dashed.get_ydata()[0] == pytest.approx(scaling.curve.fewest_examples.value)
    bounds = [part for part in axes.collections if part.get_label() == "bounds"]
    assert len(bounds) == len(SIZES)
    told = caption_of(points_of(found), find_figure("steps"))
    assert any("with 95 % intervals" in part for part in told)


def test_an_open_end_is_an_arrow_at_the_edge(found, panels):
    axes, scaling = panels[1], found.answers[1].scaling
    assert scaling.tradeoff.verdict == "lower_bound"
    assert not drawn(axes, "critical")
    assert not drawn(axes, "knee")
    right = axes.get_xlim()[1]
    bars = [xs_of(line) for line in drawn(axes, "interval")]
    assert [scaling.tradeoff.low, right] in bars
    arrows = [xs_of(line) for line in axes.lines if line.get_marker() == ">"]
    assert arrows == [[right]] * len(bars)


def test_nothing_is_drawn_where_nothing_is_told(panels):
    for axes in panels[2:]:
        names = {str(artist.get_label()).partition(":")[0] for artist in axes.get_children()}
        assert "points" in names
        assert not names & {"fitted", "knee", "critical", "interval", "ground"}


def test_the_metric_and_the_trials_are_those_of_the_answer(tmp_path):
    names = ("val_classification_error", "test_classification_error")
    for batch_size, (val, test, later) in {8: (4, 6, 3), 16: (2, 5, 1)}.items():
        rows = [
            [{"step": 10 * step, names[0]: 0.9 * (step < val), names[1]: 0.9 * (step < last)}
             for step in range(9)]
            for last in (test, later)
        ]  # fmt: skip
        trials = [(n, "COMPLETE", {"learning_rate": 0.1}, each) for n, each in enumerate(rows)]
        write_shard(tmp_path, workload=HYPERBOLA, batch_size=batch_size, goal=0.03, trials=trials)

    def steps(trials: int | None, **asked: Any) -> list[int]:
        return points_of(db.scaling(HYPERBOLA, trials=trials, **asked)).rows["y"].to_list()

    with open_database(tmp_path) as db:
        assert steps(None) == [40, 20]
        assert steps(None, metric=names[1], goal=0.5) == [30, 10]
        assert steps(1, metric=names[1], goal=0.5) == [60, 50]


def test_the_command_writes_a_picture_and_its_points(call, planted, tmp_path):
    picture = tmp_path / "new" / "two.svg"
    words = ("scaling", HYPERBOLA, HOSTILE, "--db", str(planted), "--format", "csv")
    outcome = call(*words, "--out", str(picture))
    assert outcome.code == 0, outcome.errors
    assert outcome.errors.splitlines() == [str(picture), str(picture.with_suffix(".csv"))]
    assert outcome.output == call(*words).output
    assert picture.read_text().startswith("<?xml")
    with picture.with_suffix(".csv").open() as file:
        points = list(csv.DictReader(file))
    answer = next(csv.DictReader(outcome.output.splitlines()))
    drawn = [points[0][name] for name in ("tradeoff", "tradeoff_low", "tradeoff_high")]
    assert drawn == [answer[name] for name in ("critical_batch_size", "low", "high")]
    assert [int(point["x"]) for point in points if point["workload"] == HYPERBOLA] == SIZES
    assert float(points[0]["fitted"]) == pytest.approx(13_000, rel=0.05)


def test_a_table_of_steps_is_drawn_as_wide_as_asked(call, tmp_path):
    table = tmp_path / "steps.csv"
    rows = [(size, round(100 * (1 + 64 / size))) for size in SIZES]
    table.write_text("batch_size,steps\n" + "\n".join(f"{size},{at}" for size, at in rows))
    picture = tmp_path / "a.png"
    outcome = call("scaling", "--csv", str(table), "--out", str(picture), "--width", "3.5")
    assert outcome.code == 0, outcome.errors
    assert int.from_bytes(picture.read_bytes()[16:20]) == 3.5 * 200
    with (tmp_path / "a.csv").open() as file:
        points = list(csv.DictReader(file))
    assert [(float(point["x"]), float(point["y"])) for point in points] == rows
    (examples,) = {round(float(point["perfect"]) * float(point["x"]), 6) for point in points}
    # Of the curve: the measured examples are more wherever it bends.
    assert examples == pytest.approx(6400, rel=0.02)
    assert float(points[0]["tradeoff"]) == pytest.approx(64, rel=0.05)


def test_no_other_file_is_replaced_by_a_figure(call, planted, tmp_path, monkeypatch):
    """Neither the table that is asked about, nor one that is called as a file of it would be."""
    monkeypatch.chdir(tmp_path)
    table, content = Path("steps.csv"), "batch_size,steps\n1,1000\n4,260\n16,75\n64,30\n256,19\n"
    own = ("scaling", "--csv", "steps.csv", "--out")
    of_database = ("plot", "steps", "--db", str(planted), "--out", ".")
    explore = ("explore", "--db", str(planted), "--out", "mine.html")
    for words, name in (
        ((*own, "steps.png"), "steps.csv"),
        (of_database, "steps.csv"),
        *(((*of_database, "--data", kind), f"steps.{kind}") for kind in ("json", "parquet")),
        *(((*of_database, "--format", kind), f"steps.{kind}") for kind in ("png", "svg", "pdf")),
        (explore, "mine.html"),
    ):
        Path(name).write_text(content)
        outcome = call(*words)
        assert (outcome.code, Path(name).read_text()) == (2, content)
        assert f"{name} is not as dbtool wrote it, and would be replaced" in outcome.errors
        Path(name).unlink()
    table.write_text(content)
    # The files of an earlier figure are not in the way.
    for _ in range(2):
        assert call(*of_database[:-1], "drawn", "--data", "json,parquet").code == 0
        assert call(*own, "other.png").code == 0
        assert call(*of_database[:-1], "drawn").code == 0


def test_several_goals_are_drawn_as_critical_batch_sizes(planted):
    with open_database(planted) as db:
        report = db.scaling([HYPERBOLA, FEW], goal=[0.5, 0.03])
        plot = report.plot()
        with pytest.raises(NoDataError, match="at no goal a critical batch size is identified"):
            db.scaling(FEW, goal=[0.5, 0.03]).plot()
    rows = report.rows("critical").filter(definition="tradeoff", workload=HYPERBOLA)
    critical = rows.sort("goal")
    columns = ("x", "y", "band_low", "band_high")
    expected = critical.select("goal", "critical_batch_size", "low", "high")
    assert plot.points.select(columns).rows() == expected.rows()
    [axes] = plot.figure.axes
    assert axes.get_ylabel() == "Critical batch size"
    assert axes.get_xlabel() == "Goal of validation error"
    # Three goals within an octave fill the axis, and the key tells what the band is.
    left, right = axes.get_xlim()
    assert right / left == pytest.approx(0.5 / 0.03, rel=0.5)
    words = {each.get_text() for legend in plot.figure.legends for each in legend.get_texts()}
    assert words == {"tradeoff", "interval of the batch size"}
