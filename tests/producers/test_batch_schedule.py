"""Workloads with a batch schedule, from the words of an option."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError, UsageError
from producers.workloads.batch_schedule import refuse_batch_schedule, scheduled
from producers.workloads.definition import EvaluationRule
from producers.workloads.registry import WORKLOADS
from producers.workloads.settings import settings
from tests.support.sweeps import definition_of, planned

WORKLOAD = WORKLOADS["mnist/fc_64_64_64/sgd"]
TEXT = "2@500,4@2000"
DECAYING = "cifar_10/resnet_8/nesterov_momentum"


def test_a_scheduled_workload_has_a_collection_and_is_otherwise_the_same() -> None:
    found = scheduled(WORKLOAD, TEXT)
    assert found.name == "batch_x2_at_500_x4_at_2000/mnist/fc_64_64_64/sgd"
    assert found.batch_schedule == ((500, 2), (2_000, 4))
    definition, before = definition_of(found), definition_of(WORKLOAD)
    # What was trained before there were schedules stays what it is.
    assert "batch_schedule" not in before
    assert definition.pop("batch_schedule") == [[500, 2], [2_000, 4]]
    assert definition.pop("certainty") == before.pop("certainty") | {"batch_schedule": "chosen"}
    names = ("workload", "collection")
    assert all(definition.pop(name) != before.pop(name, None) for name in names)
    assert definition == before
    (setting,) = (each for each in settings(found) if each.name == "batch_schedule")
    assert (setting.text, setting.certainty) == ("500 2, 2000 4", "chosen")
    below = scheduled(WORKLOADS["mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"], TEXT)
    assert below.collection == "batch_x2_at_500_x4_at_2000/mnist_subsets"


def test_its_trials_are_those_that_it_is_compared_with() -> None:
    options: dict[str, Any] = {"batch_sizes": [64, 128], "steps": 3_000}
    plain = planned(WORKLOAD, seed=3, **options)
    grown = planned(WORKLOAD, seed=3, batch_schedule=TEXT, **options)
    for one, other in zip(plain, grown, strict=True):
        assert one.trials(range(4)) == other.trials(range(4))
        assert (one.batch_size, one.train_steps) == (other.batch_size, other.train_steps)
        assert one.key != other.key


def test_evaluations_are_as_many_examples_apart_as_before() -> None:
    rule = EvaluationRule(64, examples_between=64)
    # 4 steps of 16, then 2 of 32, then 1 of 128.
    steps = [0, 4, 8, 10, 12, 14, 15, 16]
    assert list(rule.schedule(16, 16, ((8, 2), (13, 8)))) == steps
    assert list(rule.schedule(16, 16)) == [0, 4, 8, 12, 16]


@given(st.lists(st.tuples(st.integers(1, 10**9 - 1), st.integers(1, 2**9)), min_size=1, max_size=5))
def test_what_is_written_is_read_or_refused(changes: list[tuple[int, int]]) -> None:
    text = ",".join(f"{factor}@{step}" for step, factor in changes)
    if all(before < after for (before, _), (after, _) in pairwise(changes)):
        assert scheduled(WORKLOAD, text).batch_schedule == tuple(changes)
    else:
        with pytest.raises(UsageError, match="its steps should increase"):
            scheduled(WORKLOAD, text)


def test_what_cannot_be_scheduled_is_one_sentence() -> None:
    with pytest.raises(UsageError, match="decays its learning rate over its budget of steps, and"):
        scheduled(WORKLOADS[DECAYING], TEXT)
    with pytest.raises(UsageError, match="has a batch schedule of its own; train it without"):
        scheduled(scheduled(WORKLOAD, "2@5"), TEXT)
    with pytest.raises(DbtoolError, match="is too long"):
        scheduled(WORKLOAD, ",".join(f"2@{step}" for step in range(1, 40)))
    for wrong in ((500,), (500, 2.0), (0, 2), (500, 0), (True, 2), [500, 2], 500):
        schedule: Any = (wrong,)
        with pytest.raises(UsageError, match="and should hold steps with whole factors, both from"):
            refuse_batch_schedule(replace(WORKLOAD, batch_schedule=schedule))
