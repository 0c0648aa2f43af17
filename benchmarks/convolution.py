"""Convolution inside a compiled loop: XLA's own against matrix products, as a ratio in one run.

Run `python -m benchmarks.convolution` (a minute on two cores). Images and labels are made up.
"""

from __future__ import annotations

import time
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from producers.models import simple_cnn
from producers.training.step import TrialState, trainer

STEPS = 4
BATCH_SIZES = (8, 64)


def main() -> None:
    """Prints the examples a second of both, and their ratio."""
    for batch_size in BATCH_SIZES:
        matrix = examples_a_second(batch_size)
        with mock.patch.object(simple_cnn, "conv_general_dilated", jax.lax.conv_general_dilated):
            native = examples_a_second(batch_size)
        print(
            f"batch size {batch_size}: matrix products {matrix:,.0f} examples/s, "
            f"XLA's convolution {native:,.0f} examples/s, ratio {matrix / native:.1f}"
        )


def examples_a_second(batch_size: int) -> float:
    """Trains simple_cnn_base for a few steps in a compiled loop; the second run counts."""
    functions = trainer("simple_cnn_base", "sgd", "constant")
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (STEPS, batch_size, 28, 28), dtype=np.uint8)
    labels = random.integers(0, 10, (STEPS, batch_size), dtype=np.uint8)
    rates = {"learning_rate": jnp.float32(1e-3)}

    @jax.jit
    def train(state: TrialState) -> tuple[TrialState, jax.Array]:
        def step(
            state: TrialState, batch: tuple[jax.Array, jax.Array]
        ) -> tuple[TrialState, jax.Array]:
            return functions.step(state, rates, *batch)

        return jax.lax.scan(step, state, (jnp.asarray(images), jnp.asarray(labels)))

    state = functions.start(jnp.uint32(0))
    jax.block_until_ready(train(state))
    started = time.perf_counter()
    jax.block_until_ready(train(state))
    return STEPS * batch_size / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
