"""Searches of stored trials and their replicates: by hand, by all subsets, and simulated."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dbtool
from dbtool.analysis.critical import StepsAt
from dbtool.analysis.searches import (
    Search,
    chance_above,
    equal_trials,
    median_errors,
    rank_of_quantile,
    ranks_around_median,
)
from dbtool.core.errors import UsageError
from tests.support.figure_points import figure_points
from tests.support.made_up import MadeTrial, passing, write_shard

NONE = np.full(4, math.nan)
AFTER, STEPS = np.array([[math.inf, 30, 10, 80], [math.inf, 40, 20, math.inf]])
FOUR = Search(32, AFTER, STEPS, NONE, NONE, {})


def test_the_best_of_k_lies_between_two_evaluations():
    assert FOUR.best_of(4) == StepsAt(32, 10, 20)
    # Of the six pairs three have the trial of 20 steps, and two more that of 40.
    assert FOUR.best_of(2) == StepsAt(32, 10, 20)
    assert FOUR.best_of(2, 0.75) == StepsAt(32, 30, 40)
    # Half of single trials never reach the goal, one of them within 80 steps.
    assert FOUR.best_of(1, 0.6) == StepsAt(32, 80, math.inf)
    assert FOUR.best_of(1, 0.9) == StepsAt(32, math.inf, math.inf)
    # Few trials bound the median on no side.
    assert FOUR.median_between(4, 0.95) == (0, math.inf)
    assert FOUR.median_between(4, 0.5) == (0, 40)


def test_searches_are_compared_at_as_many_trials_as_all_have():
    def of(trials: int) -> Search:
        steps = np.arange(1.0, trials + 1)
        return Search(trials, steps - 1, steps, steps, steps, {})

    given = [of(3), of(20), of(8)]
    chosen, k = equal_trials(given, None)
    # Three trials would hold all the others down.
    assert ([each.trials for each in chosen], k) == ([20, 8], 8)
    assert equal_trials(given, 10)[0] == [given[1]]
    assert equal_trials(given[:1], None) == (given[:1], 3)
    # Of most searches the fewest, and not the most of any.
    for counts, expected in (
        ((3, 3, 3, 4), 3),
        ((5, 3, 3), 3),
        ((20, 8, 3, 3), 8),
        ((4, 4, 1, 1), 4),
        ((4, 1, 1), 1),
    ):
        assert equal_trials([*map(of, counts)], None)[1] == expected


@pytest.mark.parametrize(
    "workload",
    ["mnist/fc_64_64_64/sgd", pytest.param("mnist/fc_128_128_128/sgd", marks=pytest.mark.slow)],
)
def test_two_releases_measured_apart_agree(workload):
    """One of a hundred trials a study and one of narrow windows of 24: intervals overlap."""
    data = Path(__file__).parents[3] / "data"
    found = []
    for release in ("measured", "replication"):
        with dbtool.open(data / release) as db:
            found.append(db.scaling(workload).rows("critical").row(0, named=True))
    measured, replication = found
    assert {measured["verdict"], replication["verdict"]} == {"identified"}
    assert max(measured["low"], replication["low"]) < min(measured["high"], replication["high"])


NUMBERS = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(NUMBERS)
def test_chances_are_those_over_all_subsets(numbers):
    trials, k = numbers
    best = [min(chosen) for chosen in itertools.combinations(range(1, trials + 1), k)]
    for rank in range(1, trials + 1):
        above = sum(each > rank for each in best) / len(best)
        assert chance_above(rank, trials, k) == pytest.approx(above)


# In floating point 1 - 9/10 is less than 1/10.
@example(10, 1, "1/10")
@example(50, 5, "1/10")
@example(10, 1, "9/10")
@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from(["1/10", "1/4", "1/2", "9/10"]))
def test_ranks_of_quantiles_are_exact(trials, k, quantile):
    trials, k = max(trials, k), min(trials, k)
    expected = next(
        rank
        for rank in range(1, trials + 1)
        if 1 - Fraction(math.comb(trials - rank, k), math.comb(trials, k)) >= Fraction(quantile)
    )
    assert rank_of_quantile(float(Fraction(quantile)), trials, k) == expected


@pytest.mark.parametrize(("trials", "k"), [(30, 5), (100, 60)])
def test_ranks_hold_the_median_as_often_as_they_say(trials, k):
    rng = np.random.default_rng(1)
    # Of uniform trials the median of the best of k is known.
    median = 1 - 2 ** (-1 / k)
    low, high = ranks_around_median(trials, k, 0.9)
    drawn = np.sort(rng.random((1000, trials)), axis=1)
    above = drawn[:, low - 1] > median if low else np.zeros(1000, bool)
    below = drawn[:, high - 1] < median if high else np.zeros(1000, bool)
    assert above.mean() < 0.075
    assert below.mean() < 0.075
    assert above.mean() + below.mean() > 0.01


SGD = "mnist/fc_1024/sgd"
SIZES = 2 ** np.arange(3, 11)


def run(number: int, steps: float, rate: float = 0.1) -> MadeTrial:
    """It passes the goal after so many steps, one after an evaluation that missed; or never."""
    if math.isinf(steps):
        return number, "INFEASIBLE", {"learning_rate": rate}, []
    return number, "COMPLETE", {"learning_rate": rate}, passing(int(steps))


def write(folder: Path, trials: list[MadeTrial], size: int = 8) -> None:
    write_shard(folder, workload=SGD, batch_size=size, goal=0.03, trials=trials, replicates=True)


# Of studies the steps of the replicates of each setting, with the steps and the setting that count.
SETTINGS: list[tuple[list[list[float]], int | None, int]] = [
    ([[70, 50, 90]], 70, 0),
    # Of two middle ones the mean, rounded up; one that diverged took infinitely many.
    ([[70, 51, 90, 61]], 66, 0),
    ([[70, 51, 90, math.inf]], 80, 0),
    ([[70, math.inf]], None, 0),
    # The best setting, and not the best run.
    ([[10, 90, 80], [70, 75, 72], [math.inf, 20, math.inf]], 72, 1),
    ([[10, 90, 80], [75]], 75, 1),
]


def test_a_setting_counts_by_its_median_and_a_study_by_its_best_setting(tmp_path):
    for study, (settings, _, _) in enumerate(SETTINGS):
        pairs = [(each, 0.1 + at) for at, own in enumerate(settings) for each in own]
        write(tmp_path, [run(number, *pair) for number, pair in enumerate(pairs)], 2**study)
    with dbtool.open(tmp_path) as db:
        found = db.steps("*")
        assert found["steps"].to_list() == [steps for _, steps, _ in SETTINGS]
        rates = [steps and 0.1 + best for _, steps, best in SETTINGS]
        assert found["learning_rate"].to_list() == rates
        assert [point["y"] for point in figure_points(db, "steps")] == found["steps"].to_list()
        by_size = db.scaling("*", trials=1).rows("steps").to_dicts()
        rows = {row["batch_size"]: row for row in by_size}
        alone = [2**study for study, (settings, *_) in enumerate(SETTINGS) if len(settings) == 1]
        assert [rows[size]["steps"] for size in alone[:3]] == [70, 66, 80]
        assert [rows[size]["after"] for size in alone[:3]] == [69, 64, 79]


def test_a_study_of_one_setting_is_no_search(tmp_path):
    rng = np.random.default_rng(1)
    steps = {}
    for size in SIZES:
        true = 1000 * (1 + 64 / size)
        steps[size] = np.sort(np.rint(true * np.exp(0.1 * rng.normal(size=9)))).astype(int)
        write(tmp_path, [run(*each) for each in enumerate(steps[size].tolist())], int(size))
    ends: Any = ranks_around_median(9, 1, 0.95)
    low, high = ends
    with dbtool.open(tmp_path) as db:
        report = db.scaling("*")
        for row in report.rows("steps").iter_rows(named=True):
            own = steps[row["batch_size"]]
            assert (row["steps"], row["trials"]) == (own[4], 1)
            assert (row["low"], row["high"]) == (own[low - 1] - 1, own[high - 1])
        for point in figure_points(db, "steps"):
            own = steps[point["x"]]
            bands = (point["best_of"], point["band_low"], point["band_high"])
            assert bands == (None, own[low - 1], own[high - 1])
        [tradeoff, *_] = report.rows("critical").to_dicts()
        said = " ".join(str(report).split())
    assert tradeoff["low"] < 64 < tradeoff["high"]
    assert "From the median of 9 replicates at 8 batch sizes, 8 to 1,024." in said
    assert "best of" not in said
    assert "earning rate" not in said


def test_runs_of_one_setting_are_compared_one_by_one(tmp_path):
    for optimizer, steps in {"adam": [20, 40, 60], "sgd": [10, 30, 50]}.items():
        runs = [run(number, each) for number, each in enumerate(steps)]
        name = f"digits/fc/{optimizer}"
        write_shard(tmp_path, workload=name, batch_size=8, goal=0.03, trials=runs, replicates=True)
    with dbtool.open(tmp_path) as db:
        for trials in (None, 1):
            [row] = db.scaling("*", trials=trials).rows("comparison").to_dicts()
            assert [row["k"], row["optimizer_trials"], row["other_trials"]] == [1, 3, 3]
            assert row["win"] == pytest.approx(3 / 9)
            assert row["win_certain"] == row["win_possible"] == row["win"]
            assert row["loss"] == pytest.approx(6 / 9)
            assert row["win_low"] < row["win"] < row["win_high"]


def test_a_setting_may_have_a_single_replicate(tmp_path):
    for size in (8, 16):
        write_shard(
            tmp_path, workload=SGD, batch_size=size, goal=0.03, trials=[run(0, 90)],
            search={"design": "one setting"},
        )  # fmt: skip
    with dbtool.open(tmp_path) as db:
        report = db.scaling("*")
    assert report.rows("steps").select("after", "steps", "low").rows() == [(89, 90, None)] * 2
    assert "From one run each at 2 batch sizes, 8 to 16." in " ".join(str(report).split())


def test_tables_tell_replicates_by_rows_or_by_their_spread():
    sizes = (4, 16, 64, 256, 1024)
    steps = {size: [round(6400 / size + 100 + at) for at in (-3, 0, 5)] for size in sizes}
    rows = [(size, each) for size, own in steps.items() for each in own]
    spreads = [(size, own[1], 3, np.std(own, ddof=1)) for size, own in steps.items()]
    bounds = [(size, own[0], own[2]) for size, own in steps.items()]
    for columns, of_rows in (
        (["batch_size", "steps"], rows),
        (["batch_size", "steps", "n", "sd"], spreads),
        (["batch_size", "lower", "upper"], bounds),
    ):
        table = pl.DataFrame(of_rows, columns, orient="row")
        report = dbtool.scaling_of_table(table)
        [tradeoff, *_] = report.rows("critical").to_dicts()
        assert tradeoff["critical_batch_size"] == pytest.approx(64, rel=0.1)
        assert ("the median of 3 replicates" in str(report)) == ("lower" not in columns)
        if "steps" not in columns or "n" in columns:
            with pytest.raises(UsageError, match="is there twice; rows with"):
                dbtool.scaling_of_table(pl.concat([table, table]))
    swapped = table.rename({"lower": "upper", "upper": "lower"})
    with pytest.raises(UsageError, match="line 1: lower is above upper"):
        dbtool.scaling_of_table(swapped)


def test_errors_of_medians():
    rng = np.random.default_rng(0)
    for n in (3, 7, 21):
        medians = np.median(rng.normal(0, 0.1, (20_000, n)), axis=1)
        assert median_errors([n] * 5, [0.1] * 5) == pytest.approx(medians.std(), rel=0.05)
    # A setting of one replicate is as uncertain as all are, and extremes are drawn to the others.
    single, low, high = median_errors([1, 3, 3], [0, 0.05, 0.2])
    assert single == pytest.approx(math.sqrt((0.05**2 + 0.2**2) / 2))
    assert 1 < high / low < 4
    assert median_errors([1, 1], [0, 0]).tolist() == [0, 0]


def test_a_goal_that_has_to_be_sustained(tmp_path):
    errors = [0.9, 0.02, 0.5, 0.02, 0.01, 0.6, 0.01, 0.01, 0.02, 0.01]
    rows = [{"step": 10 * at, "val_classification_error": e} for at, e in enumerate(errors)]
    sooner = [{"step": 5 * at, "val_classification_error": 0.01} for at in range(1, 9)]
    # One that diverged in the end counts for nothing.
    trials: list[MadeTrial] = [
        (0, "COMPLETE", {"learning_rate": 0.1}, rows),
        (1, "INFEASIBLE", {"learning_rate": 0.2}, sooner),
    ]
    write_shard(tmp_path, workload=SGD, batch_size=8, goal=0.03, trials=trials)
    with dbtool.open(tmp_path) as db:
        for sustained, steps in {1: 10, 2: 30, 3: 60, 4: 60, 5: None}.items():
            assert db.steps("*", sustained=sustained)["steps"].to_list() == [steps]
            row, _ = db.crossings("*", sustained=sustained).to_dicts()
            assert (row["after"], row["steps"]) == (50 if not steps else steps - 10, steps)
        for figure in ("steps", "relative-steps", "curves"):
            points = db.plot(figure, workload="*", sustained=2).points
            assert set(points["steps"]) == {30}
        with pytest.raises(UsageError, match="sustained"):
            db.steps("*", sustained=0)


def test_a_source_that_tells_of_the_goal_alone_knows_the_step_before_it(tmp_path):
    reached = [{"step": 40, "val_classification_error": 0.01}]
    trials: list[MadeTrial] = [(0, "COMPLETE", {"learning_rate": 0.1}, reached)]
    for name, producer in (("told", {"evaluations": "goal alone"}), ("evaluated", {})):
        about: dict[str, Any] = {"workload": f"mnist/{name}/sgd", "goal": 0.03}
        write_shard(tmp_path, batch_size=8, trials=trials, producer=producer, **about)
    with dbtool.open(tmp_path) as db:
        found = db.crossings("*").select("workload", "after", "steps").rows()
    assert found == [("mnist/evaluated/sgd", 0, 40), ("mnist/told/sgd", 39, 40)]


def test_a_search_that_trained_to_its_end_did_not_stop_before_the_goal(tmp_path):
    trials: list[MadeTrial] = [(0, "COMPLETE", {"learning_rate": 0.1}, passing(40))]
    for size, most in ((8, 40), (16, 41)):
        about: dict[str, Any] = {"workload": SGD, "batch_size": size, "goal": 0.001}
        search = {"most_steps": most}
        write_shard(tmp_path, trials=trials, search=search, train_steps=40, **about)
    with dbtool.open(tmp_path) as db:
        assert db.sql("SELECT stopped FROM studies ORDER BY batch_size").rows() == [
            (False,),
            (True,),
        ]
