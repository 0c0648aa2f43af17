"""Pruning at initialisation by connection sensitivity: SNIP (Lee et al., 2019).

The sensitivity of a weight is |w * dL/dw|, with L the mean loss (section 4.1 of the paper; its
division by the sum over all weights does not change the order). The weights with the highest are
kept, ranked over all layers together. In the sparsity study (Lee et al., 2021) L is over the whole
training set, and the masks stay fixed (stated).

Prunable are weight matrices: the kernels of dense and convolutional layers, and embeddings.
Biases and normalisation are then never pruned, and are not counted in the sparsity (chosen). The
authors' program of the sparsity study counts and ranks biases, too (stated): they start at zero, so
that their sensitivity is zero and they are pruned before any weight.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp

from producers.training.optimizers import weight_matrices


def connection_sensitivity(parameters: Any, gradients: Any) -> Any:
    """|w * dL/dw| of every parameter; of gradients of any positive multiple of the mean loss."""
    return jax.tree.map(lambda weight, gradient: jnp.abs(weight * gradient), parameters, gradients)


def prunable_weights(parameters: Any, *, biases: bool = False) -> int:
    """Count the prunable weights, with or without biases, of arrays or their shapes."""
    arrays = jax.tree.leaves(parameters)
    prunable = _prunable(parameters, biases=biases)
    return sum(array.size for array, counts in zip(arrays, prunable, strict=True) if counts)


def kept_weights(parameters: Any, sparsity: float, *, biases: bool = False) -> int:
    """Return the number of weights kept: (1 - sparsity) of the prunable ones, rounded."""
    return round((1 - sparsity) * prunable_weights(parameters, biases=biases))


def masks(parameters: Any, sensitivity: Any, sparsity: float, *, biases: bool = False) -> Any:
    """Keep exactly the `kept_weights` of the highest sensitivity, over all layers together.

    Of weights with the same sensitivity those are kept that come first in the order of the pytree
    and of the arrays. NaN counts as the highest sensitivity.

    Args:
        parameters: a pytree of arrays, or of their shapes.
        sensitivity: in the form of the parameters, float32, not negative.
        sparsity: share of the prunable weights that is removed, from 0 to 1.
        biases: whether biases, and whatever else is not a weight matrix, are prunable.

    Returns:
        The masks of a `TrialState`: bool arrays, False where a weight is pruned.
    """
    prunable = _prunable(parameters, biases=biases)
    arrays, form = jax.tree.flatten(sensitivity)
    ranked = [array for array, counts in zip(arrays, prunable, strict=True) if counts]
    kept = iter(_highest(ranked, kept_weights(parameters, sparsity, biases=biases)))
    found = [
        next(kept) if counts else jnp.ones(array.shape, bool)
        for array, counts in zip(arrays, prunable, strict=True)
    ]
    return jax.tree.unflatten(form, found)


def masked(tree: Any, masks: Any) -> Any:
    """Return the tree with zeros where weights are pruned; unchanged if masks is None."""
    if masks is None:
        return tree
    return jax.tree.map(lambda array, mask: jnp.where(mask, array, 0), tree, masks)


def _prunable(parameters: Any, *, biases: bool) -> list[bool]:
    matrices: list[bool] = jax.tree.leaves(weight_matrices(parameters))
    return [biases or matrix for matrix in matrices]


def _highest(arrays: list[jax.Array], count: int) -> list[jax.Array]:
    """Mark the `count` highest values over all arrays, exactly that many.

    Finds the count-th highest value bit by bit: three times as fast on a CPU as `jax.lax.top_k`,
    nine times as fast as sorting, and as much again where trials are vmapped.
    """
    if count == 0:
        return [jnp.zeros(array.shape, bool) for array in arrays]
    # The bits of floats that are not negative are in the order of their values.
    bits = [jax.lax.bitcast_convert_type(jnp.abs(array), jnp.uint32) for array in arrays]

    def with_one_bit_more(index: jax.Array, lowest: jax.Array) -> jax.Array:
        higher = lowest | (jnp.uint32(1) << (31 - index).astype(jnp.uint32))
        enough = sum((array >= higher).sum(dtype=jnp.int32) for array in bits) >= count
        found: jax.Array = jnp.where(enough, higher, lowest)
        return found

    lowest = jax.lax.fori_loop(0, 32, with_one_bit_more, jnp.uint32(0))
    higher = [array > lowest for array in bits]
    equal = [array == lowest for array in bits]
    wanted = count - sum(array.sum(dtype=jnp.int32) for array in higher)
    before = itertools.accumulate((array.sum(dtype=jnp.int32) for array in equal), initial=0)
    return [
        above | (same & (earlier + _running_count(same) <= wanted))
        for above, same, earlier in zip(higher, equal, before, strict=False)
    ]


def _running_count(flags: jax.Array) -> jax.Array:
    counts: jax.Array = jnp.cumsum(flags.ravel(), dtype=jnp.int32).reshape(flags.shape)
    return counts
