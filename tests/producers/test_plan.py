"""Plans: the studies of a sweep, their seeds, points and blocks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.sweeps import small_study

from dbtool.errors import UsageError
from producers.plan import StudyPlan, plan_studies
from producers.workloads.registry import WORKLOADS, find_workloads

FC = WORKLOADS["mnist/fc_64_64_64/sgd"]


def plan(**changes: Any) -> list[StudyPlan]:
    settings: dict[str, Any] = {
        "release": "tests",
        "batch_sizes": None,
        "steps": None,
        "budget_scale": 1.0,
        "root_seed": 0,
        "shared_batches": False,
        **changes,
    }
    return plan_studies(settings.pop("workloads", [FC]), **settings)


def test_studies_come_in_the_order_of_workloads_and_batch_sizes() -> None:
    studies = plan(workloads=find_workloads(["mnist/fc_1024/sgd", FC.name]), batch_sizes=[64, 1])
    assert [study.name for study in studies] == [
        "mnist/fc_1024/sgd at batch size 64",
        "mnist/fc_1024/sgd at batch size 1",
        "mnist/fc_64_64_64/sgd at batch size 64",
        "mnist/fc_64_64_64/sgd at batch size 1",
    ]
    assert studies[0].folder(Path("runs")) == Path("runs/mnist/fc_1024/sgd/64")


def test_batch_sizes_are_the_published_ones_unless_given() -> None:
    assert [study.batch_size for study in plan()] == list(FC.batch_sizes)
    assert [study.batch_size for study in plan(batch_sizes=[3, 5, 3])] == [3, 5]


@pytest.mark.parametrize("batch_size", [-1, 0, 55_001])
def test_batch_size_must_fit_the_training_set(batch_size: int) -> None:
    with pytest.raises(UsageError) as caught:
        plan(batch_sizes=[8, batch_size])
    sentence = str(caught.value)
    assert f"batch size {batch_size} does not fit mnist/fc_64_64_64/sgd" in sentence
    assert "55000 training examples" in sentence
    assert "32768, 55000 (choose with --batch-sizes)" in sentence


def test_subset_takes_batches_up_to_its_own_size() -> None:
    name = "mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"
    subset = WORKLOADS[name]
    assert len(plan(workloads=[subset], batch_sizes=[6_875])) == 1
    with pytest.raises(UsageError, match="6875 training examples"):
        plan(workloads=[subset], batch_sizes=[6_876])


def test_steps_are_given_or_the_budget_scaled() -> None:
    # 1,200 + ceil(250,000 / 64) = 5,107; half of it is 2,553.5, which Python rounds to even.
    assert plan(batch_sizes=[64])[0].train_steps == 5_107
    assert plan(batch_sizes=[64], budget_scale=2.0)[0].train_steps == 10_214
    assert plan(batch_sizes=[64], budget_scale=0.5)[0].train_steps == 2_554
    assert plan(batch_sizes=[64], budget_scale=0.0)[0].train_steps == 1
    assert plan(batch_sizes=[64], budget_scale=2.0, steps=7)[0].train_steps == 7


@pytest.mark.parametrize("scale", [float("nan"), float("inf")])
def test_budget_must_be_a_number(scale: float) -> None:
    with pytest.raises(UsageError, match="--budget"):
        plan(budget_scale=scale)


def test_studies_say_how_many_trials_they_have_and_shards_do_not() -> None:
    (given,) = plan(batch_sizes=[64], trials=112, feasible=90)
    assert (given.least_trials, given.feasible_trials) == (112, 90)
    (usual,) = plan(batch_sizes=[64])
    assert (usual.least_trials, usual.feasible_trials) == (100, 0)
    # Shards of both belong to the same study, so that trials can be added to it.
    assert given.description() == usual.description()


def test_seeds_are_pinned() -> None:
    # Worked with sha256sum. The trials of measured releases follow from them.
    (study,) = plan(batch_sizes=[64])
    # printf 'study\x1f0\x1fmnist/fc_64_64_64/sgd\x1f64' | sha256sum: first 4 bytes, halved.
    assert study.seed == 1_916_316_500
    assert study.trials([0, 5]).seeds == (959_466_801, 681_685_202)


def test_studies_and_trials_have_seeds_of_their_own() -> None:
    studies = [*plan(), *plan(root_seed=1), *plan(workloads=[WORKLOADS["mnist/fc_1024/sgd"]])]
    seeds = [study.seed for study in studies]
    assert len(set(seeds)) == len(seeds)
    trials = studies[0].trials(range(100))
    assert len(set(trials.seeds)) == 100
    assert trials.shared_seed is None


def test_shared_batches_follow_the_study_seed_and_leave_the_trials_seeds() -> None:
    own, shared = small_study(), small_study(shared_batches=True)
    assert shared.trials([0]).shared_seed == shared.seed
    assert shared.trials([0, 1]).seeds == own.trials([0, 1]).seeds


def test_trial_is_the_same_in_every_block() -> None:
    (study,) = plan(workloads=[WORKLOADS["mnist/simple_cnn_base/momentum"]], batch_sizes=[64])
    together = study.trials(range(40))
    for ids in ([7], [7, 8], [3, 7, 39], list(range(5, 20))):
        part = study.trials(ids)
        assert part.trial_ids == tuple(ids)
        assert part.metaparameters == tuple(together.metaparameters[index] for index in ids)
        assert part.seeds == tuple(together.seeds[index] for index in ids)


def test_points_lie_in_the_search_space() -> None:
    (study,) = plan(workloads=[WORKLOADS["mnist/simple_cnn_base/momentum"]], batch_sizes=[64])
    points = study.trials(range(64)).metaparameters
    assert all(1e-4 <= point["learning_rate"] <= 10 for point in points)
    assert all(0.9 <= point["momentum"] <= 0.9999 for point in points)
    # Of 64 = 2^6 points of a scrambled Sobol sequence, every half of a range holds 32.
    assert sum(point["learning_rate"] < 10**-1.5 for point in points) == 32
    # On the reverse scale the middle is where 1 - m is the geometric mean of 0.1 and 0.0001.
    assert sum(1 - point["momentum"] > (0.1 * 0.0001) ** 0.5 for point in points) == 32


def test_sparsity_study_searches_from_the_middle_by_hand() -> None:
    """0.5, 0.75, 0.25, 0.375 and 0.875 of the range: 10 to the power of -4 + 4 times that."""
    workload = WORKLOADS["sparsity_90/mnist/simple_cnn/sgd"]
    for study in plan(workloads=[workload], batch_sizes=[2, 512]):
        rates = [point["learning_rate"] for point in study.trials(range(5)).metaparameters]
        assert rates == pytest.approx([1e-2, 1e-1, 1e-3, 10**-2.5, 10**-0.5], rel=1e-12)


def test_blocks_hold_every_trial_once() -> None:
    study = small_study()
    assert study.blocks(range(5), 2) == [(0, 1), (2, 3), (4,)]
    assert study.blocks([1, 4, 9], 100) == [(1, 4, 9)]
    assert study.blocks([], 3) == []


def test_long_trials_come_in_smaller_blocks() -> None:
    study = replace(small_study(), train_steps=10_000_000)
    assert study.blocks(range(4), 100) == [(0, 1, 2), (3,)]
    endless = replace(small_study(), train_steps=40_000_000)
    assert endless.blocks(range(2), 100) == [(0,), (1,)]


def test_description_is_json_with_the_contract_keys() -> None:
    description = small_study().description()
    assert json.loads(json.dumps(description)) == description | {
        "workload": json.loads(json.dumps(description["workload"]))
    }
    assert set(description) == {
        "release",
        "workload",
        "batch_size",
        "train_steps",
        "early_stopping",
        "search_space",
        "seed",
    }
    assert description["search_space"] == {
        "learning_rate": {
            "type": "DOUBLE",
            "min_value": 1e-4,
            "max_value": 1.0,
            "scale": "LOG_SCALE",
        }
    }


def test_decay_steps_are_shares_of_the_trials_own_steps() -> None:
    name = "cifar_10/resnet_8/nesterov_momentum"
    (study,) = plan(workloads=[WORKLOADS[name]], batch_sizes=[64], steps=1_001)
    searched = study.description()["search_space"]["learning_rate_decay_steps"]
    # Half of 1,001 steps is 500.5, which Python rounds to even.
    assert searched == {
        "type": "INTEGER",
        "min_value": 500,
        "max_value": 1_001,
        "scale": "LINEAR_SCALE",
    }
    drawn = [point["learning_rate_decay_steps"] for point in study.trials(range(64)).metaparameters]
    assert all(500 <= steps <= 1_001 and steps == int(steps) for steps in drawn)
    assert min(drawn) < 520
    assert max(drawn) > 980
    # The workload's own definition is the same whatever the steps.
    assert study.workload.definition()["search_space"]["learning_rate_decay_steps"] == {
        "type": "INTEGER",
        "min_share": 0.5,
        "max_share": 1.0,
    }
    assert json.loads(json.dumps(study.description()))
    (shortest,) = plan(workloads=[WORKLOADS[name]], batch_sizes=[64], steps=1)
    assert shortest.trials([0]).metaparameters[0]["learning_rate_decay_steps"] == 1
