"""The figures about trials, drawn from an imported replica, against the rules in plain Python.

The replica plants the traps: values equal to the goal, ties in step, INCOMPLETE trials and trials
past the hundredth that reach the goal first, INFEASIBLE ones that reach it, unusual files.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from replica import plan_study, write_archive
from support import rules, trial_rules
from support.archives import imported

from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import find_figure
from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

BASE = "lm1b/transformer_base/nesterov_momentum"
CNN = "mnist/simple_cnn_base/nesterov_momentum"
RESNET = "imagenet/resnet_50/nesterov_momentum"
HALF = "imagenet_subsets/imagenet_half_images/resnet_50/nesterov_momentum"
IMAGES = "open_images_v4/resnet_50/nesterov_momentum"
VAL, ENTROPY = "val/classification_error", "val/cross_entropy_error"
PRECISION = "val/average_precision"
SIZES = ("wide", "base", "shallow", "narrow_and_shallow")
PLANS = (
    *(plan_study(BASE, size, seed=3, odd=size == 128) for size in (128, 512, 1_024, 4_096, 16_384)),
    plan_study("lm1b/transformer_wide/nesterov_momentum", 1_024),
    plan_study("lm1b/transformer_shallow/nesterov_momentum", 1_024, infeasible=0),
    plan_study(RESNET, 64, odd=True),
    plan_study(RESNET, 1_024),
    plan_study(CNN, 1, odd=True),
    plan_study(CNN, 128, complete=106, evaluations=240),
    plan_study(CNN, 8_192, complete=7, evaluations=1_300),
    plan_study(IMAGES, 256),
    plan_study("mnist/fc_64_64_64/sgd", 2),
    plan_study(HALF, 64),
)
EPOCH = 30_301_028


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, rules.StudyFrames]:
    """The studies that were written, by their folder."""
    folder = tmp_path_factory.mktemp("trials")
    write_archive(folder, studies=PLANS, seed=3, layout="folder")
    read = rules.read_archive(folder / "batch_science")
    return {f"{study.workload}/{study.study['batch_size']}": study for study in read}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("imported")
    write_archive(folder / "replica.tar", studies=PLANS, seed=3, layout="tar", order="shuffled")
    imported(folder / "replica.tar", folder / "db")
    with open_for_reading(folder / "db") as opened:
        yield opened


def rows(
    connection: duckdb.DuckDBPyConnection, figure: str, columns: str, **request: Any
) -> list[tuple[Any, ...]]:
    """The columns of a figure's points, in their order."""
    query = filled_query(find_figure(figure), Request(**request)).rstrip().rstrip(";")
    found: list[tuple[Any, ...]] = connection.execute(f"SELECT {columns} FROM ({query})").fetchall()
    return found


SCATTER = "panel, series, x, y, trial_id, best, steps"
LACKING = ("goal achieved", None, None, None, False, None)


def scatter_rows(
    studies: dict[str, rules.StudyFrames],
    panel: str,
    path: str,
    metric: str,
    goal: str,
    **budget: Any,
) -> list[tuple[Any, ...]]:
    """What a scatter plot shows of a study, or the row that tells it is not there."""
    if path not in studies:
        return [(panel, *LACKING)]
    return [(panel, *row) for row in trial_rules.scatter(studies[path], metric, goal, **budget)]


def within(study: rules.StudyFrames | None, budget: int) -> int:
    """The steps that a scatter plot says its trials had: those of the longest, if fewer."""
    if study is None:
        return budget
    taken = study.trials[study.trials["status"].isin(["COMPLETE", "INFEASIBLE"])]
    return min(budget, int(taken["steps"].max()))


@pytest.mark.parametrize("goal", [None, "5.1"])
@pytest.mark.parametrize(
    ("figure", "batch_sizes", "budget"),
    [
        ("9a", (128, 256, 512, 1_024, 2_048, 4_096), None),
        ("9b", (512, 1_024, 2_048, 4_096, 8_192, 16_384), 25_000),
    ],
)
def test_figure_9(
    figure: str,
    batch_sizes: tuple[int, ...],
    budget: int | None,
    goal: str | None,
    studies: dict[str, rules.StudyFrames],
    connection: duckdb.DuckDBPyConnection,
) -> None:
    expected = [
        row
        for size in batch_sizes
        for row in scatter_rows(
            studies,
            f"Batch size {size:,}",
            f"{BASE}/{size}",
            ENTROPY,
            goal or "3.9",
            most_steps=budget or EPOCH / size,
        )
    ]
    found = rows(connection, figure, SCATTER, goal=None if goal is None else float(goal))
    assert found == expected


def test_a_budget_leaves_out_what_came_later(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    late = {
        row[2]
        for row in trial_rules.classed(studies[f"{BASE}/4096"], ENTROPY, "3.9")
        if row[2] is not None and row[2] > EPOCH / 4_096
    }
    assert late
    shown = rows(connection, "9a", "steps", goal=None)
    assert not late & {steps for (steps,) in shown}
    sizes = (128, 256, 512, 1_024, 2_048, 4_096)
    assert set(rows(connection, "9a", "batch_size, most_steps")) == {
        (size, within(studies.get(f"{BASE}/{size}"), EPOCH // size)) for size in sizes
    }


def test_figure_10(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    expected = [
        row
        for size in SIZES
        for row in scatter_rows(
            studies,
            f"Transformer {size.replace('_', ' ')}",
            f"lm1b/transformer_{size}/nesterov_momentum/1024",
            ENTROPY,
            "4.2",
            most_steps=50_000,
        )
    ]
    assert rows(connection, "10", SCATTER) == expected
    assert ("Transformer narrow and shallow", *LACKING) in expected


def test_the_first_trials_of_a_scatter_plot(connection: duckdb.DuckDBPyConnection) -> None:
    everything = rows(connection, "10", "panel_order, trial_id")
    first = rows(connection, "10", "panel_order, trial_id, trials, asked_trials", trials=3)
    for panel in (1, 2, 3):
        ids = sorted(trial_id for place, trial_id in everything if place == panel)
        taken = sorted(row[1:] for row in first if row[0] == panel)
        assert taken == [(trial_id, 3, 3) for trial_id in ids[:3]]


def test_the_borders_of_a_scatter_plot(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    found = set(rows(connection, "9b", "x_low, x_high, y_low, y_high, most_steps, batch_size"))
    borders = (1e-4, 10.0, 1 - 0.9999, 1 - 0.9)
    assert {row for row in found if row[0] is not None} == {
        (*borders, within(studies[f"{BASE}/{size}"], 25_000), size)
        for size in (512, 1_024, 4_096, 16_384)
    }


def test_scatter_of_any_workload(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    # The one with the most trials, and of those that search the momentum.
    expected = [
        row
        for size in (1, 128, 8_192)
        for row in scatter_rows(studies, f"Batch size {size:,}", f"{CNN}/{size}", VAL, "0.01")
    ]
    assert rows(connection, "scatter", SCATTER) == expected
    named = rows(connection, "scatter", SCATTER, workloads=(IMAGES, "mnist/fc_64_64_64/sgd"))
    small = "fc_64_64_64 on mnist with sgd, batch size 2"
    images = "resnet_50 on open_images_v4 with nesterov_momentum, batch size 256"
    assert named == [
        *scatter_rows(studies, small, "mnist/fc_64_64_64/sgd/2", VAL, "0.03"),
        *scatter_rows(studies, images, f"{IMAGES}/256", PRECISION, "0.31"),
    ]


GRID = "series, x, value, low, high, trial_id, best"


@pytest.mark.parametrize(
    ("figure", "workload", "metric", "goal", "panel_order", "name", "scale"),
    [
        ("search-space-transformer", BASE, ENTROPY, "3.9", 1, "learning_rate", "log"),
        ("search-space-transformer", BASE, ENTROPY, "3.9", 2, "momentum", "reverse_log"),
        ("search-space-resnet", RESNET, VAL, "0.25", 1, "learning_rate", "log"),
        ("search-space-resnet", RESNET, VAL, "0.25", 2, "momentum", "reverse_log"),
        ("search-space-resnet", RESNET, VAL, "0.25", 3, "learning_rate_decay_steps", "linear"),
        ("search-space-resnet", RESNET, VAL, "0.25", 4, "end_learning_rate_factor", "log"),
        ("search-space-resnet", RESNET, VAL, "0.25", 5, "label_smoothing", "linear"),
    ],
)
def test_search_spaces(
    figure: str,
    workload: str,
    metric: str,
    goal: str,
    panel_order: int,
    name: str,
    scale: str,
    studies: dict[str, rules.StudyFrames],
    connection: duckdb.DuckDBPyConnection,
) -> None:
    found = [
        row
        for row in rows(connection, figure, f"panel_order, metaparameter, scale, y, {GRID}")
        if row[0] == panel_order
    ]
    assert {row[1:3] for row in found} == {(name, scale)}
    of_workload = [study for study in studies.values() if study.workload == workload]
    expected = trial_rules.grid(of_workload, name, metric, goal)
    relative = name == "learning_rate_decay_steps"
    assert [row[4:7] + row[9:] for row in found] == [row[:3] + row[5:] for row in expected]
    for row, (_, _, value, low, high, *_) in zip(found, expected, strict=True):
        if relative:
            assert (row[3], row[7], row[8]) == (value / high, low / high, 1)
        elif scale == "reverse_log":
            assert (row[3], row[7], row[8]) == (1 - value, 1 - high, 1 - low)
        else:
            assert (row[3], row[7], row[8]) == (value, low, high)


def test_search_space_of_any_workload(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    found = rows(connection, "search-space", f"panel, scale, {GRID}", workloads=(RESNET,))
    panels = list(dict.fromkeys(row[0] for row in found))
    assert panels == [
        *("Learning rate", "Momentum", "End learning rate factor", "Label smoothing"),
        *("Learning rate decay steps", "Weight decay"),
    ]
    # Searched at one of the two batch sizes only.
    assert {row[3] for row in found if row[0] == "Weight decay"} == {64}
    of_workload = [study for study in studies.values() if study.workload == RESNET]
    rates = trial_rules.grid(of_workload, "learning_rate", VAL, "0.25")
    assert [row[2:] for row in found if row[0] == "Learning rate"] == rates
    default = rows(connection, "search-space", "DISTINCT workload, panel")
    assert sorted(default) == [
        (CNN, name) for name in ("Learning rate", "Momentum", "Weight decay")
    ]


READING = "trial_id, x, y, best, read_off"


@pytest.mark.parametrize("first", [None, 3])
def test_reading_steps_to_result(
    first: int | None,
    studies: dict[str, rules.StudyFrames],
    connection: duckdb.DuckDBPyConnection,
) -> None:
    study = studies[f"{CNN}/128"]
    expected = trial_rules.reading(study, VAL, "0.01", first=first or 100)
    found = rows(connection, "reading-steps-to-result", READING, trials=first)
    assert found == expected
    read = rules.steps_to_result(study, VAL, "0.01", first=first or 100)
    assert [(row[1], row[0]) for row in found if row[4]] == ([] if read is None else [read])
    assert len({row[0] for row in found}) == (first or 100)
    assert rows(connection, "reading", READING, trials=first, workloads=(CNN,)) == expected


def test_reading_of_a_value_to_get_above(
    studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    study = studies[f"{IMAGES}/256"]
    found = rows(connection, "reading", READING, workloads=(IMAGES,), goal=0.3)
    assert found == trial_rules.reading(study, PRECISION, "0.3", first=100)
    assert sum(row[4] for row in found) == 1


CURVES = "panel_order, panel, series, trial_id, x, y, read_off"


@pytest.mark.parametrize("goal", ["0.01", "0.0001"])
def test_learning_curves(
    goal: str, studies: dict[str, rules.StudyFrames], connection: duckdb.DuckDBPyConnection
) -> None:
    expected = []
    splits = (("train", "Training"), ("val", "Validation"), ("test", "Test"))
    for place, (split, name) in enumerate(splits):
        for axis in ("steps", "epochs"):
            for size in (1, 128, 8_192):
                study = studies[f"{CNN}/{size}"]
                trial_id, points = trial_rules.learning_curve(study, split, VAL, goal)
                expected += [
                    (
                        2 * place + (1 if axis == "steps" else 2),
                        f"{name} error against {axis}",
                        f"Batch size {size:,}",
                        trial_id,
                        step if axis == "steps" else step * size / 55_000,
                        value,
                        read,
                    )
                    for step, value, read in points
                ]
    request = {} if goal == "0.01" else {"goal": float(goal)}
    assert rows(connection, "learning-curves", CURVES, **request) == expected
    named = rows(connection, "curves", CURVES, workloads=(CNN,), **request)
    assert named == expected
    # The goal is drawn on the split that it is read on.
    goals = rows(connection, "learning-curves", "DISTINCT panel_order, goal", **request)
    assert {place for place, found in goals if found is not None} == {3, 4}
    assert any(row[6] for row in expected) == (goal == "0.01")


def test_curves_of_a_training_set_of_unknown_size_are_against_examples(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(connection, "curves", "x_label, x, step, batch_size", workloads=(HALF,))
    assert {row[0] for row in found} == {"Step", "Examples"}
    assert all(row[1] == row[2] * (1 if row[0] == "Step" else row[3]) for row in found)


@pytest.mark.parametrize(
    "figure",
    [
        *("9a", "9b", "10", "search-space-transformer", "search-space-resnet", "scatter"),
        *("search-space", "reading-steps-to-result", "reading", "learning-curves", "curves"),
    ],
)
def test_another_release_has_its_own_rows(
    figure: str, connection: duckdb.DuckDBPyConnection
) -> None:
    """A release without the workloads has one row a curve; the other's rows stay as they are."""
    columns = "panel, series, x, y, trial_id, release_order"
    alone = rows(connection, figure, columns)
    both = rows(connection, figure, f"{columns}, release", release="published,other")
    assert [row[:-1] for row in both if row[-1] == "published"] == alone
    lacking = [row for row in both if row[-1] == "other"]
    assert lacking
    assert {(row[2], row[4], row[5]) for row in lacking} == {(None, None, 2)}
    assert {row[0] for row in lacking} == {row[0] for row in alone}
    assert all(row[1] for row in lacking)


def test_schedules_start_at_one_and_end_at_their_factor(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(connection, "schedule-shapes", "series, x, y")
    curves: dict[str, dict[float, float]] = {}
    for series, x, y in found:
        curves.setdefault(series, {})[round(x, 9)] = y
    half = {
        "constant": 1.0,
        "linear": 1 - 0.99 / 2,
        "cosine": (1 + 0.01) / 2,
        "exponential polynomial": 0.01 + 0.99 / 8,
        "inverse exponential polynomial": 0.01 + 0.99 * 7 / 8,
        "exponential": 0.1,
    }
    assert list(curves) == list(half)
    for series, points in curves.items():
        assert points[0] == 1
        assert points[0.5] == pytest.approx(half[series])
        end = 1 if series == "constant" else 0.01
        assert points[1] == pytest.approx(end)
        assert points[1.2] == pytest.approx(end)
        values = [points[x] for x in sorted(points)]
        assert all(math.isfinite(value) for value in values)
        assert values == sorted(values, reverse=True)
