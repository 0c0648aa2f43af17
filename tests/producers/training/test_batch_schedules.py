"""Batches that grow within a trial: which examples they take, and what becomes of the weights."""

import json
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.training.batches import BatchStream, phases
from producers.training.measures import MEASURES
from tests.support.blocks import (
    GROWN,
    TRAINING_EXAMPLES,
    TRIALS,
    assert_close,
    assert_same,
    compiled,
    made_up_split,
    rows,
    splits_of,
    stopped_and_resumed,
    train,
    train_to_states,
)
from tests.support.slow import quick_few

# Of 12 steps, whose batches begin with 16 examples.
TAKEN = np.cumsum([0, *[16] * 2, *[32] * 5, *[64] * 5])


@given(
    examples=st.integers(1, 12),
    changes=st.dictionaries(st.integers(1, 20), st.integers(1, 5), max_size=4),
    steps=st.integers(1, 25),
)
def test_the_stream_of_examples_goes_on_over_changes(examples, changes, steps):
    taken: list[int] = []
    for phase in phases(3, tuple(sorted(changes.items())), steps):
        assert phase.begin[1] == len(taken)
        batches = BatchStream(3, examples, phase.batch_size, phase.begin)
        taken += batches.take(phase.begin[0], phase.end - phase.begin[0]).ravel().tolist()
    one_by_one = BatchStream(3, examples, 1).take(0, len(taken))
    assert taken == one_by_one.ravel().tolist()


def trained_by_hand(trial: int) -> tuple[list[float], list[np.ndarray]]:
    """The batch losses of a trial of `fc`, and its weights after the last step, by NumPy alone."""
    program = compiled("fc", 1, 1, 1, False, None)
    split = made_up_split(program.trainer.form, TRAINING_EXAMPLES, 1)
    images, labels = split.inputs.reshape(len(split), -1) / 255, split.targets
    start = program.start(np.array([100 + trial], np.uint32)).parameters
    weights = [np.asarray(leaf[0], np.float64) for leaf in jax.tree.leaves(start)]
    velocity = [np.zeros_like(weight) for weight in weights]
    order = BatchStream(100 + trial, TRAINING_EXAMPLES, 1).take(0, TAKEN[-1]).ravel()
    losses = []
    for first, end in pairwise(TAKEN):
        batch, rate = order[first:end], 0.01 * (1 + trial) * (end - first) / 16
        bias, kernel, last_bias, last_kernel = weights
        hidden = images[batch] @ kernel + bias
        active = np.maximum(hidden, 0)
        logits = active @ last_kernel + last_bias
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        right = np.arange(len(batch)), labels[batch]
        losses.append(float(-np.log(shares[right]).mean()))
        shares[right] -= 1
        shares /= len(batch)
        back = shares @ last_kernel.T * (hidden > 0)
        gradients = back.sum(0), images[batch].T @ back, shares.sum(0), active.T @ shares
        velocity = [0.9 * v + g for v, g in zip(velocity, gradients, strict=True)]
        weights = [w - rate * v for w, v in zip(weights, velocity, strict=True)]
    return losses, weights


def test_a_trial_is_that_of_a_loop_by_hand():
    record, states = train_to_states("fc", **GROWN)
    assert states.step.tolist() == [12] * TRIALS
    found = rows(record)["batch_cross_entropy_error"].reshape(TRIALS, -1)[:, 1:]
    for trial in range(TRIALS):
        losses, weights = trained_by_hand(trial)
        np.testing.assert_allclose(found[trial], losses, rtol=1e-4)
        leaves = jax.tree.leaves(states.parameters)
        for leaf, weight in zip(leaves, weights, strict=True):
            np.testing.assert_allclose(leaf[trial], weight, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
def test_a_schedule_that_changes_nothing_gives_the_same_bits():
    assert_same(train("fc", batch_schedule=((3, 1), (12, 8))), train("fc"))


@pytest.mark.slow
def test_measurements_take_the_rate_of_the_next_step():
    name = "gradient_lipschitz_constant"
    evaluations = {4: True, 6: False, 7: False}
    found = rows(train("fc", evaluations=evaluations, batch_schedule=((4, 3),), measures=(name,)))
    program, (_, states) = (
        compiled("fc", 1, 1, 1, False, None),
        train_to_states("fc", evaluations={4: True}),
    )
    rates = 3 * 0.01 * np.arange(1, TRIALS + 1, dtype=np.float32)
    settings = {"learning_rate": rates, "momentum": np.full(TRIALS, 0.9, np.float32)}
    examples = splits_of(program, streamed=False).measured
    assert examples is not None
    alive = np.ones(TRIALS, bool)
    expected = program.measure(states, settings, alive, examples, MEASURES[name], 4)[name]
    texts = found["other_metrics"][found["step"] == 4]
    np.testing.assert_allclose([json.loads(text)[name] for text in texts], expected, rtol=1e-6)


@pytest.mark.slow
def test_many_devices_share_batches_of_any_size():
    assert_close(train("fc", devices=8, devices_a_trial=4, **GROWN), train("fc", **GROWN))


# Within the second phase, and where the third begins.
KILLS = [(4, False), (7, False), (4, True), (7, True)]


@pytest.mark.parametrize(("killed_at", "streamed"), quick_few(KILLS, KILLS[:1]))
def test_a_killed_block_goes_on_bit_for_bit(killed_at, streamed, tmp_path):
    grown = partial(train, "fc", streamed=streamed, **GROWN)
    again = stopped_and_resumed(tmp_path, killed_at, grown)
    assert_same(again, train("fc", **GROWN))
    assert [again.steps(trial) for trial in range(TRIALS)] == [12] * TRIALS
