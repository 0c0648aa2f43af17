"""Convolution inside a compiled loop: three ways to write it, as ratios in one run.

Run `python -m benchmarks.convolution` (two minutes on two cores). Images and labels are made up.
The ways take turns and the best turn of each counts, by the seconds that the processor spent on it:
so other programs disturb the ratios little.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

from producers.models import convolution, feed_forward
from producers.training.step import TrialState, trainer

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = 256
TURNS = 4
BATCH_SIZES = (8, 32, 128)


def main() -> None:
    """Prints the examples a second of every way, and how much quicker the project's own is."""
    for batch_size in BATCH_SIZES:
        rates = examples_a_second(batch_size)
        own = rates.pop("own")
        print(f"batch size {batch_size}: {own:,.0f} examples a second of one core")
        for name, rate in rates.items():
            print(f"  {own / rate:.1f} times the {rate:,.0f} of {name}")


def whole_windows(inputs: jax.Array, kernel: jax.Array, *_: Any, **options: Any) -> jax.Array:
    """One matrix product over every position's flattened window, differentiated by JAX."""
    del options
    return convolution.over_whole_windows(inputs, kernel)


WAYS: dict[str, Callable[..., jax.Array]] = {
    "own": convolution.conv_general_dilated,
    "one product over whole windows": whole_windows,
    "XLA's convolution": jax.lax.conv_general_dilated,
}


def examples_a_second(batch_size: int) -> dict[str, float]:
    """Trains simple_cnn_base in a compiled loop, in every way.

    Returns:
        Examples a second of processor time, by way.
    """
    programs = {}
    for name, way in WAYS.items():
        with mock.patch.object(feed_forward, "conv_general_dilated", way):
            programs[name] = _compiled(batch_size)
    seconds = dict.fromkeys(programs, float("inf"))
    for _ in range(TURNS):
        for name, train in programs.items():
            started = time.process_time()
            jax.block_until_ready(train())
            seconds[name] = min(seconds[name], time.process_time() - started)
    return {name: EXAMPLES / taken for name, taken in seconds.items()}


def _compiled(batch_size: int) -> Callable[[], Any]:
    """Training on all examples once, compiled."""
    functions = trainer("simple_cnn_base", "sgd", "constant")
    random = np.random.default_rng(0)
    shape = (EXAMPLES // batch_size, batch_size)
    images = jnp.asarray(random.integers(0, 256, (*shape, 28, 28), dtype=np.uint8))
    labels = jnp.asarray(random.integers(0, 10, shape, dtype=np.uint8))
    rates = {"learning_rate": jnp.float32(1e-3)}

    def train(
        state: TrialState, images: jax.Array, labels: jax.Array
    ) -> tuple[TrialState, jax.Array]:
        def step(
            state: TrialState, batch: tuple[jax.Array, jax.Array]
        ) -> tuple[TrialState, jax.Array]:
            return functions.step(state, rates, *batch)

        return jax.lax.scan(step, state, (images, labels))

    state = functions.start(jnp.uint32(0))
    compiled = jax.jit(train).lower(state, images, labels).compile()
    return lambda: compiled(state, images, labels)


if __name__ == "__main__":
    main()
