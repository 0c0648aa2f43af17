"""Workload definitions: when trials are evaluated, how long they train, what shards record."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sweeps import definition_of

from producers.search import Range
from producers.workloads.definition import EvaluationRule, StepBudget
from producers.workloads.registry import WORKLOADS

# One evaluation of the validation split and, at each doubling, of all, by hand.
FOUR_A_DOUBLING = {
    # 2^(k/4): 1, 1.19, 1.41, 1.68, 2, 2.38, 2.83, 3.36, 4, 4.76, 5.66, 6.73, 8, 9.51
    10: {
        0: True,
        1: True,
        2: True,
        3: False,
        4: True,
        5: False,
        6: False,
        7: False,
        8: True,
        10: True,
    },
    # The last step is evaluated on every split and once, also where the rule names it.
    8: {0: True, 1: True, 2: True, 3: False, 4: True, 5: False, 6: False, 7: False, 8: True},
    5: {0: True, 1: True, 2: True, 3: False, 4: True, 5: True},
    2: {0: True, 1: True, 2: True},
    1: {0: True, 1: True},
}


@pytest.mark.parametrize("train_steps", FOUR_A_DOUBLING)
def test_evaluations_by_hand(train_steps: int) -> None:
    rule = EvaluationRule(validation_per_doubling=4, other_splits_every=4)
    assert rule.schedule(train_steps) == FOUR_A_DOUBLING[train_steps]


def test_evaluations_of_a_real_length() -> None:
    schedule = EvaluationRule().schedule(1_000)
    # 2^(72/8) = 512 and the seven after it: 558.3, 608.9, 664.0, 724.1, 789.6, 861.1, 939.0.
    late = [step for step in schedule if step >= 512]
    assert late == [512, 558, 609, 664, 724, 790, 861, 939, 1_000]
    every_split = [step for step, every in schedule.items() if every]
    assert every_split == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000]


@given(
    st.integers(1, 200_000),
    st.integers(1, 16),
    st.integers(1, 16),
)
def test_evaluations_begin_at_0_and_end_at_the_last_step(
    train_steps: int, per_doubling: int, every: int
) -> None:
    schedule = EvaluationRule(per_doubling, every).schedule(train_steps)
    steps = list(schedule)
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, train_steps)
    assert schedule[0]
    assert schedule[train_steps]
    # No gap is longer than the rule's factor, but for rounding to whole steps.
    for before, after in itertools.pairwise(steps[1:]):
        assert after <= before * 2 ** (1 / per_doubling) + 2


@pytest.mark.parametrize(
    ("batch_size", "steps"), [(1, 1_500), (3, 834), (7, 643), (1_000, 501), (55_000, 501)]
)
def test_budget_by_hand(batch_size: int, steps: int) -> None:
    assert StepBudget(fewest=500, examples=1_000).steps(batch_size) == steps


@given(st.integers(1, 55_000))
def test_budget_shares_out_its_examples(batch_size: int) -> None:
    budget = StepBudget(fewest=500, examples=120_000)
    shared = budget.steps(batch_size) - 500
    assert (shared - 1) * batch_size < 120_000 <= shared * batch_size
    assert budget.steps(batch_size) >= budget.steps(batch_size + 1)


def test_name_is_the_path_in_the_archive() -> None:
    workload = WORKLOADS["mnist/fc_64_64_64/sgd"]
    assert workload.name == "mnist/fc_64_64_64/sgd"
    assert replace(workload, collection="mine").name == "mine/mnist/fc_64_64_64/sgd"


def test_definition_holds_every_setting() -> None:
    workload = WORKLOADS["mnist/simple_cnn_base/momentum"]
    definition = definition_of(workload)
    assert definition["workload"] == "mnist/simple_cnn_base/momentum"
    assert definition["collection"] is None
    assert definition["sparsity"] == 0.0
    assert definition["budget"] == {"fewest": 500, "examples": 120_000}
    assert definition["evaluation"] == {
        "validation_per_doubling": 4,
        "other_splits_every": 4,
        "training_subset": 5_000,
    }
    assert definition["batch_sizes"] == list(workload.batch_sizes)
    assert definition["search_space"]["momentum"] == {
        "type": "DOUBLE",
        "min_value": 0.9,
        "max_value": 0.9999,
        "scale": "REVERSE_LOG_SCALE",
    }
    assert set(definition["certainty"].values()) <= {"stated", "recalled", "chosen"}


def test_another_setting_is_another_definition() -> None:
    workload = WORKLOADS["mnist/fc_64_64_64/sgd"]
    others = [
        replace(workload, goal=0.02),
        replace(workload, budget=StepBudget(1, 2)),
        replace(workload, evaluation=EvaluationRule(training_subset=10)),
        replace(workload, search_space=(("learning_rate", Range(1e-3, 1.0, "LOG_SCALE")),)),
    ]
    definitions = [str(definition_of(each)) for each in (workload, *others)]
    assert len(set(definitions)) == len(definitions)
    assert math.isclose(definition_of(workload)["goal"], 0.03)
