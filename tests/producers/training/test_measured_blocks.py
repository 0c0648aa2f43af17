"""Blocks whose trials are measured between their evaluations: when, of what, and nothing else."""

import json
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dbtool.core.contract import OTHER_METRICS
from producers.training.block_record import Clock
from producers.training.checkpoints import Checkpoints
from producers.training.stopping import FirstToGoal, Goal
from tests.support.blocks import (
    NEVER,
    TRIALS,
    Rows,
    StoppingCheckpoints,
    assert_same,
    rows,
    stopped_and_resumed,
    train,
)

NOISE = "gradient_noise_scale"
MOMENTS = {"gradient_squared_norm", "gradient_covariance_trace"}
EVALUATIONS = {0: True, 100: False, 300: False, 400: True}
# 3,000 examples are 188 steps of 16.
MEASURED = [0, 188, 376, 400]
# Ends early, between two evaluations.
DIVERGING = {3: 1e30}
METRIC = "val_cross_entropy_error"


def trained(*measures: str, **options: Any) -> Rows:
    settings: dict[str, Any] = {"evaluations": EVALUATIONS, "diverging": DIVERGING} | options
    return rows(train("fc", measures=measures, **settings))


def without_measures(found: Rows) -> Rows:
    return {name: values for name, values in found.items() if name != OTHER_METRICS}


def measured(found: Rows, trial: int) -> dict[int, dict[str, float]]:
    """By step, what was measured of a trial."""
    of_trial = found["trial_id"] == trial
    texts = zip(found["step"][of_trial], found[OTHER_METRICS][of_trial], strict=True)
    return {int(step): json.loads(text) for step, text in texts if text is not None}


@pytest.fixture(scope="module")
def noise() -> Rows:
    return trained(NOISE)


@pytest.fixture(scope="module")
def plain() -> Rows:
    return trained()


def test_it_is_measured_at_its_own_steps_and_changes_nothing_else(noise, plain):
    for trial in range(TRIALS):
        found = measured(noise, trial)
        assert list(found) == (MEASURED if trial not in DIVERGING else [0])
        assert all(set(metrics) == MOMENTS for metrics in found.values())
    assert_same(without_measures(noise), plain)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"devices": 2}, {"shared": True}, {"streamed": True}])
def test_measuring_other_blocks_changes_nothing_else(options):
    assert_same(without_measures(trained(NOISE, **options)), trained(**options))


def test_a_search_in_lockstep_stops_where_it_would_without(plain):
    def stopped(*measures: str) -> Rows:
        goal = Goal(METRIC, 0.5 * trained_to_300)
        return trained(*measures, rule=FirstToGoal(goal, TRIALS, everyone=EVALUATIONS))

    trained_to_300 = 2.001 * np.nanmin(plain[METRIC][plain["step"] <= 300])
    found = stopped(NOISE)
    assert found["step"].max() == 300
    assert_same(without_measures(found), stopped())
    assert list(measured(found, 0)) == [0, 188]


def test_a_killed_block_goes_on_with_the_measurement_that_was_due(noise, tmp_path):
    again = stopped_and_resumed(tmp_path, 188, partial(trained, NOISE))
    assert_same(without_measures(again), without_measures(noise))
    assert again[OTHER_METRICS].tolist() == noise[OTHER_METRICS].tolist()


def test_seconds_pass_in_training_alone_and_go_on_after_a_kill(plain, tmp_path):
    began = time.monotonic()
    with pytest.raises(InterruptedError):
        trained("seconds", checkpoints=StoppingCheckpoints(tmp_path, "made up", 300))
    until_kill = time.monotonic() - began
    time.sleep(1)  # nothing trains meanwhile
    went_on = time.monotonic()
    again = trained("seconds", checkpoints=Checkpoints(tmp_path, "made up", NEVER))
    trained_for = until_kill + time.monotonic() - went_on
    assert_same(without_measures(again), plain)
    seconds = {step: found["seconds"] for step, found in measured(again, 0).items()}
    assert list(seconds) == list(EVALUATIONS)
    assert 0 < seconds[0] < seconds[100] < seconds[300] < seconds[400] < trained_for
    # Trials of a block train together; one that diverges has no evaluation after that.
    assert measured(again, 1) == {step: {"seconds": at} for step, at in seconds.items()}
    assert list(measured(again, *DIVERGING)) == [0]


def test_seconds_are_without_what_is_compiled():
    began = time.monotonic()
    time_of_clock = Clock()
    jax.jit(lambda x: [jnp.linalg.svd(x + n)[1] for n in range(40)])(jnp.ones((9, 9)))
    assert time_of_clock.seconds < 0.5 * (time.monotonic() - began)
