"""The figures about trials against answers by hand: sparse networks, two releases, no data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dbtool.database import Database, open_database
from tests.support.figure_points import figure_rows as rows
from tests.support.made_up import write_shard

VAL = "val_classification_error"
CNN = "mnist/simple_cnn_base/nesterov_momentum"
MOMENTUM = "mnist/simple_cnn/momentum"
SGD = "mnist/simple_cnn/sgd"


def rows_of(*points: tuple[int, float | None]) -> list[dict[str, Any]]:
    return [{"step": step, VAL: value} for step, value in points]


def rates(learning_rate: float, momentum: float | None = None) -> dict[str, float]:
    searched = {"learning_rate": learning_rate}
    return searched if momentum is None else {**searched, "momentum": momentum}


def write_shards(folder: Path) -> None:
    """Sparse and dense networks, and a workload that two releases have."""
    quick = rows_of((0, 0.9), (10, 0.02), (20, 0.01))
    quick[2]["other_metrics"] = {"gradient_lipschitz_constant": 2020.0}
    slow = rows_of((0, 0.9), (10, 0.021), (39_999, 0.03), (40_001, 0.02))
    for row in slow:
        row["other_metrics"] = {"gradient_lipschitz_constant": 1000.0 + row["step"], "other": 1.0}
    networks = {
        "": (0.0, (64,)),
        # Where it is held, the dense network is the one that is trained by the study's protocol.
        "sparsity_0/": (0.0, (64, 200, 256)),
        "sparsity_50/": (0.5, (64, 200)),
        "sparsity_90/": (0.9, (200, 1_024)),
    }
    for collection, (sparsity, sizes) in networks.items():
        for size in sizes:
            for workload in (MOMENTUM, SGD):
                momentum = 0.75 if workload == MOMENTUM else None
                write_shard(
                    folder / "sparse", release="sparse", sparsity=sparsity, batch_size=size,
                    workload=f"{collection}{workload}", goal=0.5, train_examples=100,
                    trials=[
                        (1, "COMPLETE", rates(0.5, momentum), slow),
                        (2, "COMPLETE", rates(0.25, momentum), quick),
                        (3, "INFEASIBLE", rates(2.0, momentum), quick),
                        (4, "INCOMPLETE", rates(2.0, momentum), quick),
                    ],
                )  # fmt: skip
    for release, size, step in (("first", 128, 30), ("first", 512, 10), ("second", 512, 20)):
        reached = rows_of((0, 0.9), (step, 0.05), (40, 0.2))
        write_shard(
            folder / release, release=release, workload=CNN, batch_size=size, goal=0.1,
            train_examples=1_024,
            trials=[
                (5, "COMPLETE", rates(0.1, 0.5), reached),
                (6, "COMPLETE", rates(0.2, 0.5), reached),
                (7, "COMPLETE", rates(0.4, 0.5), rows_of((10, 0.1), (20, None), (40, 0.4))),
            ],
        )  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp("by_hand")
    write_shards(folder)
    with open_database(folder) as opened:
        yield opened


def test_a_sparse_network_meets_its_goal_when_it_equals_it(db):
    columns = "panel, series, x, y, steps, best, workload"
    found = rows(db, "sparsity-scatter", columns, release="sparse")
    # 200 is the batch size nearest to 256 of the one that all the sparsities share. Trial 1 meets
    # the goal past the budget of 40,000 steps, the infeasible one counts as such.
    points = [
        ("goal achieved", 0.25, 0.25, 10, True),
        ("goal not achieved", 0.5, 0.25, None, False),
        ("infeasible", 2.0, 0.25, None, False),
    ]
    lacking = [("goal achieved", None, None, None, False)]
    assert found == [
        (f"{name}, batch size 200", *point, f"{folder}{MOMENTUM}")
        for name, folder in (
            ("Dense", "sparsity_0/"),
            ("50 % sparse", "sparsity_50/"),
            ("70 % sparse", "sparsity_70/"),
            ("90 % sparse", "sparsity_90/"),
        )
        for point in (lacking if folder == "sparsity_70/" else points)
    ]
    assert set(rows(db, "sparsity-scatter", "metric, goal, goal_inclusive")) == {(VAL, 0.02, True)}


def test_lipschitz_constants_of_the_trial_that_reached_the_goal(db):
    columns = "series, x, y, trial_id, batch_size, goal, metric, panel_order"
    found = rows(db, "sparsity-lipschitz", columns, release="sparse")
    metric = "gradient_lipschitz_constant"
    # Trial 2's is only known at step 20.
    assert [row[:7] for row in found if row[7] == 1] == [
        ("dense", 20, 2020.0, 2, 200, 0.02, metric),
        ("50 % sparse", 20, 2020.0, 2, 200, 0.02, metric),
        ("70 % sparse", None, None, None, 200, 0.02, metric),
        ("90 % sparse", 20, 2020.0, 2, 200, 0.02, metric),
    ]
    assert all(row[1] is None for row in found if row[7] > 1)
    assert len(found) == 12
    # Nobody reached that goal: the trial with the best error stands for the study.
    missed = rows(db, "sparsity-lipschitz", columns, release="sparse", goal=0.001)
    assert [row[3] for row in missed if row[1] is not None] == [2, 2, 2]


def test_two_releases_are_read_at_the_batch_size_that_both_have(db):
    columns = "release, release_order, batch_size, trial_id, x, y, best, read_off"
    found = rows(db, "reading", columns, release="second,first", workloads=(CNN,))
    steps = {"second": 20, "first": 10}
    expected = [
        (release, place, 512, trial_id, step, value, trial_id == 5, trial_id == 5 and value == 0.05)
        for trial_id in (5, 6, 7)
        for place, release in ((1, "second"), (2, "first"))
        for step, value in (
            ((10, 0.1), (40, 0.4)) if trial_id == 7 else ((steps[release], 0.05), (40, 0.2))
        )
    ]
    assert found == expected
    (alone,) = set(rows(db, "reading", "batch_size", release="first", workloads=(CNN,)))
    # 128 and 512 are as far from 256.
    assert alone == (128,)


FIGURES = ("figure_09a", "figure_10", "search-space-resnet", "sparsity-scatter")
ANY_WORKLOADS = ("scatter", "search-space", "reading", "curves", "learning-curves")


@pytest.mark.parametrize("figure", [*FIGURES, *ANY_WORKLOADS, "schedule-shapes"])
def test_points_have_one_order(figure, db):
    """So that the same database gives the same bytes."""
    columns = "panel_order, series_order, release_order, coalesce(x, -1), coalesce(trial_id, -1)"
    found = rows(db, figure, columns, release="first,second,sparse")
    assert found == sorted(set(found))
