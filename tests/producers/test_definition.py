"""Workload definitions: when trials are evaluated, how long they train, what shards record."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.datasets.forms import TextForm
from producers.datasets.split import HeldOut
from producers.search import Sobol
from producers.sweep.tasks import held_index
from producers.workloads.definition import EvaluationRule, StepBudget
from producers.workloads.registry import WORKLOADS
from tests.support.sweeps import definition_of

DATA = Path(__file__).parents[2] / "data"
# Steps of training, batch size, and the steps that are evaluated by hand.
BY_HAND = [
    # A step more at least, and a factor of 2 ** (1 / 4) = 1.189 from 6 on: 7.14, 8.32, 9.51, 11.89.
    (
        EvaluationRule(validation_per_doubling=4, other_splits_every=4),
        *(13, 64, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13], {0, 4, 8, 13}),
    ),
    # The last step is evaluated on every split and once, also where the rule names it.
    (
        EvaluationRule(validation_per_doubling=4, other_splits_every=4),
        *(8, 64, list(range(9)), {0, 4, 8}),
    ),
    (EvaluationRule(validation_per_doubling=4, other_splits_every=4), 1, 64, [0, 1], {0, 1}),
    # ceil(1,000 / 300) = 4 steps at least; doubling takes over from 4: 8, 16, 32.
    (EvaluationRule(1, 2, 1_000), 40, 300, [0, 4, 8, 16, 32, 40], {0, 8, 32, 40}),
    # 1,000 steps at least: two evaluations before doubling takes over.
    (EvaluationRule(1, 2, 1_000), 4_500, 1, [0, 1_000, 2_000, 4_000, 4_500], {0, 2_000, 4_500}),
    (
        EvaluationRule(other_splits_every=2, every=100),
        350,
        64,
        [*range(0, 400, 100), 350],
        {0, 200, 350},
    ),
]


@pytest.mark.parametrize(("rule", "train_steps", "batch_size", "steps", "every_split"), BY_HAND)
def test_evaluations_by_hand(
    rule: EvaluationRule, train_steps: int, batch_size: int, steps: list[int], every_split: set[int]
) -> None:
    schedule = rule.schedule(train_steps, batch_size)
    assert list(schedule) == steps
    assert {step for step, every in schedule.items() if every} == every_split


@given(
    st.integers(1, 200_000),
    st.integers(1, 4_096),
    st.builds(
        EvaluationRule,
        st.integers(1, 16),
        st.integers(1, 16),
        st.integers(1, 50_000),
    ),
)
def test_evaluations_begin_at_0_and_end_at_the_last_step(
    train_steps: int, batch_size: int, rule: EvaluationRule
) -> None:
    schedule = rule.schedule(train_steps, batch_size)
    steps = list(schedule)
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, train_steps)
    assert schedule[0]
    assert schedule[train_steps]
    for before, after in itertools.pairwise(steps):
        # No gap is longer than the rule's factor or the examples that it waits for.
        geometric = before * 2 ** (1 / rule.validation_per_doubling) + 1
        assert after <= max(geometric, before + rule.examples_between / batch_size + 1)
    for before, after in itertools.pairwise(steps[:-1]):
        assert (after - before) * batch_size >= rule.examples_between
    # A longer run is evaluated at the same steps as a shorter one, but for the last.
    longer = rule.schedule(train_steps * 2, batch_size)
    assert steps[:-1] == list(longer)[: len(steps) - 1]


@pytest.mark.parametrize(
    ("batch_size", "steps"), [(1, 1_500), (3, 834), (7, 643), (1_000, 501), (55_000, 501)]
)
def test_budget_by_hand(batch_size: int, steps: int) -> None:
    assert StepBudget(fewest=500, examples=1_000).steps(batch_size) == steps


def test_definitions_are_those_of_the_shipped_shards() -> None:
    """Trials that were measured are told from others by them."""
    workloads = held_index(DATA / "replication").workloads
    assert len(workloads) >= 2
    for name, workload in workloads.items():
        assert workload.definition == definition_of(WORKLOADS[name]), name


def test_the_first_release_was_measured_on_other_examples() -> None:
    """Its rows cannot be taken for those of the workloads as they are now."""
    workloads = held_index(DATA / "measured").workloads
    on_mnist = {name: each for name, each in workloads.items() if name.startswith("mnist/")}
    assert on_mnist
    for name, workload in on_mnist.items():
        assert "held_out" not in (workload.definition or {})
        assert definition_of(WORKLOADS[name])["held_out"] == {"order": "first", "examples": 5_000}


def test_settings_are_recorded_where_they_are_set() -> None:
    workload = WORKLOADS["mnist/fc_64_64_64/sgd"]
    sparse = definition_of(
        replace(
            workload,
            sparsity=0.9,
            pruning="snip",
            goal_inclusive=True,
            evaluation=EvaluationRule(every=100),
            form=TextForm(vocabulary=300, length=16),
            held_out=HeldOut("first", 6_000),
            sobol=Sobol(scramble=False, skip=1),
        )
    )
    assert sparse == definition_of(workload) | {
        "sparsity": 0.9,
        "pruning": "snip",
        "goal_inclusive": True,
        "form": {"vocabulary": 300, "length": 16},
        "held_out": {"order": "first", "examples": 6_000},
        "sobol": {"scramble": False, "skip": 1},
        "evaluation": {
            "validation_per_doubling": 8,
            "other_splits_every": 8,
            "examples_between": 1,
            "training_subset": 5_000,
            "every": 100,
        },
    }
