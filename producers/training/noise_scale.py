"""The gradient noise scale's two moments (McCandlish et al., 2018).

With G the true gradient and Sigma the covariance of one example's gradient, the expected squared
norm of a batch's mean gradient is |G|^2 + tr(Sigma) / B. Two batch sizes, b < B, give unbiased
estimates of both (appendix A.1):

    |G|^2     = (B |G_B|^2 - b |G_b|^2) / (B - b)
    tr(Sigma) = (|G_b|^2 - |G_B|^2) / (1 / b - 1 / B)

The large batch is here that of all slices, and |G_b|^2 the mean over the slices. The simple noise
scale is tr(Sigma) / |G|^2 (equation 2.9); since a ratio of averages is less biased than an average
of ratios, the two moments are kept, to be averaged before one is divided by the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

if TYPE_CHECKING:
    from collections.abc import Callable


class GradientMoments(NamedTuple):
    """Estimates of the moments of an example's gradient; either may come out below zero.

    Attributes:
        gradient_squared_norm: |G|^2, float32 scalar.
        gradient_covariance_trace: tr(Sigma), float32 scalar.
    """

    gradient_squared_norm: jax.Array
    gradient_covariance_trace: jax.Array


def gradient_moments(
    gradient: Callable[[Any], Any], slices: Any, examples_a_slice: int
) -> GradientMoments:
    """The moments from the gradients of equal slices, of which one at a time is held.

    Args:
        gradient: from a slice, the gradient of its mean loss, a pytree.
        slices: a pytree of arrays [slices, ...], at least two.
        examples_a_slice: b, the examples that each gradient is the mean of.

    Raises:
        ValueError: when there are fewer than two slices.
    """
    count = jax.tree.leaves(slices)[0].shape[0]
    if count < 2:
        raise ValueError(f"the noise of gradients needs at least 2 slices of examples, got {count}")

    def add_slice(sums: tuple[Any, jax.Array], one: Any) -> tuple[tuple[Any, jax.Array], None]:
        total, squares = sums
        found = gradient(one)
        return (optax.tree.add(total, found), squares + _squared_norm(found)), None

    like = jax.eval_shape(gradient, jax.tree.map(lambda array: array[0], slices))
    zeros = jax.tree.map(lambda array: jnp.zeros(array.shape, array.dtype), like)
    (total, squares), _ = jax.lax.scan(add_slice, (zeros, jnp.zeros((), jnp.float32)), slices)
    return moments_from_norms(
        squares / count,
        _squared_norm(total) / count**2,
        examples_a_slice,
        count * examples_a_slice,
    )


def moments_from_norms(
    small_squared_norm: jax.Array, large_squared_norm: jax.Array, small: int, large: int
) -> GradientMoments:
    """The unbiased estimates from the squared norms of two batches' gradients.

    Args:
        small_squared_norm: |G_b|^2, or the mean of several.
        large_squared_norm: |G_B|^2.
        small: b, examples in the small batch.
        large: B, examples in the large batch, more than in the small one.
    """
    return GradientMoments(
        (large * large_squared_norm - small * small_squared_norm) / (large - small),
        (small_squared_norm - large_squared_norm) / (1 / small - 1 / large),
    )


def _squared_norm(gradient: Any) -> jax.Array:
    norm: jax.Array = optax.tree.norm(gradient, squared=True)
    return norm
