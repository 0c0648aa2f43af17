"""Steps to result by hand, where the oracle of the archive has no such rows.

That one is tests/archive/test_exactness.py.
"""

from itertools import product

import numpy as np
import pytest

from dbtool.core import contract
from dbtool.core.contract import metric_columns
from dbtool.core.errors import UsageError
from dbtool.core.resources import schema_folder
from dbtool.database import open_database
from tests.support.made_up import MadeTrial, write_shard
from tests.support.programs import CHECKOUT

PUBLISHED = "imagenet/resnet_50/nesterov_momentum"
WORKLOAD = "digits/fc_8/sgd"
VAL, PRECISION = "val_classification_error", "val_average_precision"
LOSS = "batch_cross_entropy_error"
NAN = float("nan")


def test_a_published_workload_that_is_not_held_is_told_as_such(tmp_path):
    write_shard(tmp_path, workload=WORKLOAD)
    with open_database(tmp_path) as db:
        for ask in (db.steps, db.studies, db.trials, db.measurements, db.scaling):
            for word in (PUBLISHED, "imagenet/*"):
                with pytest.raises(UsageError, match="is published, but not held here: `dbtool fe"):
                    ask(word)


def test_an_inclusive_goal_is_reached_by_its_equal(tmp_path):
    worse = {}
    for metric, goal, inclusive in product((VAL, PRECISION, LOSS), (0.1, 0.7, 0.02), (True, False)):
        # The batch loss is a 32-bit number, and stands for the decimal that it was written as.
        kind = np.float32 if metric == LOSS else np.float64
        before = np.nextafter(kind(goal), kind(0 if metric.endswith("precision") else 1))
        rows = [{"step": 1, metric: float(before)}, {"step": 2, metric: float(kind(goal))}]
        rows.append({"step": 3, metric: 1.0 - float(before < goal) * goal})
        write_shard(
            tmp_path, workload=f"{metric}/{goal}/{inclusive}", metric=metric, goal=goal,
            goal_inclusive=inclusive, trials=[(0, "COMPLETE", {}, rows)],
        )  # fmt: skip
        worse[f"{metric}/{goal}"] = float(str(before))
    with open_database(tmp_path) as db:
        found = db.steps("*").select("workload", "steps", "goal").rows()
        assert {(name, steps == 2, goal) for name, steps, goal in found} == {
            (f"{name}/{inclusive}", inclusive, float(name.rpartition("/")[2]))
            for name, inclusive in product(worse, (True, False))
        }
        # The rule is the workload's, whatever the goal.
        for name, goal in worse.items():
            found = db.steps(f"{name}/*", goal=goal).select("workload", "steps").rows()
            reached = {workload: steps == 1 for workload, steps in found}
            assert reached == {f"{name}/True": True, f"{name}/False": False}


def test_each_metric_is_its_own_column(tmp_path):
    names = metric_columns()
    # Metric number n passes 0.5 at step n + 1 and no other does.
    better = {name: 0.9 if name.endswith("precision") else 0.1 for name in names}
    rows = [
        {"step": step}
        | {name: abs(float(step <= at) - better[name]) for at, name in enumerate(names)}
        for step in range(len(names) + 1)
    ]
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    with open_database(tmp_path) as db:
        for at, name in enumerate(names):
            assert db.steps(WORKLOAD, metric=name, goal=0.5)["steps"].to_list() == [at + 1]


def test_nan_beside_values_that_are_all_past_the_goal(tmp_path):
    """A file's statistics leave NaN out, so that a comparison may seem to hold throughout."""
    cases = {VAL: (0.15, 0.1), PRECISION: (0.1, 0.15)}
    for metric, (goal, value) in cases.items():
        rows = [{"step": 0, metric: NAN}, {"step": 1, metric: value}]
        trials = [(0, "COMPLETE", {"learning_rate": 0.1}, rows)]
        write_shard(tmp_path, workload=f"a/b/{metric}", metric=metric, goal=goal, trials=trials)
    with open_database(tmp_path) as db:
        for metric, (_, value) in cases.items():
            name = f"a/b/{metric}"
            assert db.steps(name).select("steps", "value").rows() == [(1, value)]
            assert db.crossings(name).select("steps", "after").rows() == [(1, 0)]


def test_the_median_of_replicates_is_whole_in_steps_and_exact_in_seconds(tmp_path):
    trials = [
        (seed, "COMPLETE", {"learning_rate": 0.1},
         [{"step": step, VAL: 0.01, "other_metrics": {"seconds": seconds}}])
        for seed, (step, seconds) in enumerate([(3, 0.25), (4, 0.5), (9, 2.0), (1, 0.125)])
    ]  # fmt: skip
    write_shard(tmp_path, workload=WORKLOAD, trials=trials, replicates=True)
    with open_database(tmp_path) as db:
        assert db.steps(WORKLOAD)["steps"].to_list() == [4]
        assert db.steps(WORKLOAD, by="seconds")["seconds"].to_list() == [0.375]


def test_names_tell_the_same_direction_everywhere(tmp_path):
    ends = [*contract.MAXIMIZED, *contract.MAXIMIZED_WORDS, "log_likelihood"]
    rising = [*ends, *(f"val_{end}" for end in ends), "val_macro_f1", "val_top_5_accuracy"]
    falling = ["val_word_error_rate", "val_nll", "negative_log_likelihood", "val_mse"]
    unknown = ["val_bitmap", "val_xf1", "val_foo"]
    write_shard(tmp_path)
    with open_database(tmp_path) as db:
        for name in (*rising, *falling, *unknown):
            [(rises,)] = db.sql("SELECT is_maximized($name)", name=name).rows()
            assert rises == contract.is_maximized(name) == (name in rising), name
            assert bool(contract.direction_note(name)) == (name in unknown), name
    page = CHECKOUT / "dbtool/explorer/page/src/analysis/goal.ts"
    for file in (schema_folder() / "macros.sql", page):
        assert contract.RISING_PATTERN in file.read_text(), file
    glossary = (CHECKOUT / "docs/glossary.md").read_text()
    assert all(f"`{end}`" in glossary for end in ends)


def test_metrics_without_a_column_are_asked_for_like_others(tmp_path):
    rows = [{"step": step, VAL: 0.5, "other_metrics": {"val_f1": value, "seconds": 1.0}}
            for step, value in ((10, 0.4), (20, 0.7))]  # fmt: skip
    write_shard(tmp_path, workload=WORKLOAD, trials=[(0, "COMPLETE", {}, rows)])
    with open_database(tmp_path) as db:
        assert db.steps(WORKLOAD, metric="val_f1", goal=0.6)["steps"].to_list() == [20]
        assert db.crossings(WORKLOAD, metric="val_f1", goal=0.6)["steps"].to_list() == [20]
        assert db.best(WORKLOAD, metric="val_f1")["value"].to_list() == [0.7]
        found = db.sql("SELECT metric, max(value) FROM evaluations GROUP BY 1 ORDER BY 1").rows()
        assert found == [(VAL, 0.5), ("val_f1", 0.7)]
        for metric in ("val_f2", "seconds"):
            with pytest.raises(UsageError, match=f"unknown metric '{metric}'.*FROM evaluations"):
                db.steps(WORKLOAD, metric=metric, goal=0.6)


def test_the_best_of_replicates_is_their_median(tmp_path):
    def trial(number: int, rate: float, status: str, *values: float) -> MadeTrial:
        rows = [{"step": 10 * step, VAL: value} for step, value in enumerate(values)]
        return number, status, {"learning_rate": rate}, rows

    trials = [
        trial(0, 0.1, "COMPLETE", 0.9, 0.3, 0.2),
        trial(1, 0.1, "COMPLETE", 0.9, 0.4, 0.35),
        trial(2, 0.1, "COMPLETE", 0.9, 0.8, 0.01),
        # Of two the mean.
        trial(3, 0.2, "COMPLETE", 0.9, 0.5, 0.125),
        trial(4, 0.2, "COMPLETE", 0.9, 0.25, 0.25),
        # The median is that of a trial that diverged.
        trial(5, 0.3, "COMPLETE", 0.9, 0.1, 0.1),
        trial(6, 0.3, "INFEASIBLE", 0.05),
        # A setting of its own.
        trial(7, 0.4, "COMPLETE", 0.9, 0.38, 0.3),
    ]
    write_shard(tmp_path, workload=WORKLOAD, batch_size=8, trials=trials, replicates=True)
    with open_database(tmp_path) as db:
        columns = ("value", "step", "trial_id", "trials")
        best = [db.best(WORKLOAD, most_steps=most, trials=trials).select(columns).rows()
                for most, trials in ((20, 100), (10, 100), (20, 1), (20, 3))]  # fmt: skip
        assert best == [
            [(0.1875, 20, 3, 4)], [(0.375, 10, 4, 4)], [(0.2, 20, 0, 1)], [(0.1875, 20, 3, 3)]
        ]  # fmt: skip
        rows = db.sql("""
            WITH asked AS (
                SELECT *, NULL AS asked_trials, 20 AS most_steps, NULL AS most_examples
                FROM study_goals(NULL, NULL, NULL, NULL, NULL)
            ),
            trial_rows AS (FROM trial_best('asked'))
            SELECT setting, steps FROM steps_of_settings('trial_rows') ORDER BY ALL
        """).rows()
    assert rows == [(0, 0.2), (3, 0.1875), (5, None), (None, 0.3)]
