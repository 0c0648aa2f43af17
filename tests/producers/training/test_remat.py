"""Activations that are computed again: the same curves, in less memory."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from producers.datasets.forms import TextForm
from producers.models.language import Transformer
from tests.support.blocks import WITH_REMAT, assert_equivalent, train_to_states, trainer_of
from tests.support.slow import quick_few

SHARED = {"devices": 8, "devices_a_trial": 4, "micro_batch": 8}
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in WITH_REMAT]
CASES += [("transformer", SHARED), ("lstm", SHARED)]


@pytest.mark.parametrize(("problem", "options"), quick_few(CASES, [CASES[2]]))
def test_curves_and_states_are_those_without(problem, options):
    """Of positions that some chunks have no tokens at, and devices and parts that share batches."""
    found = train_to_states(WITH_REMAT[problem], **options)
    assert_equivalent(found, train_to_states(problem))


BATCH, FORM = 8, TextForm(vocabulary=4_000, length=32)
LOGITS = 4 * BATCH * FORM.length * FORM.vocabulary


def temporary_bytes(*, remat: bool) -> list[int]:
    """What a training step and an evaluation of a transformer need besides their arguments."""
    build = partial(Transformer, FORM.vocabulary, 1, 8, 16, 2, dtype=jnp.float32)
    functions = trainer_of(lambda rngs: build(rngs=rngs), FORM, remat=remat)
    state = jax.eval_shape(functions.start, jax.ShapeDtypeStruct((), jnp.uint32))
    texts = jax.ShapeDtypeStruct((BATCH, FORM.length), jnp.int32)
    rate = {"learning_rate": jax.ShapeDtypeStruct((), jnp.float32)}
    programs = [
        jax.jit(functions.step).lower(state, rate, texts, texts),
        jax.jit(functions.evaluation_totals).lower(
            state.parameters, state.statistics, (texts, texts)
        ),
    ]
    analyses: list[Any] = [program.compile().memory_analysis() for program in programs]
    return [analysis.temp_size_in_bytes for analysis in analyses]


@pytest.mark.slow
def test_logits_of_a_part_of_the_positions_exist_at_a_time():
    assert min(temporary_bytes(remat=False)) > LOGITS
    assert max(temporary_bytes(remat=True)) < LOGITS / 2
