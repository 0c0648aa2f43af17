"""Workloads and sweeps with a batch schedule, from the words of an option to what shards hold."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dbtool
from dbtool.core.errors import DbtoolError, UsageError
from producers.plan import StudyPlan
from producers.training.checkpoints import Interrupted
from producers.workloads.batch_schedule import refuse_batch_schedule, scheduled
from producers.workloads.definition import EvaluationRule
from producers.workloads.registry import WORKLOADS
from producers.workloads.settings import settings
from tests.support.sweeps import (
    BATCH_SIZE,
    STEPS,
    assert_same_rows,
    definition_of,
    planned,
    small_study,
    sweep,
)

WORKLOAD = WORKLOADS["mnist/fc_64_64_64/sgd"]
TEXT = "2@500,4@2000"


def test_a_scheduled_workload_has_a_collection_and_says_its_schedule():
    found = scheduled(WORKLOAD, TEXT)
    assert found.name == "batch_x2_at_500_x4_at_2000/mnist/fc_64_64_64/sgd"
    assert found.batch_schedule == ((500, 2), (2_000, 4))
    assert definition_of(found)["batch_schedule"] == [[500, 2], [2_000, 4]]
    (setting,) = (each for each in settings(found) if each.name == "batch_schedule")
    assert (setting.text, setting.certainty) == ("500 2, 2000 4", "chosen")
    below = scheduled(WORKLOADS["mnist_subsets/mnist_6875/simple_cnn_base/nesterov_momentum"], TEXT)
    assert below.collection == "batch_x2_at_500_x4_at_2000/mnist_subsets"


def test_evaluations_are_as_many_examples_apart_as_before():
    rule = EvaluationRule(64, examples_between=64)
    # 4 steps of 16, then 2 of 32, then 1 of 128.
    steps = [0, 4, 8, 10, 12, 14, 15, 16]
    assert list(rule.schedule(16, 16, ((8, 2), (13, 8)))) == steps
    assert list(rule.schedule(16, 16)) == [0, 4, 8, 12, 16]
    # The second is due when 2 steps of 16 and 1 of 32 have passed since the first.
    steps = [0, 4, 7, 9, 11, 13, 14, 15, 16]
    assert list(rule.schedule(16, 16, ((6, 2), (13, 8)))) == steps


@given(st.lists(st.tuples(st.integers(1, 10**9 - 1), st.integers(1, 2**9)), min_size=1, max_size=5))
def test_what_is_written_is_read_or_refused(changes):
    text = ",".join(f"{factor}@{step}" for step, factor in changes)
    growing = pairwise([(0, 1), *changes])
    if all(old[0] < new[0] and old[1] < new[1] for old, new in growing):
        assert scheduled(WORKLOAD, text).batch_schedule == tuple(changes)
    else:
        with pytest.raises(UsageError, match=r"its (steps|factors) should increase"):
            scheduled(WORKLOAD, text)


def test_what_cannot_be_scheduled_is_one_sentence():
    with pytest.raises(UsageError, match="has a batch schedule of its own; train it without"):
        scheduled(scheduled(WORKLOAD, "2@5"), TEXT)
    with pytest.raises(DbtoolError, match="is too long"):
        scheduled(WORKLOAD, ",".join(f"{step + 1}@{step}" for step in range(1, 40)))
    for wrong in ((500,), (500, 2.0), (0, 2), [500, 2]):
        schedule: Any = (wrong,)
        with pytest.raises(UsageError, match="and should hold steps with whole factors, both from"):
            refuse_batch_schedule(replace(WORKLOAD, batch_schedule=schedule))


def grown_study() -> StudyPlan:
    """Of 30 steps with 8, 16 and 32 examples."""
    (study,) = planned(
        small_study().workload, batch_sizes=[BATCH_SIZE], steps=STEPS, batch_schedule="2@12,4@20"
    )
    return study


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory, made_up_mnist: Path) -> Path:
    """Two trials with a constant batch size, and the same ones with batches that grow."""
    folder = tmp_path_factory.mktemp("releases")
    for name, study in (("constant", small_study()), ("grown", grown_study())):
        sweep(replace(study, release=name), folder / name, made_up_mnist, trials=2)
    return folder


def test_examples_are_those_counted_by_hand(releases):
    with dbtool.open(releases) as db:
        rows = db.sql(
            "SELECT release, step, examples_after(step, batch_size, definition) AS examples "
            "FROM measurements JOIN workloads USING (release, workload) WHERE trial_id = 0"
        ).rows()
        ((goal,),) = db.sql(
            "SELECT min(train_cross_entropy_error) + 1e-9 FROM measurements WHERE release = 'grown'"
        )
        asked = {"goal": goal, "metric": "train_cross_entropy_error", "release": "grown"}
        (steps,) = db.steps("*", **asked).to_dicts()
        (reached,) = db.steps("*", by="examples", **asked).to_dicts()
    sizes = {"constant": [8] * 30, "grown": [8] * 12 + [16] * 8 + [32] * 10}
    for release, step, examples in rows:
        assert examples == sum(sizes[release][:step])
    # Otherwise a constant batch size would give the same.
    assert steps["steps"] > 20
    assert reached["examples"] == sum(sizes["grown"][: steps["steps"]])
    assert ("examples" in steps, "steps" in reached) == (False, False)


def test_trials_are_the_same_until_batches_grow(releases):
    with dbtool.open(releases) as db:
        rows = db.sql(
            "SELECT step, count(DISTINCT batch_cross_entropy_error) AS values FROM measurements "
            "WHERE trial_id = 0 AND step > 0 GROUP BY step ORDER BY step"
        ).rows()
        (rates,) = db.sql("SELECT count(DISTINCT (trial_id, seed, learning_rate)) FROM trials")
    # The batch of step 13 is the first larger one.
    assert rows == [(step, 1 + (step > 12)) for step in range(1, 31)]
    assert rates == (2,)


def test_an_interrupted_sweep_goes_on_bit_for_bit(releases, made_up_mnist, tmp_path):
    study = replace(grown_study(), release="grown")
    with pytest.raises(Interrupted) as stopped:
        sweep(study, tmp_path, made_up_mnist, trials=2, calls=7)
    # Where the third size begins.
    assert stopped.value.step == 20
    assert sweep(study, tmp_path, made_up_mnist, trials=2) == [(0, 1)]
    assert_same_rows(tmp_path, releases / "grown")
