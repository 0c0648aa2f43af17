"""The page's analysis against dbtool's own, row by row, in states of measured trials."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dbtool
from dbtool.database import Database
from tests.support.explorer import write_page
from tests.support.explorer_browser import BUNDLED, Explorer, agree, needs_explorer_browser, rows_of
from tests.support.made_up import write_shard

pytestmark = [needs_explorer_browser, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

CARDS = {
    "Steps to result": "steps",
    "Critical batch size": "critical",
    "Best learning rates": "learning_rates",
}
COPIED = "mnist/fc_128_128_128/nesterov_momentum"
ALTERED, FEW = "altered/fc/sgd", "few/fc/sgd"
LOSS, ERROR = "train_cross_entropy_error", "val_classification_error"
PRECISION = "val_average_precision"
SMALL, WIDE = "mnist/fc_64_64_64/sgd", "mnist/fc_1024/sgd"
# Of a workload the metric, the goal and the trials. Above each state, where dbtool.analysis
# branches, as far as no state before it does.
STATES: list[tuple[str, str, float, int | None]] = [
    # Evaluations of another metric alone; a value equal to the goal; reached before the first step,
    # and by too few batch sizes; bands without a lower or an upper end; rates up to both borders,
    # too few for a law; searches of the whole space beside windows.
    (WIDE, LOSS, 2.5264780521392822, 1),
    # Nothing known of some steps, and others without an upper bound; dropped before the first to
    # the goal; a slow bend, some bends not allowed, more noise; upper bounds, no least critical
    # batch size; a power law, with a first or last rate without bounds.
    (SMALL, ERROR, 0.21, 1),
    # A higher value is better, and one equal to an inclusive goal; infinities; no windows, no
    # search space, no search with as many trials.
    (FEW, PRECISION, 0.35340000000000005, 4),
    # A NaN that was measured.
    (SMALL, LOSS, 2.374069929122925, 15),
    # A search of few trials beside others, and a trial that was never evaluated; a sharp bend, all
    # bends allowed, both ends; as many rates as a law takes; nothing identified.
    (ALTERED, PRECISION, 0.97, None),
    # Dropped first where none came to the goal; all identified; a saturating law.
    (WIDE, "test_classification_error", 0.0289, None),
    # Most trials diverge; searches of few trials alone, one of fewer.
    (FEW, PRECISION, 0.07579999999999998, None),
    # Bends of a finer grid and the least noise; a law with a surge.
    (SMALL, ERROR, 0.565, None),
    # As many reached as a curve takes; a band with both ends; lower bounds, no largest one.
    (ALTERED, PRECISION, 0.9536, 1),
]


def _check(
    explorer: Explorer, db: Database, workload: str, metric: str, goal: float, k: int | None
) -> None:
    """That the page answers as dbtool does."""
    [own] = db.workloads(workload).to_dicts()
    key = f"{own['release']}:{workload}"
    explorer.go(workload=key, metric=metric, goal=goal, trials=k)
    report = db.scaling(workload, metric=metric, goal=goal, trials=k)
    found = {title: _rows(explorer, title) for title in CARDS}
    for title, kind in CARDS.items():
        expected = rows_of(report.rows(kind).write_csv())
        assert len(found[title]) == len(expected), (workload, metric, goal, k, kind)
        if expected:
            agree(found[title], expected)
    # The line of perfect scaling is the limit of the fitted curve.
    curve = report.answers[0].scaling.curve if report.answers else None
    for row in found["Steps to result"]:
        line = row["perfect"] and float(row["perfect"]) * int(row["batch_size"])
        # As near as values of fits have to agree.
        assert line == ("" if curve is None else pytest.approx(curve.fewest_examples.value, 1e-4))


def _rows(explorer: Explorer, title: str) -> list[dict[str, Any]]:
    shown = explorer.page.get_by_role("region", name=title, exact=True).count()
    return explorer.csv(title) if shown else []


@pytest.mark.slow
def test_states(tab, few_db, few_page, tmp_path):
    _write_altered(few_db, tmp_path / "altered")
    explorer = tab(few_page)
    of_altered = tab(write_page(tmp_path / "altered", tmp_path / "altered.html"))
    with dbtool.open(tmp_path / "altered") as altered:
        for workload, metric, goal, k in STATES:
            is_altered = workload in {ALTERED, FEW}
            page, db = (of_altered, altered) if is_altered else (explorer, few_db)
            _check(page, db, workload, metric, goal, k)


def _write_altered(db: Database, folder: Path) -> None:
    """Writes measured trials with what no release here has.

    That is average precisions with inclusive goals, values that are infinite, trials that diverge
    or were never evaluated, no search space, and searches of three trials.
    """
    statuses = db.trials(COPIED).to_dicts()
    for (size,), rows in db.measurements(COPIED).collect().group_by("batch_size"):
        trials = []
        for own in (each for each in statuses if each["batch_size"] == size):
            number, status = own["trial_id"], own["status"]
            of_trial = rows.filter(pl.col("trial_id") == number).sort("step")
            kept = of_trial.select("step", value=1 - pl.col("val_classification_error"))
            evaluations = [
                {"step": row["step"], "val_average_precision": row["value"]}
                for row in kept.drop_nulls().to_dicts()
            ]
            for row in evaluations[1 :: 7 + number % 3]:
                row["val_average_precision"] = math.inf
            if number % 9 == 4:
                evaluations = []
            elif number % 9 == 0:
                status, evaluations = "INCOMPLETE", evaluations[:3]
            if size >= 512 and number % 5:
                status = "INFEASIBLE"
            rate = {"learning_rate": own["learning_rate"]}
            trials.append((number, status, rate, evaluations))
        study = {"batch_size": size, "metric": "val_average_precision", "goal": 0.9}
        study |= {"goal_inclusive": True, "search_space": {}}
        fewer = trials if size < 1024 else trials[:4]
        write_shard(folder, workload=ALTERED, trials=fewer, **study)
        few = [each for each in trials if each[3]][: 2 if size == 64 else 3]
        write_shard(folder, workload=FEW, trials=few, **study)


@pytest.mark.slow
def test_replicates(tmp_path, tab, few_db):
    """Measured trials of eight settings or one, whose replicates they are here, or of one rate."""
    rows = few_db.measurements(COPIED).collect().drop_nulls("val_classification_error")
    statuses = few_db.trials(COPIED)
    for settings, replicates, (size,), of_size in (
        (*kind, *group)
        for kind in ((8, True), (1, True), (1, False))
        for group in statuses.group_by("batch_size", maintain_order=True)
    ):
        trials = [
            (
                own["trial_id"],
                own["status"],
                {"learning_rate": 0.1 * (1 + own["trial_id"] % settings)},
                rows.filter(batch_size=size, trial_id=own["trial_id"])
                .select("step", "val_classification_error")
                .to_dicts(),
            )
            for own in of_size.to_dicts()
        ]
        name = f"settings_{settings}" if replicates else "one_rate"
        study = {"workload": f"{name}/b/sgd", "batch_size": size, "goal": 0.03}
        write_shard(tmp_path / "db", trials=trials, replicates=replicates, **study)
    explorer = tab(write_page(tmp_path / "db", tmp_path / "replicates.html"))
    with dbtool.open(tmp_path / "db") as db:
        for workload in db.workloads()["workload"]:
            for goal, k in ((0.03, None), (0.05, None), (0.03, 3)):
                _check(explorer, db, workload, "val_classification_error", goal, k)


@pytest.mark.slow
def test_steps_alone(tab, few_page):
    """Of a table of one's own, also where all batch sizes lie on one side of the critical one."""
    explorer = tab(few_page, at={"workload": "", "line": "first"})
    tables: list[pl.DataFrame] = []
    with dbtool.open(BUNDLED) as db:
        for workload in ("fc_64_64_64/sgd", "fc_1024_1024/sgd"):
            known = db.scaling(f"mnist/{workload}").rows("steps").drop_nulls("steps")
            for steps in (known, known[:9], known[9:], known[:2]):
                name = pl.lit(str(len(tables))).alias("workload")
                tables.append(steps.select(name, "batch_size", "steps"))
    report = dbtool.scaling_of_table(pl.concat(tables))
    curves = [answer.scaling.curve for answer in report.answers if answer.scaling.curve]
    lows = [curve for curve in curves if min(each.low for each in curve.allowed) > 0]
    highs = [curve for curve in curves if max(each.high for each in curve.allowed) < math.inf]
    assert any(curve.critical < curve.reached[0] for curve in lows)
    assert any(curve.critical > curve.reached[1] for curve in highs)
    explorer.drop(own=pl.concat(tables).write_csv())
    rows = explorer.csv("Steps to result")
    agree(rows, report.rows("steps").write_csv())
    agree(explorer.csv("Critical batch size"), report.rows("critical").write_csv())
    # Rows of one batch size are replicates.
    twice = pl.concat([tables[0], tables[0].with_columns(pl.col("steps") * 2), tables[0][2:]])
    twice = twice.with_columns(workload=pl.lit("twice"))
    explorer.drop(twice=twice.write_csv())
    of_twice = [row for row in explorer.csv("Critical batch size") if row["workload"] == "twice"]
    agree(of_twice, dbtool.scaling_of_table(twice).rows("critical").write_csv())
    # Through the first point.
    for row in rows:
        first = next(each for each in rows if each["workload"] == row["workload"])
        examples = int(first["batch_size"]) * float(first["steps"])
        assert float(row["perfect"]) * int(row["batch_size"]) == pytest.approx(examples)
