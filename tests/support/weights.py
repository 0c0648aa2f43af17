"""Models with weights drawn by numpy: JAX takes seconds to compile its own initial weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

if TYPE_CHECKING:
    from collections.abc import Callable


def with_normal_weights(build: Callable[..., nnx.Module]) -> Any:
    """The model, every weight and statistic of it normal with a deviation of 0.3.

    Args:
        build: makes the model; takes `rngs`.
    """
    graph, abstract = nnx.split(nnx.eval_shape(lambda: build(rngs=nnx.Rngs(0))))
    generator = np.random.default_rng(0)
    weights = jax.tree.map(
        lambda array: jnp.asarray(generator.normal(0, 0.3, array.shape), array.dtype), abstract
    )
    return nnx.merge(graph, weights)
