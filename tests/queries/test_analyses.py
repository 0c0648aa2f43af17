"""The analyses against answers worked out by hand, or by counting all cases."""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dbtool.analysis.best_of_k import chance_above, rank_of_quantile
from dbtool.store.database import Database, open_database
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


def test_scaling_compares_each_study_with_the_smallest_and_with_the_one_before(
    searched: Database,
) -> None:
    columns = "batch_size, steps, examples, reduction, efficiency, gain, feasible_trials"
    assert analysis_rows(searched, "scaling", columns) == [
        (8, 200, 1_600, 1.0, 1.0, None, 2),
        (16, 100, 1_600, 2.0, 1.0, 2.0, 1),
        # Half the steps for two doublings.
        (64, 50, 3_200, 4.0, 0.5, 1.41, 1),
        (128, None, None, None, None, None, 1),
        # Compared with the last study that reached the goal, two doublings before.
        (256, 25, 6_400, 8.0, 0.25, 1.41, 1),
        (512, None, None, None, None, None, 0),
    ]


def test_optima_lie_where_the_search_drew_them(searched: Database) -> None:
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


def test_summary_tells_each_workload_in_a_row(searched: Database) -> None:
    columns = (
        "workload, goal, batch_sizes, smallest, largest, fewest_feasible, most_feasible, "
        "infeasible_share, steps_at_smallest, steps_at_largest, fewest_steps, fewest_steps_at, "
        "measurements"
    )
    # Of 7 trials 1 diverged, the only one of batch size 512.
    expected = (WORKLOAD, 0.5, 6, 8, 512, 0, 2, 0.143, 200, None, 25, 256, 12)
    assert analysis_rows(searched, "summary", columns) == [expected]


def test_divergence_counts_the_trials_that_ended(searched: Database) -> None:
    columns = (
        "batch_size, feasible, infeasible, infeasible_share, largest_feasible_rate, "
        "smallest_infeasible_rate"
    )
    rows = analysis_rows(searched, "divergence", columns)
    assert rows[0] == (8, 2, 0, 0.0, 1.0, None)
    assert rows[-1] == (512, 0, 1, 1.0, None, 99.0)


def test_trade_off(db: Database) -> None:
    columns = (
        "batch_size, steps, examples, epochs, steps_over_fewest, examples_over_fewest, best_trade"
    )
    assert analysis_rows(db, "trade_off", columns) == [
        (8, 100, 800, 0.8, 5.0, 1.0, True),
        (32, 30, 960, 0.96, 1.5, 1.2, True),
        # Batch size 32 takes fewer of both.
        (64, 45, 2_880, 2.88, 2.25, 3.6, False),
        (128, 20, 2_560, 2.56, 1.0, 3.2, True),
    ]


def test_effective_rate(db: Database) -> None:
    rates = {8: 0.2 / 0.5, 32: 0.4 / 0.1, 64: 0.2 / 0.5, 128: 1.6 / 0.25}
    x, y = np.log2(list(rates)), np.log2(list(rates.values()))
    slope, _ = np.polyfit(x, y, 1)
    r2 = np.corrcoef(x, y)[0, 1] ** 2
    [found] = analysis_rows(db, "effective_rate", "batch_sizes, smallest, largest, slope, r2")
    assert found == (4, 8, 128, round(slope, 2), round(r2, 2))
    [(first, last)] = analysis_rows(db, "effective_rate", "rate_at_smallest, rate_at_largest")
    assert (first, last) == (pytest.approx(0.4), pytest.approx(6.4))


def test_luck(db: Database) -> None:
    columns = "batch_size, steps, not_at, runner_up, fifth, reached_trials, feasible_trials"
    assert analysis_rows(db, "luck", columns) == [
        (8, 100, 0, 2.0, None, 3, 4),
        (32, 30, 25, None, None, 1, 2),
        (64, 45, 40, None, None, 1, 1),
        (128, 20, 0, None, None, 1, 1),
        (256, None, None, None, None, 0, 1),
    ]


def test_sensitivity(db: Database) -> None:
    columns = "batch_size, trials, reached_share, lowest, highest, decades, inside_share"
    rows = analysis_rows(db, "sensitivity", columns)
    # Between 0.1 and 0.4 lies 0.3, which never reached it; log10(4) = 0.602.
    assert rows[0] == (8, 5, 0.6, 0.1, 0.4, 0.6, 0.75)
    assert rows[1] == (32, 2, 0.5, 0.4, 0.4, 0.0, 1.0)
    assert rows[-1] == (256, 1, 0.0, None, None, None, None)


def _first_below(points: Sequence[tuple[int, float]]) -> float:
    return min((step for step, value in points if value < 0.5), default=math.inf)


def test_trials_needed_against_all_choices_of_trials(db: Database) -> None:
    expected = []
    for size, drawn in STUDIES.items():
        steps = [_first_below(points) for _, _, status, points in drawn if status == "COMPLETE"]
        for number in (1, 2, 5, 10):
            best = sorted(min(chosen) for chosen in combinations(steps, number))
            if not best:
                continue
            reached = sum(map(math.isfinite, best)) / len(best)
            # The least that at least half of the choices come to.
            median = best[math.ceil(len(best) / 2) - 1]
            found = int(median) if math.isfinite(median) else None
            expected.append((size, len(steps), number, round(reached, 3), found))
    columns = "batch_size, feasible_trials, drawn, reached, steps"
    assert analysis_rows(db, "trials_needed", columns) == expected


def test_best_of_k_against_the_ranks_of_quantiles(db: Database) -> None:
    expected: list[tuple[Any, ...]] = []
    for size, drawn in STUDIES.items():
        steps = sorted(
            math.inf if status == "INFEASIBLE" else _first_below(points)
            for _, _, status, points in drawn
        )
        trials, reached = len(steps), sum(map(math.isfinite, steps))
        for k in (1, 5):
            if k > trials:
                continue
            at = [steps[rank_of_quantile(q, trials, k) - 1] for q in (0.1, 0.5, 0.9)]
            share = round(1 - chance_above(reached, trials, k), 3)
            found = [int(each) if math.isfinite(each) else None for each in at]
            expected.append((size, trials, k, share, *found))
    columns = "batch_size, trials, k, reached, steps_10, steps_50, steps_90"
    assert analysis_rows(db, "best_of_k", columns) == expected
    # The five of batch size 8 take 100, 200, 200, never and, as it diverged, never.
    assert expected[:2] == [(8, 5, 1, 0.6, 100, 200, None), (8, 5, 5, 1.0, 100, 100, 100)]


def test_best_of_k_of_many_trials(tmp_path: Path) -> None:
    trials = [_trial(number, number + 1, 0.1, 0.99, 1.0) for number in range(250)]
    columns = "k, reached, steps_10, steps_50, steps_90"
    [rows] = [analysis_rows(db, "best_of_k", columns) for db in _database(tmp_path, {8: trials})]
    # The steps are the ranks here.
    assert rows == [
        (k, 1.0, *(rank_of_quantile(quantile, 250, k) for quantile in (0.1, 0.5, 0.9)))
        for k in (1, 5, 10, 20, 50, 100)
    ]


def test_best_of_k_leaves_out_searches_in_lockstep(tmp_path: Path) -> None:
    trials = [_trial(number, 10, 0.1, 0.99, 1.0) for number in range(2)]
    for db in _database(tmp_path, {8: trials}, search={"most_steps": 100}):
        assert analysis_rows(db, "best_of_k", "batch_size") == []


def test_best_by_epochs(db: Database) -> None:
    columns = "batch_size, epochs, value, step, trial_id, learning_rate, momentum, feasible_trials"
    rows = analysis_rows(db, "best_by_epochs", columns)
    # An epoch is 1,000 examples: 125 steps of 8. The study of 300 steps does not reach 5 of them.
    assert rows[:2] == [
        (8, 1, 0.45, 100, 1, 0.2, 0.5, 4),
        (8, 2, 0.4, 200, 0, 0.1, 0.9, 4),
    ]
    assert [row[:2] for row in rows[2:]] == [
        (size, epochs)
        for size, most in ((32, 5), (64, 10), (128, 20), (256, 50))
        for epochs in (1, 2, 5, 10, 20, 50)
        if epochs <= most
    ]
    # 7 steps of 128, before anything was learned.
    assert (128, 1, 0.9, 0, 0, 1.6, 0.75, 1) in rows


def test_best_curves(db: Database) -> None:
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
