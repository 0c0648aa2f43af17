"""Batches that grow within a trial: which examples they take, and what becomes of the weights."""

from functools import partial
from itertools import pairwise

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.training.batches import BatchStream, phases
from tests.support.blocks import (
    GROWN,
    TRAINING_EXAMPLES,
    TRIALS,
    assert_same,
    compiled,
    made_up_split,
    rows,
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


# Within the second phase, and where the third begins.
@pytest.mark.parametrize("killed_at", quick_few([4, 7], [4]))
def test_a_killed_block_that_reads_goes_on_bit_for_bit(killed_at, tmp_path):
    grown = partial(train, "fc", streamed=True, **GROWN)
    again = stopped_and_resumed(tmp_path, killed_at, grown)
    assert_same(again, train("fc", **GROWN))
    assert [again.steps(trial) for trial in range(TRIALS)] == [12] * TRIALS
