"""Bands at equal numbers of trials, by other means, and fitted lines of perfect scaling."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbtool.analysis.searches import ranks_around_median
from dbtool.database import Database, open_database
from dbtool.figures.caption import caption_of
from dbtool.figures.points import Request, read_points
from dbtool.figures.specs import find_figure
from tests.support.figure_points import figure_points
from tests.support.made_up import curve, write_shard

SGD, PRECISE = "mnist/fc_1024/sgd", "open_images_v4/resnet_50/sgd"
TRIALS = {8: 60, 16: 45, 32: 80}
# Batch size and, in tens, the steps of a study whose only trial gets past the goal after them.
Steps = dict[int, int]


def trial_of(trial_id: int, evaluations: int | None, rate: float) -> tuple[Any, ...]:
    values = [0.9] * 12 if evaluations is None else [0.9] * evaluations + [0.02]
    return trial_id, "COMPLETE", {"learning_rate": rate}, curve(values, batch_losses=False)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, Any]]:
    """Searches with unequal numbers of trials, a third of which never reach the goal."""
    folder, rng = tmp_path_factory.mktemp("searched"), np.random.default_rng(3)
    studies: dict[int, list[tuple[float, float]]] = {}
    for batch_size, count in TRIALS.items():
        trials = []
        for trial_id in range(count):
            evaluations = None if rng.random() < 1 / 3 else int(rng.integers(1, 400 // batch_size))
            rate = float(rng.uniform(0.1, 1))
            trials.append(trial_of(trial_id, evaluations, rate))
            steps = math.inf if evaluations is None else 10 * evaluations
            studies.setdefault(batch_size, []).append((steps, rate))
        write_shard(folder, workload=SGD, batch_size=batch_size, goal=0.03, trials=trials)
    with open_database(folder) as db:
        yield db, studies


@pytest.mark.parametrize("trials", [1, 2, 7, 30, 64, 101, 350])
def test_ranks_are_those_of_the_analysis(trials, searched):
    query = """
        SELECT ranks.low, ranks.high
        FROM (SELECT ranks_around_median($trials::BIGINT, $k::BIGINT, $level::DOUBLE) AS ranks)
    """
    for k in {1, 2, max(1, trials // 3), max(1, trials - 1), trials}:
        for level in (0.5, 0.95, 0.99):
            [found] = searched[0].sql(query, trials=trials, k=k, level=level).rows()
            assert found == ranks_around_median(trials, k, level)


def test_bands_of_steps_are_order_statistics_at_the_least_number_of_trials(searched):
    db, studies = searched
    points = figure_points(db, "steps")
    assert [point["x"] for point in points] == list(studies)
    for point in points:
        trials = sorted(studies[point["x"]])
        low, high = ranks_around_median(len(trials), 45, 0.95)
        assert point["best_of"] == 45
        assert point["band_low"] == (None if low is None else trials[low - 1][0])
        assert point["band_high"] == trials[(high or 0) - 1][0] < math.inf
    bare = figure_points(db, "steps", bands=False)
    assert {point["best_of"] for point in bare} == {None}


def test_bands_of_learning_rates_are_their_range_among_those_trials(searched):
    db, studies = searched
    for point in figure_points(db, "learning-rates"):
        # Ties go to the smaller trial, which is the first that was written.
        trials = sorted(studies[point["x"]], key=lambda trial: trial[0])
        low, high = ranks_around_median(len(trials), 45, 0.95)
        rates = [rate for _, rate in trials[(low or 1) - 1 : high]]
        assert (point["band_low"], point["band_high"]) == (min(rates), max(rates))
        assert point["band_low"] <= point["y"] <= point["band_high"]


def test_a_trial_that_never_reached_the_goal_bounds_nothing(tmp_path):
    trials = [trial_of(0, 3, 0.1), *(trial_of(number, None, 0.2) for number in range(1, 20))]
    write_shard(tmp_path, workload=SGD, batch_size=8, goal=0.03, trials=trials)
    with open_database(tmp_path) as db:
        for figure in ("steps", "learning-rates"):
            [point] = figure_points(db, figure)
            assert (point["best_of"], point["band_low"], point["band_high"]) == (20, None, None)
        points = read_points(db, find_figure("steps"), Request())
    told = caption_of(points, find_figure("steps"))
    assert any(part.startswith("No band, since trials are too few") for part in told)


def test_trials_that_diverged_count_among_those_of_a_search(tmp_path):
    trials = [trial_of(number, number + 1, 0.1) for number in range(8)]
    trials += [(number, "INFEASIBLE", {"learning_rate": 9.0}, []) for number in range(8, 20)]
    write_shard(tmp_path, workload=SGD, batch_size=8, goal=0.03, trials=trials)
    with open_database(tmp_path) as db:
        [point] = figure_points(db, "steps")
    _, high = ranks_around_median(20, 20, 0.95)
    assert (point["best_of"], point["band_high"]) == (20, 10 * (high or 0))


def test_bands_of_budgets_are_of_the_best_values_of_trained_networks(tmp_path):
    values = np.random.default_rng(5).uniform(0.1, 0.8, (24, 20)).round(3)
    # Untrained networks are the best here.
    for metric, workload, untrained in (
        ("val_classification_error", SGD, 0.05),
        ("val_average_precision", PRECISE, 0.99),
    ):
        trials = [
            (number, "COMPLETE", {"learning_rate": 0.1},
             [{"step": 10 * step, metric: value} for step, value in enumerate([untrained, *row])])
            for number, row in enumerate(values.tolist())
        ]  # fmt: skip
        study: Any = {"metric": metric, "goal": 0.01, "train_steps": 200}
        write_shard(tmp_path, workload=workload, batch_size=8, trials=trials, **study)
    with open_database(tmp_path) as db:
        # So that no study counts.
        assert all(point["x"] is None for point in figure_points(db, "best-by-budget"))
        rows = db.sql("""
            WITH asked AS (
                SELECT release, workload, batch_size, metric, NULL::BIGINT AS asked_trials,
                    100 AS most_steps, NULL::DOUBLE AS most_examples
                FROM workloads JOIN studies USING (release, workload)
            )
            SELECT metric, trial_id, steps FROM trial_best('asked') ORDER BY ALL
        """).rows()
    largest, least = values[:, :10].max(1).tolist(), values[:, :10].min(1).tolist()
    assert rows == [
        *(("val_average_precision", number, -value) for number, value in enumerate(largest)),
        *(("val_classification_error", number, value) for number, value in enumerate(least)),
    ]


def line_of(folder: Path, steps: Steps) -> dict[int, float]:
    """The line of perfect scaling of studies with these steps."""
    for batch_size, evaluations in steps.items():
        trials = [trial_of(0, evaluations, 0.1)]
        write_shard(folder, workload=SGD, batch_size=batch_size, goal=0.03, trials=trials)
    with open_database(folder) as db:
        return {p["x"]: p["perfect"] for p in figure_points(db, "steps")}


def test_perfect_scaling_is_the_limit_of_the_curve_of_scaling(tmp_path):
    # 6,400 examples with errors of 10 % that cancel, then nothing gained.
    steps = {1: 704, 2: 291, 4: 160, 8: 80, 16: 40, 32: 40, 64: 40}
    line = line_of(tmp_path / "curve", steps)
    with open_database(tmp_path / "curve") as db:
        [answer] = db.scaling(SGD).answers
        found, hung = (figure_points(db, "steps", through=way) for way in ("fit", "first"))
    assert answer.scaling.curve is not None
    examples = answer.scaling.curve.fewest_examples
    value = examples.value or 0.0
    assert line == pytest.approx({size: value / size for size in steps})
    assert value == pytest.approx(6_400, rel=0.1)
    for point in found:
        assert point["perfect_low"] == pytest.approx(examples.low / point["x"])
        assert point["perfect_high"] == pytest.approx(examples.high / point["x"])
    assert [point["perfect"] for point in hung] == [10 * steps[1] / size for size in steps]
    assert {(point["perfect_low"], point["perfect_high"]) for point in hung} == {(None, None)}
    # Three points are too few for a curve and its limit.
    few = {8: 80, 16: 40, 32: 20}
    assert line_of(tmp_path / "few", few) == dict.fromkeys(few)


def test_bands_of_relative_steps_are_divided_by_the_same_steps(searched):
    db, _ = searched
    plain, relative = (
        {point["x"]: point for point in figure_points(db, figure)}
        for figure in ("steps", "relative-steps")
    )
    own = plain[relative[8]["normalise_at"]]["steps"]
    for size, point in plain.items():
        assert relative[size]["best_of"] == 45
        for end in ("band_low", "band_high"):
            wanted = None if point[end] is None else point[end] / own
            assert relative[size][end] == wanted
    bare = figure_points(db, "relative-steps", bands=False)
    assert {point["band_high"] for point in bare} == {None}
