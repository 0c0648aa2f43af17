"""Workload definitions: when trials are evaluated, how long they train, what shards record."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.datasets.forms import TextForm
from producers.datasets.permutation import HeldOut
from producers.search import Sobol
from producers.sweep.tasks import held_index
from producers.workloads.definition import CERTAINTIES, EvaluationRule, StepBudget
from producers.workloads.registry import WORKLOADS
from tests.support.sweeps import definition_of

DATA = Path(__file__).parents[2] / "data"
# Four evaluations of the validation split a doubling, one in four of every split, by hand:
# a step more at least, and a factor of 2 ** (1 / 4) = 1.189 from 6 on: 7.14, 8.32, 9.51, 11.89.
FOUR_A_DOUBLING = {
    13: {
        0: True,
        **dict.fromkeys((1, 2, 3), False),
        4: True,
        **dict.fromkeys((5, 6, 7), False),
        8: True,
        10: False,
        12: False,
        13: True,
    },
    # The last step is evaluated on every split and once, also where the rule names it.
    8: {0: True, 1: False, 2: False, 3: False, 4: True, 5: False, 6: False, 7: False, 8: True},
    1: {0: True, 1: True},
}


@pytest.mark.parametrize("train_steps", FOUR_A_DOUBLING)
def test_evaluations_by_hand(train_steps: int) -> None:
    rule = EvaluationRule(validation_per_doubling=4, other_splits_every=4)
    assert rule.schedule(train_steps, batch_size=64) == FOUR_A_DOUBLING[train_steps]


def test_evaluations_wait_for_their_examples_by_hand() -> None:
    rule = EvaluationRule(validation_per_doubling=1, other_splits_every=2, examples_between=1_000)
    # ceil(1,000 / 300) = 4 steps at least; doubling takes over from 4: 8, 16, 32.
    steps = {0: True, 4: False, 8: True, 16: False, 32: True, 40: True}
    assert rule.schedule(40, batch_size=300) == steps
    # 1,000 steps at least: two evaluations before doubling takes over.
    assert rule.schedule(4_500, batch_size=1) == {
        0: True,
        1_000: False,
        2_000: True,
        4_000: False,
        4_500: True,
    }


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


def test_definition_holds_every_setting() -> None:
    workload = WORKLOADS["mnist/simple_cnn_base/momentum"]
    definition = definition_of(workload)
    assert definition["workload"] == "mnist/simple_cnn_base/momentum"
    assert definition["collection"] is None
    assert definition["sparsity"] == 0.0
    assert definition["budget"] == {"fewest": 500, "examples": 300_000}
    assert definition["evaluation"] == {
        "validation_per_doubling": 4,
        "other_splits_every": 4,
        "examples_between": 4_000,
        "training_subset": 5_000,
    }
    assert definition["batch_sizes"] == list(workload.batch_sizes)
    assert definition["search_space"]["momentum"] == {
        "type": "DOUBLE",
        "min_value": 0.9,
        "max_value": 0.9999,
        "scale": "REVERSE_LOG_SCALE",
    }
    assert set(definition["certainty"].values()) <= set(CERTAINTIES)


# Of the definitions in the shards of data/replication, worked with `sha256sum` from the shards' own
# metadata: their trials are told from others by them.
MEASURED = {
    "mnist/fc_128_128_128/sgd": "5c8a5598279cc08d43dd398ad683af636a6a627dc67af099eda75b4ccc6cf46e",
}


@pytest.mark.parametrize("name", MEASURED)
def test_definitions_of_measured_workloads_stay(name: str) -> None:
    text = json.dumps(WORKLOADS[name].definition(), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == MEASURED[name]


def test_definitions_are_those_of_the_shipped_shards() -> None:
    index = held_index(DATA / "replication")
    assert index.workloads.keys() >= set(MEASURED)
    for name, workload in index.workloads.items():
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


def test_evaluations_every_so_many_steps_by_hand() -> None:
    rule = EvaluationRule(other_splits_every=2, every=100)
    assert rule.schedule(350, batch_size=64) == {
        0: True,
        100: False,
        200: True,
        300: False,
        350: True,
    }
