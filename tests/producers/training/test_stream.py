"""Batch order, and examples that are read when needed: the curves of a data set in memory."""

import time
import tracemalloc
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.cli.speed import hearing_of_waits
from producers.datasets.forms import GREY_28, Form
from producers.datasets.split import Split
from producers.training import stream
from producers.training.batches import BatchStream
from producers.training.run import evaluated
from producers.training.stream import StreamedDraw
from tests.support.blocks import (
    GROWN,
    TEXTS,
    CountedSource,
    assert_close,
    assert_same,
    compiled,
    made_up_split,
    rows,
    splits_of,
    train,
)
from tests.support.slow import quick_few

# Two of the four trials end at once, one later, so that the block shrinks while others are read.
DIVERGING = {0: 1e30, 1: 1e30, 2: 300.0}


READ: list[tuple[str, dict[str, Any]]] = [
    ("fc", {"diverging": DIVERGING}),
    ("fc", GROWN | {"shared": True, "lanes": 4}),
    ("normalised", GROWN | {"diverging": {0: 1e30, 1: 1e30}}),
]


@pytest.mark.parametrize(("problem", "options"), quick_few(READ, READ[:1]))
def test_curves_are_bit_for_bit_those_of_a_split_in_memory(problem, options):
    record = train(problem, streamed=True, **options)
    assert_same(record, train(problem, **options))
    if "diverging" in options:
        assert [record.status(trial) for trial in range(4)].count("INFEASIBLE") >= 2


def test_augmentation_follows_from_the_seed_alone():
    augmented = train("fc", streamed=True, augmentation=True)
    shared = train("fc", devices=8, devices_a_trial=4, streamed=True, augmentation=True)
    assert_close(shared, augmented)
    found, plain = rows(augmented), rows(train("fc"))
    losses, others = (each["batch_cross_entropy_error"] for each in (found, plain))
    assert (losses[1:13] != others[1:13]).all()
    # Evaluations see the images as they are: before the first step nothing differs.
    assert found["val_cross_entropy_error"][0] == plain["val_cross_entropy_error"][0]


# As few as the devices evaluate together, so that the larger splits are read in pieces. Texts of
# evaluations may be longer than those of training: of 6 tokens 8 texts are evaluated together, of
# 12 there are 4, of 60 still one.
EVALUATED: list[tuple[str, Form, int]] = [("fc", GREY_28, examples) for examples in (139, 7, 8)]
EVALUATED += [("pairs", replace(TEXTS, length=length), 7) for length in (12, 60)]


@pytest.mark.parametrize(("problem", "form", "examples"), quick_few(EVALUATED, EVALUATED[:1]))
def test_evaluation_counts_every_example_once(monkeypatch, problem, form, examples):
    monkeypatch.setattr(stream, "_BYTES_A_CALL", 1)
    program = compiled(problem, 1, 1, 1, False, None)
    split = made_up_split(form, examples, 3)
    states = program.start(np.arange(2, dtype=np.uint32))
    source = CountedSource(split)
    found = [
        evaluated(program, states, np.ones(2, bool), of) for of in (program.put(split), source)
    ]
    assert sorted(source.drawn) == list(range(examples))
    one = jax.tree.map(lambda a: a[1], states)
    found_logits = program.trainer.logits(one.parameters, one.statistics, jnp.asarray(split.inputs))
    logits = np.asarray(found_logits, np.float64)
    targets = split.targets.astype(np.int64)
    losses = np.log(np.exp(logits).sum(-1))
    losses -= np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    loss = (losses if problem == "fc" else losses[targets != 0]).mean()
    for metrics in found:
        np.testing.assert_allclose(metrics["cross_entropy_error"][1], loss, rtol=1e-5)
        if problem == "fc":
            wrong = (logits.argmax(1) != targets).mean()
            np.testing.assert_allclose(metrics["classification_error"][1], wrong, rtol=1e-12)


def test_an_error_of_reading_reaches_the_one_who_trains():
    class Damaged(CountedSource):
        def read(self, examples: np.ndarray, augmentation: np.random.Generator | None) -> Split:
            raise OSError(f"cannot read {len(examples)} examples, {augmentation}")

    program = compiled("fc", 1, 1, 1, False, None)
    training = Damaged(made_up_split(program.trainer.form, 20, 1))
    splits = replace(splits_of(program, streamed=False), training=training)
    with pytest.raises(OSError, match="cannot read"):
        train("fc", splits=splits)


sizes = st.integers(1, 12)


@given(examples=sizes, batch=sizes, steps=st.integers(1, 30), seed=st.integers(0, 2**31 - 1))
def test_every_epoch_is_a_permutation(examples, batch, steps, seed):
    stream = BatchStream(seed, examples, batch).take(0, steps)
    assert stream.shape == (steps, batch)
    assert stream.dtype == np.int32
    epochs = stream.ravel()[: stream.size // examples * examples].reshape(-1, examples)
    assert (np.sort(epochs, axis=1) == np.arange(examples)).all()


def test_the_order_is_pinned():
    """Recorded seeds are worth nothing once the order that follows from them changes."""
    assert BatchStream(11, 8, 4).take(0, 4).tolist() == [
        [4, 7, 2, 6],
        [5, 0, 1, 3],
        [4, 7, 5, 3],
        [1, 2, 0, 6],
    ]


@pytest.mark.slow
def test_waits_for_examples_are_told():
    class Slow(CountedSource):
        def read(self, examples: np.ndarray, augmentation: np.random.Generator | None) -> Split:
            time.sleep(0.1)
            return super().read(examples, augmentation)

    program = compiled("fc", 1, 1, 1, False, None)
    training = Slow(made_up_split(program.trainer.form, 20, 1))
    splits = replace(splits_of(program, streamed=False), training=training)
    waits: list[float] = []
    with hearing_of_waits(waits.append):
        train("fc", splits=splits)
    # The calls end at the evaluations after step 1, 4 and 12; four trials are read for each.
    assert len(waits) == 3
    assert waits[0] >= 0.4
    train("fc", streamed=True)
    assert len(waits) == 3


# Parts of one micro-batch, and of two of the four.
PARTS: list[tuple[str, int, dict[str, Any]]] = [
    ("fc", 1, {"diverging": DIVERGING, "shared": True, "lanes": 4}),
    ("fc", 40_000, {"lanes": 2}),
    ("fc", 1, GROWN | {"micro_batch": 8}),
    ("normalised", 1, {"micro_batch": 8}),
    ("pairs", 1, {"devices": 8, "devices_a_trial": 4}),
    ("transformer", 1, {}),
]


@pytest.mark.parametrize(("problem", "bytes_a_call", "options"), quick_few(PARTS, PARTS[:1]))
def test_steps_in_parts_are_those_of_whole_batches(monkeypatch, problem, bytes_a_call, options):
    options = {"micro_batch": 4, "streamed": True} | options
    whole = train(problem, **options)
    monkeypatch.setattr(stream, "_BYTES_OF_A_STEP", 0)
    monkeypatch.setattr(stream, "_BYTES_A_CALL", bytes_a_call)
    assert_close(train(problem, **options), whole)


def peak_of_step(batch_size: int, micro_batch: int) -> int:
    """The most bytes of NumPy's arrays while a trial takes steps of large batches."""
    program = compiled("fc", 1, 1, 1, False, micro_batch)
    source = CountedSource(made_up_split(program.trainer.form, batch_size, 1))
    draw = StreamedDraw(
        program, source, [0], batch_size=batch_size, augmentation=False, targets=[1, 2, 3]
    )
    rates = {name: np.full(1, 0.1, np.float32) for name in ("learning_rate", "momentum")}
    alive = np.ones(1, bool)
    states = program.start(np.zeros(1, np.uint32))
    tracemalloc.start()
    try:
        for step in range(3):
            batches = draw(np.zeros(1, int), alive, step, 1)
            states, losses = program.advance(states, rates, alive, batches, 1, None)
            assert np.isfinite(losses).all()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_host_holds_parts_of_a_large_batch(monkeypatch):
    batch_size, micro_batch = 8_192, 128
    a_step = batch_size * 28 * 28
    # Whole batches take several times their bytes, some calls ahead.
    monkeypatch.setattr(stream, "_BYTES_A_CALL", a_step // 64)
    assert peak_of_step(batch_size, micro_batch) > 3 * a_step
    monkeypatch.setattr(stream, "_BYTES_OF_A_STEP", a_step // 2)
    assert peak_of_step(batch_size, micro_batch) < a_step / 2
