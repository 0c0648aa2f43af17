"""Convolution that is quick on every platform.

XLA's own convolution is best on a GPU or TPU. On a CPU, inside a compiled loop, it is several times
slower than the same sums written as matrix products; those in turn wait for memory, so that the
form that copies fewest numbers is the quickest (benchmarks/convolution.py measures all three).
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
    """The convolution by the way that copies fewer numbers."""
    rows, columns, channels, features = kernel.shape
    if rows * columns * channels <= rows * channels + columns * features:
        return over_whole_windows(inputs, kernel)
    convolved: jax.Array = _over_columns_of_windows(inputs, kernel)
    return convolved


def over_whole_windows(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    """One product over the flattened window of every position: best for few channels.

    Args:
        inputs: [batch, height, width, channels].
        kernel: [kernel height, kernel width, channels, features], both sides odd.

    Returns:
        [batch, height, width, features].
    """
    rows, columns, _, features = kernel.shape
    height, width = inputs.shape[1:3]
    padded = _padded(inputs, rows, columns)
    windows = [
        padded[:, row : row + height, column : column + width]
        for row in range(rows)
        for column in range(columns)
    ]
    patches = jnp.concatenate(windows, axis=-1)
    products = patches.reshape(-1, patches.shape[-1]) @ kernel.reshape(-1, features)
    return products.reshape(*inputs.shape[:3], features)


@jax.custom_vjp
def _over_columns_of_windows(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    """One product over one column of every window, for all columns of the kernel; then their sum.

    Of 5x5 windows it copies the inputs 5 times before the product and the features 5 times after
    it, where whole windows copy the inputs 25 times. The gradients share the copies likewise, which
    is why they are written out.
    """
    rows, columns, channels, features = kernel.shape
    windows = _windows(inputs, rows, axis=1).reshape(-1, rows * channels)
    products = windows @ kernel.swapaxes(1, 2).reshape(rows * channels, columns * features)
    return _overlap_sum(products.reshape(*inputs.shape[:3], columns, features), axis=2)


def _forward(inputs: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return _over_columns_of_windows(inputs, kernel), (inputs, kernel)


def _backward(
    saved: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Gradients with respect to the inputs and the kernel, from that of the result."""
    inputs, kernel = saved
    rows, columns, channels, features = kernel.shape
    input_windows = _windows(inputs, rows, axis=1).reshape(-1, rows * channels)
    result_windows = _windows(gradient, columns, axis=2).reshape(-1, columns * features)
    of_kernel = (input_windows.T @ result_windows).reshape(rows, channels, columns, features)
    opposite = kernel[::-1, ::-1].transpose(1, 3, 0, 2).reshape(columns * features, rows * channels)
    of_windows = (result_windows @ opposite).reshape(*inputs.shape[:3], rows, channels)
    return _overlap_sum(of_windows, axis=1), of_kernel[:, :, ::-1].swapaxes(1, 2)


_over_columns_of_windows.defvjp(_forward, _backward)


def _windows(images: jax.Array, size: int, axis: int) -> jax.Array:
    """The `size` neighbours of every position along rows (axis 1) or columns (axis 2).

    Args:
        images: [batch, height, width, channels].
        size: odd.
        axis: 1 or 2.

    Returns:
        [batch, height, width, size, channels], zero beyond the edges.
    """
    rows, columns = (size, 1) if axis == 1 else (1, size)
    padded, length = _padded(images, rows, columns), images.shape[axis]
    return jnp.stack(
        [jax.lax.slice_in_dim(padded, i, i + length, axis=axis) for i in range(size)], axis=3
    )


def _overlap_sum(windows: jax.Array, axis: int) -> jax.Array:
    """Sums, for every position, the entries of its neighbours' windows that lie opposite it.

    Args:
        windows: [batch, height, width, size, channels]; entry i of the window at p counts for the
            position p - i + size // 2 along the axis.
        axis: 1 or 2.

    Returns:
        [batch, height, width, channels].
    """
    size = windows.shape[3]
    zero = jnp.zeros((), windows.dtype)

    def moved(i: int) -> jax.Array:
        shifts = [(0, 0, 0)] * 4
        shifts[axis] = (size // 2 - i, i - size // 2, 0)
        return jax.lax.pad(windows[:, :, :, i], zero, shifts)

    # Shifted by padding alone, which XLA fuses into one loop over the sum.
    return sum((moved(i) for i in range(1, size)), moved(0))


def _padded(images: jax.Array, rows: int, columns: int) -> jax.Array:
    """Zeros around images, so that windows of so many rows and columns fit at every position."""
    return jnp.pad(images, ((0, 0), (rows // 2,) * 2, (columns // 2,) * 2, (0, 0)))
