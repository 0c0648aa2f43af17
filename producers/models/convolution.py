"""Convolution that is quick on every platform.

XLA's own convolution runs about eight times slower on a CPU inside a compiled loop than the same
sums written as matrix products (benchmarks/convolution.py measures it); on a GPU or TPU it is best.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def conv_general_dilated(
    inputs: jax.Array,
    kernel: jax.Array,
    window_strides: tuple[int, ...],
    padding: str,
    **options: Any,
) -> jax.Array:
    """What `jax.lax.conv_general_dilated` computes, for stride 1 and SAME padding.

    Fits the argument of that name of `flax.nnx.Conv`.

    Args:
        inputs: [batch, height, width, channels].
        kernel: [kernel height, kernel width, channels, features], both sides odd.
        window_strides: (1, 1).
        padding: "SAME".
        options: further arguments of `jax.lax.conv_general_dilated`, used off the CPU.

    Returns:
        [batch, height, width, features].

    Raises:
        NotImplementedError: for another stride or padding.
    """
    if tuple(window_strides) != (1, 1) or padding != "SAME":
        raise NotImplementedError(
            f"convolution with strides {window_strides} and padding {padding!r}; "
            "only stride 1 with SAME padding is written as matrix products"
        )

    def native(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(inputs, kernel, window_strides, padding, **options)

    result: jax.Array = jax.lax.platform_dependent(
        inputs, kernel, cpu=_as_matrix_products, default=native
    )
    return result


def _as_matrix_products(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    """A matrix product over the flattened window of every position."""
    height, width = inputs.shape[1:3]
    rows, columns, channels, features = kernel.shape
    padded = jnp.pad(inputs, ((0, 0), (rows // 2,) * 2, (columns // 2,) * 2, (0, 0)))
    windows = [
        padded[:, row : row + height, column : column + width]
        for row in range(rows)
        for column in range(columns)
    ]
    patches = jnp.concatenate(windows, axis=-1)
    products = patches.reshape(-1, rows * columns * channels) @ kernel.reshape(-1, features)
    return products.reshape(*inputs.shape[:3], features)
