"""Batch order: whole permutations one after the other, however they are taken."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from producers.training.batches import BatchStream

sizes = st.integers(1, 12)


@given(examples=sizes, batch=sizes, steps=st.integers(1, 30), seed=st.integers(0, 2**31 - 1))
def test_every_epoch_is_a_permutation(examples: int, batch: int, steps: int, seed: int) -> None:
    stream = BatchStream(seed, examples, batch).take(0, steps)
    assert stream.shape == (steps, batch)
    assert stream.dtype == np.int32
    epochs = stream.ravel()[: stream.size // examples * examples].reshape(-1, examples)
    assert (np.sort(epochs, axis=1) == np.arange(examples)).all()


@given(examples=sizes, batch=sizes, cuts=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_it_does_not_matter_how_many_steps_are_taken_at_a_time(
    examples: int, batch: int, cuts: list[int]
) -> None:
    whole = BatchStream(3, examples, batch).take(0, sum(cuts))
    stream, step, pieces = BatchStream(3, examples, batch), 0, []
    for count in cuts:
        pieces.append(stream.take(step, count))
        step += count
    assert (np.concatenate(pieces) == whole).all()


def test_the_order_is_pinned() -> None:
    """Recorded seeds are worth nothing once the order that follows from them changes."""
    assert BatchStream(11, 8, 4).take(0, 4).tolist() == PINNED


PINNED = [[4, 7, 2, 6], [5, 0, 1, 3], [4, 7, 5, 3], [1, 2, 0, 6]]
