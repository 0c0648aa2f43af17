import csv
import math
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from support.made_up import curve, write_shard

from dbtool.errors import UsageError
from dbtool.figures.points import NoDataError, Request, filled_query, read_points
from dbtool.figures.specs import find_figure
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest
from tests.dbtool.figures.made_shards import sgd_shards

CNN = "mnist/simple_cnn_base/nesterov_momentum"
MEDIUM = "mnist/fc_128_128_128/sgd"
SMALL = "mnist/fc_64_64_64/sgd"
WIDE = "mnist/fc_1024/sgd"
# Figures that the small database has rows of.
FILLED = ["figure_01", "figure_03", "figure_04", "steps", "learning-rates"]


def rows(connection, figure, **request):
    return read_points(connection, find_figure(figure), Request(**request)).rows


def column(frame, name):
    return frame[name].to_list()


def test_steps_are_the_first_strictly_past_the_goal_of_complete_trials(connection):
    points = rows(connection, "1")
    assert column(points, "panel") == ["Simple CNN on MNIST"] * 3
    assert column(points, "x") == [64, 128, 256]
    assert column(points, "y") == [20, 10, None]
    assert column(points, "trials") == [3, 1, 1]
    assert column(points, "asked_trials") == [100] * 3


def test_a_tie_goes_to_the_smaller_trial(connection):
    first = rows(connection, "1").row(0, named=True)
    assert (first["trial_id"], first["learning_rate"], first["momentum"]) == (1, 0.1, 0.95)


def test_perfect_scaling_halves_the_steps_of_the_first_point(connection):
    assert column(rows(connection, "1"), "perfect") == [20, 10, 5]


def test_perfect_scaling_starts_where_the_goal_is_first_reached(connection):
    points = rows(connection, "1", trials=1)
    assert column(points, "y") == [None, 10, None]
    assert column(points, "perfect") == [20, 10, 5]


def test_a_goal_replaces_the_figure_s_own(connection):
    points = rows(connection, "1", goal=0.4)
    assert column(points, "y") == [10, 10, 10]
    assert set(column(points, "goal_text")) == {"validation error < 0.4"}


def test_normalised_steps_are_1_at_the_named_batch_size(connection):
    points = rows(connection, "3").filter(panel_order=4, series="fc_128_128_128")
    assert column(points, "x") == [1, 2, 4]
    assert column(points, "y") == [2.0, 1.0, 0.75]
    assert column(points, "perfect") == [2.0, 1.0, 0.5]


def test_a_curve_without_steps_to_divide_by_has_steps_and_no_y(connection):
    (point,) = rows(connection, "3").filter(series="fc_1024").rows(named=True)
    assert (point["steps"], point["y"]) == (50, None)


def test_normalised_steps_are_1_at_the_batch_size_of_most_curves_where_the_named_one_has_fewer(
    tmp_path,
):
    database = tmp_path / "shared.duckdb"
    with open_for_writing(database) as connection:
        ingest(connection, sgd_shards(tmp_path / "shards", {MEDIUM: {2: 6, 16: 2}, WIDE: {16: 3}}))
    with open_for_reading(database) as connection:
        points = rows(connection, "3").filter(panel_order=4).sort("series", "x")
    assert column(points, "series") == ["fc_1024", "fc_128_128_128", "fc_128_128_128"]
    assert column(points, "y") == [1.0, 3.0, 1.0]
    assert column(points, "perfect") == [1.0, 8.0, 1.0]
    assert set(column(points, "normalise_at")) == {16}


def test_normalised_steps_are_1_where_the_curve_with_most_points_is_when_none_share_a_batch_size(
    tmp_path,
):
    shards = sgd_shards(tmp_path / "shards", {MEDIUM: {2: 6}, WIDE: {16: 3, 64: 1}})
    with open_for_writing(tmp_path / "apart.duckdb") as connection:
        ingest(connection, shards)
    with open_for_reading(tmp_path / "apart.duckdb") as connection:
        points = rows(connection, "relative-steps").sort("series", "x")
    assert column(points, "x") == [16, 64, 2]
    assert column(points, "y") == [1.0, 1 / 3, None]
    assert set(column(points, "normalise_at")) == {16}


def test_curves_without_data_are_told(connection):
    points = read_points(connection, find_figure("4"), Request())
    assert points.rows["series"].unique().to_list() == ["nesterov_momentum"]
    assert column(points.left_out, "panel") == [
        *["Simple CNN on MNIST"] * 2,
        *["Shallow Transformer on LM1B"] * 3,
        *["ResNet-8 on CIFAR-10"] * 2,
    ]


def test_named_workloads_share_a_panel(connection):
    points = rows(connection, "steps", workloads=(SMALL, MEDIUM))
    assert column(points, "series") == ["fc_64_64_64"] * 3 + ["fc_128_128_128"] * 3
    assert column(points, "y") == [90, 60, 50, 80, 40, 30]
    assert set(column(points, "panel")) == {"mnist with sgd"}


def test_without_names_workloads_with_one_goal_share_a_panel(connection):
    points = rows(connection, "steps")
    panels = dict.fromkeys(zip(points["panel_order"], points["panel"], strict=True))
    assert list(panels) == [
        (1, "simple_cnn_base on mnist with nesterov_momentum"),
        (2, "mnist with sgd"),
    ]


def test_learning_rates_with_their_scaling_rules_and_borders(connection):
    points = rows(connection, "learning-rates", workloads=(CNN,))
    assert column(points, "y") == [0.1, 8.0, None]
    assert column(points, "linear") == pytest.approx([0.1, 0.2, 0.4])
    assert column(points, "square_root") == pytest.approx([0.1, 0.1 * math.sqrt(2), 0.2])
    # ln(8 / 1e-4) / ln(10 / 1e-4) = 0.98 of the searched range
    assert column(points, "at_border") == [False, True, False]
    assert column(points, "effective_learning_rate")[0] == pytest.approx(0.1 / 0.05)


@pytest.mark.parametrize(
    ("value", "low", "high", "scale", "place"),
    [
        (0.01, 1e-4, 1.0, "LOG_SCALE", 0.5),
        (0.5, 0.0, 2.0, "LINEAR_SCALE", 0.25),
        (0.99, 0.9, 0.999, "REVERSE_LOG_SCALE", 0.5),
        (1.0, 1.0, 1.0, "LINEAR_SCALE", None),
    ],
)
def test_the_place_in_a_range_is_measured_on_its_scale(connection, value, low, high, scale, place):
    query = "SELECT place_in_range(?::DOUBLE, ?::DOUBLE, ?::DOUBLE, ?)"
    ((found,),) = connection.execute(query, [value, low, high, scale]).fetchall()
    assert found == (None if place is None else pytest.approx(place))


def test_csv_has_panel_series_x_y_first_and_an_empty_y(connection):
    text = read_points(connection, find_figure("1"), Request()).csv()
    head, *lines = csv.reader(StringIO(text))
    assert head[:4] == ["panel", "series", "x", "y"]
    assert [line[2:4] for line in lines] == [["64", "20"], ["128", "10"], ["256", ""]]


@pytest.mark.parametrize("name", FILLED)
def test_the_filled_query_returns_the_figure_s_points(connection, name):
    spec = find_figure(name)
    workloads = (SMALL, CNN) if spec.takes_workloads else None
    points = read_points(connection, spec, Request("made-up", 50, 0.4, workloads))
    filled = filled_query(spec, Request("made-up", 50, 0.4, workloads))
    assert points.sql == filled
    frame = connection.execute(filled).pl()
    held = frame.filter(frame["x"].is_not_null())
    assert held.equals(points.rows.select(frame.columns))


def test_text_in_a_query_is_quoted():
    text = filled_query(find_figure("steps"), Request(release="o'clock", workloads=("a", "b")))
    assert "'o''clock'::VARCHAR" in text
    assert "['a', 'b']::VARCHAR[]" in text


def test_an_empty_figure_names_what_would_fill_it(connection):
    with pytest.raises(NoDataError, match=r"published release .* `dbtool produce mnist/") as told:
        read_points(connection, find_figure("1"), Request(release="none such"))
    assert told.value.exit_code == 1


def test_a_release_without_momentum_is_told_so(tmp_path):
    trial = (0, "COMPLETE", {"learning_rate": 0.1}, curve([0.9, 0.02]))
    shard = write_shard(tmp_path, workload=MEDIUM, batch_size=8, goal=0.03, trials=[trial])
    with open_for_writing(tmp_path / "x.duckdb") as connection:
        ingest(connection, [shard])
    with open_for_reading(tmp_path / "x.duckdb") as connection:
        assert column(rows(connection, "learning-rates"), "y") == [0.1]
        with pytest.raises(NoDataError, match=r"^no trial of release made-up has a momentum; see"):
            rows(connection, "momenta")


def test_figures_of_the_paper_take_no_workloads(connection):
    with pytest.raises(UsageError, match=r"dbtool plot steps --workload"):
        rows(connection, "1", workloads=(CNN,))


def test_steps_agree_with_pandas(tmp_path):
    chance = np.random.default_rng(7)
    shards, written = [], []
    for batch_size in (8, 16, 32):
        trials = []
        for trial in range(12):
            status = str(chance.choice(["COMPLETE", "COMPLETE", "INFEASIBLE", "INCOMPLETE"]))
            values = chance.uniform(0.005, 0.4, 15).round(3).tolist()
            trial_rows = [
                {"step": 7 * number, "val_classification_error": value}
                for number, value in enumerate(values, start=1)
            ]
            trials.append((trial, status, {"learning_rate": 0.1}, trial_rows))
            written += [
                {"x": batch_size, "trial": trial, "status": status, **row} for row in trial_rows
            ]
        shards.append(
            write_shard(tmp_path, workload=MEDIUM, batch_size=batch_size, goal=0.03, trials=trials)
        )
    with open_for_writing(tmp_path / "x.duckdb") as connection:
        ingest(connection, shards)
    with open_for_reading(tmp_path / "x.duckdb") as connection:
        points = rows(connection, "steps", workloads=(MEDIUM,), trials=5)

    frame = pd.DataFrame(written).query("status == 'COMPLETE'")
    place = frame.groupby("x")["trial"].rank("dense")
    past = frame[(place <= 5) & (frame["val_classification_error"] < 0.03)]
    best = past.sort_values(["step", "trial"]).groupby("x").first()
    assert column(points, "y") == [best["step"].get(x) for x in (8, 16, 32)]
    assert column(points, "trial_id") == [best["trial"].get(x) for x in (8, 16, 32)]
