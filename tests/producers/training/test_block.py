"""Blocks of trials: the same curves however trials are grouped, and diverging ones end early."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.block_record import BlockRecord
from producers.training.step import TrialState, trainer
from producers.workloads.registry import WORKLOADS
from tests.support.abstract import abstract_advance
from tests.support.blocks import (
    EVALUATIONS,
    OTHER_EXAMPLES,
    PROBLEMS,
    TRAINING_EXAMPLES,
    Rows,
    assert_close,
    assert_same,
    compiled,
    made_up_split,
    program_of,
    rows,
    train,
)
from tests.support.slow import quick_few

STEPS = max(EVALUATIONS)
TRIALS = 6


@functools.cache
def trained(lanes: int) -> BlockRecord:
    return block(lanes=lanes)


def block(**options: Any) -> BlockRecord:
    return train("fc", devices=2, **({"trials": TRIALS} | options))


def of_trial(columns: Rows, trial_id: int) -> Rows:
    return {name: values[columns["trial_id"] == trial_id] for name, values in columns.items()}


@pytest.mark.parametrize("lanes", quick_few([2, 100], {100}))
def test_curves_do_not_depend_on_the_grouping(lanes):
    assert_close(trained(lanes), trained(1))


@pytest.mark.parametrize("problem", quick_few(["fc", "normalised", "transformer"], ["fc"]))
def test_a_trial_of_a_block_is_bit_for_bit_the_trial_alone(problem):
    beside, alone = (rows(train(problem, devices=2, trials=trials)) for trials in (TRIALS, 1))
    assert_same(of_trial(beside, 0), alone)


def test_a_diverging_trial_ends_with_the_row_that_shows_it():
    diverging = {1: 1e30, 2: 1e25, 3: 1e30, 4: 1e30}
    record = block(lanes=100, diverging=diverging)
    columns, undisturbed = rows(record), rows(trained(100))
    for trial_id in range(TRIALS):
        found = of_trial(columns, trial_id)
        losses = found["batch_cross_entropy_error"][1:]
        last = len(losses)
        assert found["step"].tolist() == list(range(last + 1))
        assert record.steps(trial_id) == last
        if trial_id in diverging:
            assert record.status(trial_id) == "INFEASIBLE"
            assert last < STEPS
            # Ended by its batch or by its evaluation.
            assert not np.isfinite([losses[-1], found["val_cross_entropy_error"][-1]]).all()
            assert np.isfinite(losses[:-1]).all()
        else:
            assert (record.status(trial_id), last) == ("COMPLETE", STEPS)
            assert_close(found, of_trial(undisturbed, trial_id))


def test_splits_are_measured_at_their_evaluations_alone():
    columns = of_trial(rows(trained(1)), 0)
    every_split = [step for step, every in EVALUATIONS.items() if every]
    for name, steps in {"val": [*EVALUATIONS], "train": every_split, "test": every_split}.items():
        for metric in ("cross_entropy_error", "classification_error"):
            values = columns[f"{name}_{metric}"]
            assert np.flatnonzero(~np.isnan(values)).tolist() == steps
    assert np.isnan(columns["batch_cross_entropy_error"]).nonzero()[0].tolist() == [0]
    errors = columns["val_classification_error"][[*EVALUATIONS]] * OTHER_EXAMPLES
    np.testing.assert_allclose(errors, errors.round(), atol=1e-9)


def test_shared_batches_are_those_of_all_trials_whoever_diverges():
    shared, disturbed = (
        rows(block(lanes=100, shared=True, diverging=diverging)) for diverging in (None, {0: 1e30})
    )
    own = rows(trained(100))
    first, second = (each["batch_cross_entropy_error"][1:] for each in (own, shared))
    assert not np.array_equal(first, second, equal_nan=True)
    assert_close(of_trial(disturbed, 1), of_trial(shared, 1))


def test_evaluations_take_the_weights_that_the_optimizer_names():
    functions = trainer("fc_16", "schedule_free_adamw", "constant")
    split = made_up_split(functions.form, OTHER_EXAMPLES, 2)
    program = program_of(functions, shared_batches=True)
    states = program.start(np.array([3, 4], np.uint32))
    # Half of the way to twice the weights, so that the averages are zero, and all classes alike.
    twice = jax.tree.map(lambda weights: 2 * weights, states.parameters)
    optimizer = states.optimizer._replace(z=twice, b1=jnp.full(2, 0.5))
    found = program.evaluate(
        states._replace(optimizer=optimizer), np.array([True, True]), program.put(split)
    )
    np.testing.assert_allclose(found["loss"], OTHER_EXAMPLES * np.log(10), rtol=1e-6)


@pytest.mark.parametrize("name", quick_few(PROBLEMS, {"normalised"}))
def test_a_trial_alone_is_bit_for_bit_a_loop_over_its_steps(name):
    problem, steps = PROBLEMS[name], 3
    functions = problem.trainer
    split = made_up_split(functions.form, TRAINING_EXAMPLES, 1)
    numbers = np.random.default_rng(2).integers(
        0, TRAINING_EXAMPLES, (1, steps, 1, problem.batch_size), np.int32
    )
    metaparameters = {"learning_rate": problem.learning_rate, "momentum": 0.9}
    of_trial = {key: np.full(1, value, np.float32) for key, value in metaparameters.items()}
    program = compiled(name, 1, 1, 1, False, None)
    states, losses = program.advance(
        program.start(np.array([5], np.uint32)),
        of_trial,
        np.array([True]),
        numbers,
        steps,
        program.put(split),
    )

    # Written out with the trial axis, which each step removes and restores.
    @jax.jit
    def step(states: TrialState, inputs: jax.Array, targets: jax.Array) -> tuple[Any, jax.Array]:
        state = jax.tree.map(lambda array: array[0], states)
        of_this = {key: jnp.float32(value) for key, value in metaparameters.items()}
        state, loss = functions.step(state, of_this, inputs, targets)
        return jax.tree.map(lambda array: array[None], state), loss

    expected, found = jax.jit(jax.vmap(functions.start))(jnp.array([5], jnp.uint32)), []
    for batch in numbers[0, :, 0]:
        expected, loss = step(expected, split.inputs[batch], split.targets[batch])
        found.append(loss)
    np.testing.assert_array_equal(losses[0], found)
    jax.tree.map(np.testing.assert_array_equal, states, expected)


def test_a_trial_alone_is_carried_from_step_to_step_without_a_trial_axis():
    # With it XLA would copy every weight at every step.
    program = program_of(trainer("fc_64_64_64", "sgd", "constant"))
    arguments = abstract_advance(program, WORKLOADS["mnist/fc_64_64_64/sgd"], 4, 1)
    lowered = program.compiled_advance.lower(*arguments).as_text()
    heads = [line for line in lowered.splitlines() if "stablehlo.while" in line]
    (loop,) = [head for head in heads if "tensor<784x64xf32>" in head]
    assert "tensor<1x784x64xf32>" not in loop
