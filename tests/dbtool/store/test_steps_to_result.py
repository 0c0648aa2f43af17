"""Steps to result from SQL against pandas, on made-up shards with traps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from support.made_up import write_shard

from dbtool.store.contract import metric_columns
from dbtool.store.database import open_for_reading, open_for_writing
from dbtool.store.ingest import ingest

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = "digits/fc_8/sgd"
GOAL = 0.1
VAL = "val_classification_error"
PRECISION = "val_average_precision"
Curve = list[tuple[int, float | None]]


def shard(folder: Path, batch_size: int, trials: list[tuple[int, str, Curve]]) -> Path:
    return write_shard(
        folder,
        workload=WORKLOAD,
        batch_size=batch_size,
        train_steps=0,
        trials=[
            (
                number,
                status,
                {"learning_rate": 0.1 + number},
                [
                    {"step": step, VAL: value, "test_classification_error": (value or 0) / 2}
                    for step, value in points
                ],
            )
            for number, status, points in trials
        ],
    )


def steps(database: Path, *arguments: Any) -> list[tuple[Any, ...]]:
    """(batch_size, steps, trial_id, value, trials) of steps_to_result."""
    values = ["made-up", WORKLOAD, *(arguments or (None, None, 100))]
    with open_for_reading(database) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT batch_size, steps, trial_id, value, trials FROM steps_to_result(?, ?, ?, ?, ?)",
            values,
        ).fetchall()
        return rows


@pytest.fixture
def database(tmp_path: Path) -> Path:
    paths = [
        # A value equal to the goal has not passed it; 0.1 is written as a decimal.
        shard(tmp_path, 1, [(0, "COMPLETE", [(10, 0.1), (20, 0.09999)])]),
        # Two trials pass at the same step; as text 10 would come before 9.
        shard(tmp_path, 2, [(9, "COMPLETE", [(10, 0.05)]), (10, "COMPLETE", [(10, 0.01)])]),
        # Trials that did not complete reach the goal first and do not count.
        shard(
            tmp_path,
            4,
            [
                (0, "INCOMPLETE", [(1, 0.0)]),
                (1, "INFEASIBLE", [(2, 0.0)]),
                (2, "COMPLETE", [(5, float("nan")), (6, None), (30, 0.05)]),
            ],
        ),
        # The goal is never reached.
        shard(tmp_path, 8, [(0, "COMPLETE", [(10, 0.2), (20, 0.1)])]),
        # The third trial is best, but a figure may ask for two.
        shard(
            tmp_path,
            16,
            [
                (1, "COMPLETE", [(50, 0.05)]),
                (2, "INFEASIBLE", [(1, 0.0)]),
                (3, "COMPLETE", [(40, 0.05)]),
                (4, "COMPLETE", [(10, 0.05)]),
            ],
        ),
    ]
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, paths).refused == ()
    return tmp_path / "db"


def test_traps(database: Path) -> None:
    assert steps(database) == [
        (1, 20, 0, 0.09999, 1),
        (2, 10, 9, 0.05, 2),
        (4, 30, 2, 0.05, 1),
        (8, None, None, None, 1),
        (16, 10, 4, 0.05, 3),
    ]


def test_the_first_trials_alone(database: Path) -> None:
    assert steps(database, None, None, 2)[-1] == (16, 40, 3, 0.05, 2)
    assert steps(database, None, None, 1)[-1] == (16, 50, 1, 0.05, 1)


def test_another_goal_or_metric(database: Path) -> None:
    assert steps(database, None, 0.2, 100)[3] == (8, 20, 0, 0.1, 1)
    # At batch size 1 the test error is half the validation error: 0.05 at step 10.
    assert steps(database, "test_classification_error", 0.06, 100)[0] == (1, 10, 0, 0.05, 1)


@pytest.mark.parametrize("own", [True, False])
def test_maximised_metrics_pass_upwards(tmp_path: Path, own: bool) -> None:
    values = [0.5, 0.6, 0.4, 0.7]
    rows = [{"step": step, PRECISION: value} for step, value in enumerate(values, 1)]
    goal = {"metric": PRECISION, "maximize": True, "goal": 0.6} if own else {}
    path = write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)], **goal)
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, [path]).refused == ()
        improved = connection.execute("SELECT step, value FROM stored.improvement").fetchall()
        assert improved == ([(1, 0.5), (2, 0.6), (4, 0.7)] if own else [])
    assert steps(tmp_path / "db", PRECISION, 0.6, 100) == [(64, 4, 0, 0.7, 1)]
    assert steps(tmp_path / "db", PRECISION, 0.55, 100) == [(64, 2, 0, 0.6, 1)]
    if own:
        assert steps(tmp_path / "db", None, None, 100) == [(64, 4, 0, 0.7, 1)]


@pytest.mark.parametrize("goal", [0.1, 0.7, 0.02])
@pytest.mark.parametrize("metric", metric_columns())
def test_an_inclusive_goal_is_reached_by_its_equal(
    tmp_path: Path, metric: str, goal: float
) -> None:
    # The batch loss is a 32-bit number, and so is its goal then.
    kind = np.float32 if metric == "batch_cross_entropy_error" else np.float64
    worse = np.nextafter(kind(goal), kind(0 if metric.endswith("precision") else 1))
    rows = [{"step": 1, metric: float(worse)}, {"step": 2, metric: float(kind(goal))}]
    rows.append({"step": 3, metric: 1.0 - float(worse < goal) * goal})
    about = {"metric": metric, "maximize": metric.endswith("precision"), "goal": goal}
    names = {True: "digits/fc_8/sgd", False: "digits/fc_8/momentum"}
    paths = [
        write_shard(
            tmp_path, workload=name, trials=[(0, "COMPLETE", {}, rows)],
            **about, **({"goal_inclusive": True} if inclusive else {}),
        )
        for inclusive, name in names.items()
    ]  # fmt: skip
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, paths).refused == ()
        query = "SELECT goal, goal_inclusive FROM workloads ORDER BY optimizer DESC"
        assert connection.execute(query).fetchall() == [(goal, True), (goal, False)]
    with open_for_reading(tmp_path / "db") as connection:
        for inclusive, name in names.items():
            query = "SELECT steps, goal FROM steps_to_result(NULL, ?, NULL, NULL, 100)"
            [(reached, told)] = connection.execute(query, [name]).fetchall()
            assert (reached == 2, told) == (inclusive, goal)
            query = "SELECT outcome, steps, goal FROM trial_outcomes(NULL, ?, NULL, NULL, 2)"
            outcome = ("goal achieved", 2) if inclusive else ("goal not achieved", None)
            assert connection.execute(query, [name]).fetchall() == [(*outcome, goal)]
            # The rule is the workload's, whatever the goal.
            query = "SELECT steps FROM steps_to_result(NULL, ?, NULL, ?, 100)"
            [(reached,)] = connection.execute(query, [name, float(worse)]).fetchall()
            assert (reached == 1) == inclusive


def test_what_is_no_number_does_not_pass_upwards(tmp_path: Path) -> None:
    splits = ("train", "val", "test")
    rows = [
        {"step": step, **dict.fromkeys([f"{split}_average_precision" for split in splits], value)}
        for step, value in enumerate((float("nan"), 0.6, 0.7), 1)
    ]
    path = write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, [path]).refused == ()
    for split in ("train", "val", "test"):
        found = steps(tmp_path / "db", f"{split}_average_precision", 0.6, 100)
        assert found == [(64, 3, 0, 0.7, 1)]


@pytest.mark.parametrize("goal", [0.7, 0.3, 1.1])
def test_a_batch_loss_equal_to_the_goal_has_not_passed_it(tmp_path: Path, goal: float) -> None:
    # 0.7 and 1.1 lie above their nearest 32-bit numbers, 0.3 below.
    rows = [{"step": 1, "batch_cross_entropy_error": goal}, {"step": 2, VAL: 1.0}]
    rows.append({"step": 3, "batch_cross_entropy_error": goal - 1e-6})
    path = write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, [path]).refused == ()
    [(_, step, trial_id, value, trials)] = steps(
        tmp_path / "db", "batch_cross_entropy_error", goal, 100
    )
    assert (step, trial_id, trials) == (3, 0, 1)
    assert value == pytest.approx(goal - 1e-6, abs=1e-7)


def test_each_metric_is_its_own_column(tmp_path: Path) -> None:
    names = metric_columns()
    # Metric number n passes 0.5 at step n + 1 and no other does.
    better = {name: 0.9 if name.endswith("precision") else 0.1 for name in names}
    rows = [
        {
            "step": step,
            **{name: abs(float(step <= place) - better[name]) for place, name in enumerate(names)},
        }
        for step in range(len(names) + 1)
    ]
    path = write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, [path]).refused == ()
    for place, name in enumerate(names):
        assert steps(tmp_path / "db", name, 0.5, 100)[0][1] == place + 1


def test_random_studies_against_pandas(tmp_path: Path) -> None:
    random = np.random.default_rng(12)
    frames, paths = [], []
    for batch_size in (1, 2, 4, 8):
        trials: list[tuple[int, str, Curve]] = []
        for number in sorted(random.choice(150, 30, replace=False).tolist()):
            status = str(random.choice(["COMPLETE", "COMPLETE", "INFEASIBLE", "INCOMPLETE"]))
            points = [(step, round(float(random.uniform(0.09, 1)), 2)) for step in range(1, 15)]
            trials.append((number, status, list(points)))
            frames += [(batch_size, number, status, step, value) for step, value in points]
        paths.append(shard(tmp_path, batch_size, trials))
    with open_for_writing(tmp_path / "db") as connection:
        assert ingest(connection, paths).refused == ()
    table = pd.DataFrame(frames, columns=["batch_size", "trial_id", "status", "step", "value"])
    for trial_count in (3, 10, 100):
        for goal in (0.1, 0.15, 0.4):
            expected = []
            complete = table[table.status == "COMPLETE"]
            for batch_size, study in complete.groupby("batch_size"):
                kept = sorted(study.trial_id.unique())[:trial_count]
                passed = study[study.trial_id.isin(kept) & (study.value < goal)]
                best = passed.sort_values(["step", "trial_id"]).head(1)
                found = best[["step", "trial_id", "value"]].to_numpy().tolist()
                expected.append((batch_size, *(found[0] if found else [None] * 3), len(kept)))
            assert steps(tmp_path / "db", None, goal, trial_count) == expected
