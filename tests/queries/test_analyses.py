"""The analyses against answers worked out by hand, or by counting all cases."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

from dbtool.analysis.searches import rank_of_quantile
from dbtool.database import Database, open_database
from tests.support.figure_points import analysis_rows
from tests.support.made_up import write_shard

WORKLOAD = "digits/simple_cnn_base/nesterov_momentum"
SEARCH_SPACE = {
    "learning_rate": {"min_value": 0.01, "max_value": 100.0, "scale": "LOG_SCALE"},
    "momentum": {"min_value": 0.9, "max_value": 0.9999, "scale": "REVERSE_LOG_SCALE"},
    "weight_decay": {"min_value": 0.0, "max_value": 4.0, "scale": "LINEAR_SCALE"},
    "label_smoothing": {"min_value": 0.1, "max_value": 0.1, "scale": "LINEAR_SCALE"},
}
FALLING = [(step, 0.9 - 0.01 * step) for step in range(0, 45, 5)]
LONG = [*FALLING, *((step, 0.4) for step in range(45, 301, 5))]
# By batch size: learning rate, momentum, status, and step and value of each evaluation. A trial
# reaches the goal of 0.5 at its first value below it.
STUDIES: dict[int, list[tuple[float, float, str, Sequence[tuple[int, float]]]]] = {
    8: [
        (0.1, 0.9, "COMPLETE", [(0, 0.9), (100, 0.6), (200, 0.4), (300, 0.3)]),
        (0.2, 0.5, "COMPLETE", [(0, 0.9), (100, 0.45), (300, 0.35)]),
        (0.3, 0.5, "COMPLETE", [(0, 0.9), (300, 0.8)]),
        (5.0, 0.5, "INFEASIBLE", [(0, 0.9)]),
        (0.4, 0.5, "COMPLETE", [(0, 0.9), (200, 0.49), (300, 0.2)]),
    ],
    32: [
        (0.4, 0.9, "COMPLETE", [(0, 0.9), (25, 0.6), (30, 0.4), (300, 0.4)]),
        (0.8, 0.5, "COMPLETE", [(0, 0.9), (300, 0.6)]),
    ],
    # As many evaluations as are not all shown: every fifth step.
    64: [(0.2, 0.5, "COMPLETE", LONG)],
    128: [(1.6, 0.75, "COMPLETE", [(0, 0.9), (20, 0.3), (300, 0.25)])],
    256: [(1.6, 0.75, "COMPLETE", [(0, 0.9), (300, 0.7)])],
}  # fmt: skip
INF = math.inf
NEVER, DIVERGED = 0, -1
# By batch size, the steps of trials. Five trials are what all have that have as many; the learning
# rates are 0.1, 0.2, …
COMPARED = {
    8: [400, 200, NEVER, 300, DIVERGED, 10],
    16: [100, 150, 200, 250, 300],
    32: [100, NEVER, NEVER, NEVER, DIVERGED],
    64: [50, 50, NEVER, NEVER, NEVER],
    128: [NEVER, NEVER, NEVER, NEVER, DIVERGED],
    256: [NEVER, 25, 30, NEVER, NEVER, NEVER, 5],
    512: [2, 2, 2, 2],
}
STEPS = {8: 100, 32: 30, 64: 45, 128: 20}


def _rows(points: Sequence[tuple[int, float]]) -> list[dict[str, float]]:
    return [{"step": step, "val_classification_error": value} for step, value in points]


def _trial(number: int, step: int | None, *drawn: float, status: str = "COMPLETE") -> Any:
    """A trial that reaches the goal of 0.5 at a step, or never."""
    searched = dict(zip(SEARCH_SPACE, (*drawn, 0.1), strict=True))
    return number, status, searched, _rows([(0, 0.9)] + ([(step, 0.4)] if step else []))


def _database(folder: Any, trials: dict[int, list[Any]], **study: Any) -> Iterator[Database]:
    for size, of_size in trials.items():
        write_shard(folder, workload=WORKLOAD, batch_size=size, goal=0.5, trials=of_size, **study)
    with open_database(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Trials of known metaparameters, among which optima and borders are known."""
    trials = {
        # The first trial of batch size 8 is slower than the second, which is the best one.
        8: [_trial(0, 300, 1.0, 0.99, 1.0), _trial(1, 200, 1.0, 0.99, 1.0)],
        16: [_trial(0, 100, 0.011, 0.99989, 3.9)],
        64: [_trial(0, 50, 10.0, 0.999, 2.0)],
        128: [_trial(0, None, 10.0, 0.999, 2.0)],
        256: [_trial(0, 25, 99.0, 0.901, 0.1)],
        512: [_trial(0, None, 99.0, 0.99, 1.0, status="INFEASIBLE")],
    }
    yield from _database(tmp_path_factory.mktemp("searched"), trials, search_space=SEARCH_SPACE)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The studies above."""
    trials = {
        size: [
            (trial_id, status, {"learning_rate": rate, "momentum": momentum}, _rows(points))
            for trial_id, (rate, momentum, status, points) in enumerate(drawn)
        ]
        for size, drawn in STUDIES.items()
    }
    yield from _database(tmp_path_factory.mktemp("cookbook"), trials)


def test_optima_lie_where_the_search_drew_them(searched):
    columns = "batch_size, metaparameter, position, at_border"
    # ln(1 / 0.01) / ln(10^4) = 1/2; of one minus the momentum, 0.1 to 0.0001: 0.01 is a third.
    # A fixed metaparameter has no range, and a study that missed the goal no optimum.
    found = {row[:2]: row[2:] for row in analysis_rows(searched, "optima", columns)}
    assert len(found) == 4 * 3
    assert found[8, "learning_rate"] == (0.5, False)
    assert found[8, "momentum"] == (0.333, False)
    assert found[8, "weight_decay"] == (0.25, False)
    assert found[64, "learning_rate"] == (0.75, False)
    assert found[64, "momentum"] == (0.667, False)
    at_border = {size for (size, _), (_, border) in found.items() if border}
    assert at_border == {16, 256}
    columns = "batch_size, trial_id, steps, feasible_trials, value, metaparameter"
    assert analysis_rows(searched, "optima", columns)[0] == (8, 1, 200, 2, 1.0, "learning_rate")


def test_summary_tells_each_workload_in_a_row(searched):
    columns = (
        "workload, goal, batch_sizes, smallest, largest, fewest_feasible, most_feasible, "
        "infeasible_share, steps_at_smallest, steps_at_largest, fewest_steps, fewest_steps_at, "
        "measurements"
    )
    # Of 7 trials 1 diverged, the only one of batch size 512.
    expected = (WORKLOAD, 0.5, 6, 8, 512, 0, 2, 0.143, 200, None, 25, 256, 12)
    assert analysis_rows(searched, "summary", columns) == [expected]


def test_divergence_counts_the_trials_that_ended(searched):
    columns = "batch_size, feasible, infeasible, infeasible_share"
    columns += ", largest_feasible_rate, smallest_infeasible_rate"
    rows = analysis_rows(searched, "divergence", columns)
    assert rows[0] == (8, 2, 0, 0.0, 1.0, None)
    assert rows[-1] == (512, 0, 1, 1.0, None, 99.0)


def test_best_of_k_against_all_choices_of_trials(db):
    expected: list[tuple[Any, ...]] = []
    for size, drawn in STUDIES.items():
        steps = [
            min((at for at, value in points if value < 0.5 and status != "INFEASIBLE"), default=INF)
            for _, _, status, points in drawn
        ]
        for k in (1, 2, 5):
            best = sorted(min(chosen) for chosen in combinations(steps, k))
            if not best:
                continue
            share = round(sum(map(math.isfinite, best)) / len(best), 3)
            # The least that at least so many of the choices come to.
            at = [best[math.ceil(each * len(best) / 10) - 1] for each in (1, 5, 9)]
            found = [int(each) if math.isfinite(each) else None for each in at]
            expected.append((size, len(steps), k, share, *found))
    columns = "batch_size, trials, k, reached, steps_10, steps_50, steps_90"
    assert analysis_rows(db, "best_of_k", columns) == expected
    # The five of batch size 8 take 100, 200, 200, never and, as it diverged, never.
    assert expected[0] == (8, 5, 1, 0.6, 100, 200, None)
    assert expected[2] == (8, 5, 5, 1.0, 100, 100, 100)


def test_best_of_k_of_many_trials(tmp_path):
    trials = [_trial(number, number + 1, 0.1, 0.99, 1.0) for number in range(250)]
    columns = "k, reached, steps_10, steps_50, steps_90"
    [rows] = [analysis_rows(db, "best_of_k", columns) for db in _database(tmp_path, {8: trials})]
    # The steps are the ranks here.
    assert rows == [
        (k, 1.0, *(rank_of_quantile(quantile, 250, k) for quantile in (0.1, 0.5, 0.9)))
        for k in (1, 2, 5, 10, 20, 50, 100)
    ]


def test_replicates_of_a_setting_count_as_one_trial(tmp_path):
    # The medians of five settings are 40 to 80.
    trials = [
        _trial(3 * setting + seed, 40 + 10 * setting + off, 0.1 + setting, 0.99, 1.0)
        for setting in range(5)
        for seed, off in enumerate((-35, 0, 35))
    ]
    for db in _database(tmp_path, {8: trials}, replicates=True):
        assert analysis_rows(db, "luck", "steps, runner_up, fifth") == [(40, 1.25, 2.0)]
        assert analysis_rows(db, "best_of_k", "trials, k, steps_50")[-1] == (5, 5, 40)
        assert analysis_rows(db, "efficiency", "best_of, steps") == [(5, 40)]
        assert analysis_rows(db, "enough_trials", "trials, steps, near") == [(5, 40, 1)]


@pytest.mark.parametrize("name", ["best_of_k", "luck", "sensitivity"])
def test_searches_in_lockstep_are_left_out(name, tmp_path):
    trials = [_trial(number, 10, 0.1, 0.99, 1.0) for number in range(5)]
    for db in _database(tmp_path, {8: trials}, search={"most_steps": 100}):
        assert analysis_rows(db, name, "batch_size") == []


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The trials of COMPARED, evaluated at half of their steps, too."""
    trials = {
        size: [
            (
                number,
                "INFEASIBLE" if step == DIVERGED else "COMPLETE",
                {"learning_rate": (number + 1) / 10},
                _rows([(0, 0.9), *([(step // 2, 0.8), (step, 0.4)] if step > 1 else [])]),
            )
            for number, step in enumerate(steps)
        ]
        for size, steps in COMPARED.items()
    }
    yield from _database(tmp_path_factory.mktemp("compared"), trials)


def test_efficiency_compares_at_equal_numbers_of_trials(compared):
    columns = (
        "batch_size, best_of, steps, examples, epochs, reduction, efficiency, gain, best_trade"
    )
    assert analysis_rows(compared, "efficiency", columns) == [
        # Of the first five; batch size 16 takes fewer steps and no more examples.
        (8, 5, 200, 1_600, 1.6, 1.0, 1.0, None, False),
        (16, 5, 100, 1_600, 1.6, 2.0, 1.0, 2.0, True),
        (32, 5, 100, 3_200, 3.2, 2.0, 0.5, 1.0, False),
        (64, 5, 50, 3_200, 3.2, 4.0, 0.5, 2.0, True),
        (128, 5, None, None, None, None, None, None, None),
        # Compared with the last study that reached the goal, two doublings before.
        (256, 5, 25, 6_400, 6.4, 8.0, 0.25, 1.41, True),
    ]


def test_luck_compares_at_equal_numbers_of_trials(compared):
    columns = "batch_size, best_of, steps, not_at, runner_up, fifth, reached_trials"
    assert analysis_rows(compared, "luck", columns) == [
        (8, 5, 200, 100, 1.5, None, 3),
        (16, 5, 100, 50, 1.5, 3.0, 5),
        (32, 5, 100, 50, None, None, 1),
        (64, 5, 50, 25, 1.0, None, 2),
        (128, 5, None, None, None, None, 0),
        (256, 5, 25, 12, 1.2, None, 2),
    ]


def test_enough_trials_against_all_choices_of_trials(compared):
    expected = []
    for size, steps in COMPARED.items():
        took = [each if each > 0 else math.inf for each in steps]
        fewest = min(took)
        if len(took) < 5 or math.isinf(fewest):
            continue
        ks = []
        for share in (0.5, 0.9):
            for k in range(1, len(took) + 1):
                choices = [min(chosen) <= 1.1 * fewest for chosen in combinations(took, k)]
                if sum(choices) >= share * len(choices) - 1e-9:
                    ks.append(k)
                    break
        near = sum(each <= 1.1 * fewest for each in took)
        expected.append((size, len(took), fewest, near, *ks, False))
    columns = "batch_size, trials, steps, near, k_50, k_90, is_bound"
    assert analysis_rows(compared, "enough_trials", columns) == expected


def test_a_search_in_lockstep_that_ended_early_gives_bounds(tmp_path):
    trials = [_trial(number, 100, 0.1 + number, 0.99, 1.0) for number in range(5)]
    for most, is_bound in ((105, True), (120, False)):
        search = {"most_steps": 1000}
        options = {"search": search, "train_steps": most}
        for db in _database(tmp_path / str(most), {8: trials}, **options):
            rows = analysis_rows(db, "enough_trials", "near, k_50, is_bound")
            assert rows == [(5, 1, is_bound)]


def test_sensitivity_compares_at_equal_numbers_of_trials(compared):
    columns = "batch_size, trials, reached_share, lowest, highest, decades, inside_share"
    assert analysis_rows(compared, "sensitivity", columns) == [
        # Between 0.1 and 0.4 lie 0.2, which reached it, and 0.3; log10(4) = 0.602.
        (8, 5, 0.6, 0.1, 0.4, 0.6, 0.5),
        (16, 5, 1.0, 0.1, 0.5, 0.7, 1.0),
        (32, 5, 0.2, 0.1, 0.1, 0.0, None),
        (64, 5, 0.4, 0.1, 0.2, 0.3, None),
        (128, 5, 0.0, None, None, None, None),
        (256, 5, 0.4, 0.2, 0.3, 0.18, None),
    ]


def test_best_by_epochs(db):
    columns = "batch_size, epochs, value, step, trial_id, learning_rate, momentum, feasible_trials"
    rows = analysis_rows(db, "best_by_epochs", columns)
    # An epoch is 1,000 examples: 125 steps of 8. The study of 300 steps does not reach 5 of them.
    assert rows[:2] == [(8, 1, 0.45, 100, 1, 0.2, 0.5, 4), (8, 2, 0.4, 200, 0, 0.1, 0.9, 4)]
    assert [row[:2] for row in rows[2:]] == [
        (size, epochs)
        for size, most in ((32, 5), (64, 10), (128, 20), (256, 50))
        for epochs in (1, 2, 5, 10, 20, 50)
        if epochs <= most
    ]
    # 7 steps of 128, before anything was learned.
    assert (128, 1, 0.9, 0, 0, 1.6, 0.75, 1) in rows


def test_best_curves(db):
    columns = "batch_size, trial_id, step, examples, epochs, metric, value, at_goal"
    rows = analysis_rows(db, "best_curves", columns)
    metric = "val_classification_error"
    assert rows[:3] == [
        (8, 1, 0, 0, 0.0, metric, 0.9, False),
        (8, 1, 100, 800, 0.8, metric, 0.45, True),
        (8, 1, 300, 2_400, 2.4, metric, 0.35, False),
    ]
    # Of 61 evaluations every fourth from the last, and the one at which it reached the goal.
    steps = [row[2] for row in rows if row[0] == 64]
    assert steps == sorted([*range(0, 301, 20), 45])
    assert {row[0] for row in rows} == set(STEPS)
    assert {row[0]: row[2] for row in rows if row[-1]} == STEPS


def test_examples_are_those_of_batches_that_grow(tmp_path):
    # Batches of 4, from step 10 on of 8, from step 15 on of 16: 4 x 10, 8 x 5, 16 x 5 examples.
    growing: dict[str, Any] = {"batch_schedule": [[10, 2], [15, 4]], "train_examples": 100}
    growing["train_steps"] = 20
    measured = [(0, 0.9), (10, 0.6), (15, 0.4), (20, 0.3)]
    trials = [(n, "COMPLETE", {"learning_rate": 0.1 + n}, _rows(measured)) for n in range(5)]
    write_shard(tmp_path, workload=WORKLOAD, batch_size=4, goal=0.35, trials=trials, **growing)
    with open_database(tmp_path) as db:
        curve = db.sql("best_curves").polars()
        assert curve["examples"].to_list() == [0, 40, 80, 160]
        assert curve["epochs"].to_list() == [0, 0.4, 0.8, 1.6]
        assert db.sql("efficiency").polars().select("steps", "examples").rows() == [(20, 160)]
        assert db.sql("best_by_epochs").polars().select("epochs", "step").rows() == [(1, 15)]
        for most, steps in {80: [15], 79: [10], 160: [20], 161: []}.items():
            assert db.best(WORKLOAD, most_examples=most)["step"].to_list() == steps
