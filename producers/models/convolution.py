"""Convolution that is quick on every platform.

XLA's own convolution is best on a GPU or TPU. On a CPU, inside a compiled loop, it is several times
slower than the same sums written as matrix products; those in turn wait for memory, so that the
form that copies fewest numbers is the quickest (benchmarks/convolution.py measures all three).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from flax import nnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike


def convolution(
    channels: int,
    features: int,
    size: int,
    *,
    stride: int = 1,
    use_bias: bool = True,
    dtype: DTypeLike,
    rngs: nnx.Rngs,
) -> nnx.Conv:
    """A layer whose windows are centred on every `stride`-th position, with zeros around the image.

    Weights start He normal, biases at zero (chosen).

    Args:
        channels: of the inputs.
        features: channels of the result.
        size: height and width of the kernel, odd.
        stride: positions from one window to the next, along both sides.
        use_bias: whether to add a bias to each feature.
        dtype: of the computation; weights are float32.
        rngs: source of the initial weights.
    """
    return nnx.Conv(
        channels,
        features,
        (size, size),
        strides=stride,
        padding=size // 2,
        use_bias=use_bias,
        kernel_init=nnx.initializers.he_normal(),
        conv_general_dilated=conv_general_dilated,
        dtype=dtype,
        rngs=rngs,
    )


def conv_general_dilated(
    inputs: jax.Array,
    kernel: jax.Array,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    **options: Any,
) -> jax.Array:
    """What `jax.lax.conv_general_dilated` computes, without dilation or groups of features.

    Fits the argument of that name of `flax.nnx.Conv`.

    Args:
        inputs: [batch, height, width, channels].
        kernel: [kernel height, kernel width, channels, features].
        window_strides: along height and width.
        padding: "SAME", "VALID", or zeros before and after along height and width.
        options: further arguments of `jax.lax.conv_general_dilated`, used off the CPU.

    Returns:
        [batch, new height, new width, features].

    Raises:
        NotImplementedError: for dilation or groups of features.
    """
    dilations = (*(options.get("lhs_dilation") or ()), *(options.get("rhs_dilation") or ()))
    if set(dilations) - {1} or options.get("feature_group_count", 1) != 1:
        raise NotImplementedError(
            "convolution with dilation or groups of features is not written as matrix products"
        )
    rows, columns = window_strides
    shapes = inputs.shape[1:3], kernel.shape[:2]
    pads = (
        jax.lax.padtype_to_pads(*shapes, (rows, columns), padding)
        if isinstance(padding, str)
        else padding
    )

    def as_matrix_products(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return _as_matrix_products(inputs, kernel, (rows, columns), pads)

    def native(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(inputs, kernel, window_strides, padding, **options)

    result: jax.Array = jax.lax.platform_dependent(
        inputs, kernel, cpu=as_matrix_products, default=native
    )
    return result


def _as_matrix_products(
    inputs: jax.Array,
    kernel: jax.Array,
    strides: tuple[int, int],
    padding: Sequence[tuple[int, int]],
) -> jax.Array:
    """The convolution by the way that copies fewer numbers, of those that compute it."""
    rows, columns, channels, features = kernel.shape
    centred = rows % 2 == columns % 2 == 1 and padding == _centring(rows, columns)
    fewer = rows * channels + columns * features < rows * columns * channels
    if centred and fewer and strides == (1, 1):
        convolved: jax.Array = _over_columns_of_windows(inputs, kernel)
        return convolved
    return over_whole_windows(inputs, kernel, strides, padding)


def over_whole_windows(
    inputs: jax.Array,
    kernel: jax.Array,
    strides: tuple[int, int] = (1, 1),
    padding: Sequence[tuple[int, int]] | None = None,
) -> jax.Array:
    """One product over the flattened window of every position: best for few channels.

    Args:
        inputs: [batch, height, width, channels].
        kernel: [kernel height, kernel width, channels, features].
        strides: along height and width.
        padding: zeros before and after along height and width; unless given, as many as put a
            window of odd sides around every position.

    Returns:
        [batch, new height, new width, features].
    """
    rows, columns, _, features = kernel.shape
    down, right = strides
    around = _centring(rows, columns) if padding is None else padding
    padded = _padded(inputs, around)
    height, width = padded.shape[1] - rows + 1, padded.shape[2] - columns + 1
    windows = [
        padded[:, row : row + height : down, column : column + width : right]
        for row in range(rows)
        for column in range(columns)
    ]
    patches = jnp.concatenate(windows, axis=-1)
    products = patches.reshape(-1, patches.shape[-1]) @ kernel.reshape(-1, features)
    return products.reshape(*patches.shape[:3], features)


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
    padded, length = _padded(images, _centring(rows, columns)), images.shape[axis]
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


def _centring(rows: int, columns: int) -> list[tuple[int, int]]:
    """The zeros before and after that put a window of odd sides around every position."""
    return [(rows // 2, rows // 2), (columns // 2, columns // 2)]


def _padded(images: jax.Array, padding: Sequence[tuple[int, int]]) -> jax.Array:
    """Images with zeros before and after along height and width."""
    return jnp.pad(images, ((0, 0), *padding, (0, 0)))
