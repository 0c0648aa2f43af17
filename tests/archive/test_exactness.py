"""Answers in SQL from an imported replica against the authors' rules in pandas.

The replica plants the traps: values equal to the goal, ties in step, INCOMPLETE trials that reach
the goal first, ids that sort differently as text, runs longer than train_steps, train_steps 0,
missing metrics, a maximised metric, the same data set, model and optimizer in two collections.
"""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from replica import plan_study, write_archive
from support import rules

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

CNN = "mnist/simple_cnn_base/nesterov_momentum"
RESNET = "imagenet/resnet_50/nesterov_momentum"
IMAGES = "open_images_v4/resnet_50/nesterov_momentum"
LSTM = "lm1b/lstm/nesterov_momentum"
PLANS = (
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 64, complete=30, incomplete=10),
    plan_study("solution_quality/" + CNN, 64),
    plan_study(RESNET, 256, complete=24),
    plan_study(RESNET, 512, odd=True),
    plan_study(IMAGES, 1_024, odd=True),
    plan_study(LSTM, 16, complete=20),
    plan_study("mnist/fc_64_64_64/sgd", 2),
    plan_study("mnist/fc_1024/sgd", 8, complete=0),
)
METRICS = {
    CNN: ("val/classification_error", "test/classification_error", "train/cross_entropy_error"),
    IMAGES: ("val/average_precision", "val/cross_entropy_error"),
    LSTM: ("val/cross_entropy_error", "val/classification_error"),
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> list[rules.StudyFrames]:
    folder = tmp_path_factory.mktemp("exactness")
    write_archive(folder, studies=PLANS, seed=5, layout="folder")
    return rules.read_archive(folder / "batch_science")


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("imported")
    write_archive(folder / "replica.tar", studies=PLANS, seed=5, layout="tar", order="interleaved")
    subprocess.run(
        [sys.executable, "-m", "dbtool", "import", folder / "replica.tar", "--db", folder / "db"],
        check=True,
        capture_output=True,
    )
    with open_for_reading(folder / "db") as opened:
        yield opened


def metrics_of(study: rules.StudyFrames) -> tuple[str, ...]:
    return METRICS.get(study.workload, ("val/classification_error", "val/cross_entropy_error"))


def column(metric: str) -> str:
    return metric.replace("/", "_")


def maximised(metric: str) -> bool:
    return metric.endswith("average_precision")


def goals_of(study: rules.StudyFrames, metric: str) -> list[str]:
    """Goals among the values that were measured, so that some are equal to one; and others."""
    if metric not in study.measurements:
        return ["0.5"]
    texts = [text for text in study.measurements[metric] if isinstance(text, str) and text]
    values = sorted({Decimal(text) for text in texts if Decimal(text).is_finite()})
    return [str(values[place]) for place in range(0, len(values), len(values) // 12 + 1)] + [
        "0",
        "9",
    ]


def rows(connection: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.execute(query, values).fetchall()
    return found


def questions(studies: list[rules.StudyFrames]) -> Iterator[tuple[rules.StudyFrames, str]]:
    for study in studies:
        for metric in metrics_of(study):
            yield study, metric


@pytest.mark.parametrize("first", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_steps_to_result(
    first: int, studies: list[rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    query = (
        "SELECT steps, trial_id FROM steps_to_result('published', ?, ?, ?, ?) WHERE batch_size = ?"
    )
    reached = 0
    for study, metric in questions(studies):
        for goal in goals_of(study, metric):
            expected = rules.steps_to_result(
                study, metric, goal, maximize=maximised(metric), first=first
            )
            asked = (study.workload, column(metric), float(goal), first, study.study["batch_size"])
            assert rows(connection, query, *asked) == [expected or (None, None)], (asked, goal)
            reached += expected is not None
    assert reached > 50


@pytest.mark.slow
def test_best_measurement_within_budgets(
    studies: list[rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    query = "SELECT value FROM best_measurements('published', ?, ?, ?, ?, ?) WHERE batch_size = ?"
    for study, metric in questions(studies):
        longest, batch_size = int(study.measurements["step"].max()), study.study["batch_size"]
        budgets: list[tuple[int | None, int | None]] = [(None, None)]
        budgets += [(longest // part, None) for part in (1, 2, 3, 10, 1_000)]
        budgets += [(None, longest * batch_size // part) for part in (1, 2, 3, 10, 1_000)]
        for most_steps, most_examples in budgets:
            best = rules.best_measurement(
                study,
                metric,
                maximize=maximised(metric),
                first=20,
                most_steps=most_steps,
                most_examples=most_examples,
            )
            counts = rules.counts_towards(study, most_steps=most_steps, most_examples=most_examples)
            asked = (study.workload, column(metric), most_steps, most_examples, 20, batch_size)
            found = rows(connection, query, *asked)
            assert found == ([(None if best is None else float(best),)] if counts else []), asked


def test_groups_of_label_smoothing(
    studies: list[rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    metric, goal = "val/classification_error", "0.3"
    for study in studies:
        if study.workload != RESNET:
            continue
        found = rows(
            connection,
            "SELECT metaparameter_value, steps, trial_id "
            "FROM steps_to_result_by('label_smoothing', 'published', ?, ?, ?, 100) "
            "WHERE batch_size = ?",
            *(study.workload, column(metric), float(goal), study.study["batch_size"]),
        )
        best = rows(
            connection,
            "SELECT metaparameter_value, value "
            "FROM best_measurements_by('label_smoothing', 'published', ?, ?, NULL, NULL, 100) "
            "WHERE batch_size = ?",
            *(study.workload, column(metric), study.study["batch_size"]),
        )
        complete = study.trials[study.trials["status"] == "COMPLETE"]["parameters"]
        expected_steps, expected_best = [], []
        for smoothing in sorted({parameters["label_smoothing"] for parameters in complete}):

            def taken(parameters: dict[str, float], smoothing: float = smoothing) -> bool:
                return parameters["label_smoothing"] == smoothing

            first = rules.steps_to_result(study, metric, goal, taken=taken)
            expected_steps.append((smoothing, *(first or (None, None))))
            lowest = rules.best_measurement(study, metric, taken=taken)
            expected_best.append((smoothing, None if lowest is None else float(lowest)))
        assert len(expected_steps) > 1
        assert found == expected_steps
        assert best == expected_best


def test_outcomes_of_the_scatter_plots(
    studies: list[rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    query = (
        "SELECT trial_id, outcome, best FROM trial_outcomes('published', ?, ?, ?, ?) "
        "WHERE batch_size = ?"
    )
    seen = set()
    for study, metric in questions(studies):
        goal = goals_of(study, metric)[3 if metric in study.measurements else 0]
        most_steps = int(study.measurements["step"].max()) // 2
        asked = (study.workload, column(metric), float(goal), most_steps)
        found = rows(connection, query, *asked, study.study["batch_size"])
        expected = rules.outcomes(
            study, metric, goal, maximize=maximised(metric), most_steps=most_steps
        )
        assert {trial_id: outcome for trial_id, outcome, _ in found} == expected
        first = rules.steps_to_result(
            study, metric, goal, maximize=maximised(metric), first=1_000, most_steps=most_steps
        )
        starred = [trial_id for trial_id, _, best in found if best]
        assert starred == ([] if first is None else [first[1]])
        seen |= set(expected.values())
    assert seen == {"goal achieved", "goal not achieved", "infeasible"}
