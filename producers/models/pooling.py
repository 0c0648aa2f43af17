"""Pooling that is quick to differentiate on every platform.

On a CPU, XLA differentiates neither a maximum over moving windows nor one of strided slices
quickly; so the gradient is written out.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


@jax.custom_vjp
def max_pool_2x2(images: jax.Array) -> jax.Array:
    """The largest of every 2x2 square; an odd last row or column is left out.

    The gradient goes to the largest, to the first of them where several are.

    Args:
        images: [batch, height, width, channels].

    Returns:
        [batch, height // 2, width // 2, channels].
    """
    first, second, third, fourth = _corners(images)
    return jnp.maximum(jnp.maximum(first, second), jnp.maximum(third, fourth))


def _forward(images: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    pooled = max_pool_2x2(images)
    return pooled, (images, pooled)


def _backward(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array]:
    images, pooled = saved
    zero = jnp.zeros_like(gradient)
    free = jnp.ones(gradient.shape, jnp.bool)
    shares = []
    for corner in _corners(images):
        largest = free & (corner == pooled)
        shares.append(jnp.where(largest, gradient, zero))
        free &= ~largest
    upper, lower = jnp.stack(shares[:2], axis=3), jnp.stack(shares[2:], axis=3)
    batch, height, width, channels = gradient.shape
    squares = jnp.stack([upper, lower], axis=2).reshape(batch, 2 * height, 2 * width, channels)
    odd = [(0, whole - even) for whole, even in zip(images.shape, squares.shape, strict=True)]
    return (jnp.pad(squares, odd),)


max_pool_2x2.defvjp(_forward, _backward)


def mean_pool_2x2(images: jax.Array) -> jax.Array:
    """The mean of every 2x2 square; an odd last row or column makes squares of what there is.

    Args:
        images: [batch, height, width, channels].

    Returns:
        [batch, (height + 1) // 2, (width + 1) // 2, channels].
    """
    batch, height, width, channels = images.shape
    # What is there twice counts as once.
    edges = ((0, 0), (0, height % 2), (0, width % 2), (0, 0))
    even = jnp.pad(images, edges, mode="edge")
    squares = even.reshape(batch, (height + 1) // 2, 2, (width + 1) // 2, 2, channels)
    return squares.mean((2, 4))


def _corners(images: jax.Array) -> list[jax.Array]:
    """The four images of half the height and width that hold one corner of every square."""
    height, width = (side // 2 * 2 for side in images.shape[1:3])
    return [images[:, row:height:2, column:width:2] for row in (0, 1) for column in (0, 1)]
