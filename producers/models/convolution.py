"""Convolution and pooling that are quick on every platform.

XLA's own convolution is best on a GPU or TPU. On a CPU it is quick only in the form of its forward
pass: inside a compiled loop, the gradients that JAX derives from it fall back to code that is many
times slower. So on a CPU gradients are written out, as convolutions of that form
(benchmarks/convolution.py compares them with XLA's and with a matrix product). Nor does XLA
differentiate a maximum over moving windows or one of strided slices quickly there.
"""

from collections.abc import Sequence
from typing import Any, Unpack

import jax
import jax.numpy as jnp
from flax import nnx

from producers.models.registry import LayerOptions

_LAYOUT = ("NHWC", "HWIO", "NHWC")
_TOGETHER = 8  # examples whose images and gradients stay in a core's cache


def convolution(
    channels: int,
    features: int,
    size: int,
    *,
    stride: int = 1,
    use_bias: bool = True,
    **options: Unpack[LayerOptions],
) -> nnx.Conv:
    """Make a layer whose windows are centred on every `stride`-th position, with zeros around.

    Takes [batch, height, width, channels] to features; the kernel has an odd size. Weights start
    Glorot uniform, biases at zero (chosen by experiment).
    """
    return nnx.Conv(
        channels,
        features,
        (size, size),
        strides=stride,
        padding=size // 2,
        use_bias=use_bias,
        kernel_init=nnx.initializers.glorot_uniform(),
        conv_general_dilated=conv_general_dilated,
        **options,
    )


def conv_general_dilated(
    inputs: jax.Array,
    kernel: jax.Array,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    **options: Any,
) -> jax.Array:
    """Compute `jax.lax.conv_general_dilated`, without dilation or groups of features.

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
    size = kernel.shape[:2]
    pads = (
        jax.lax.padtype_to_pads(inputs.shape[1:3], size, window_strides, padding)
        if isinstance(padding, str)
        else padding
    )
    centred = all(side % 2 for side in size) and pads == _centring(*size)
    at_every_position = centred and set(window_strides) == {1} and size != (1, 1)

    def on_a_cpu(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        if at_every_position:
            convolved: jax.Array = centred_convolution(inputs, kernel)
            return convolved
        return over_whole_windows(inputs, kernel, window_strides, pads)

    def native(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(inputs, kernel, window_strides, padding, **options)

    result: jax.Array = jax.lax.platform_dependent(inputs, kernel, cpu=on_a_cpu, default=native)
    return result


def over_whole_windows(
    inputs: jax.Array,
    kernel: jax.Array,
    strides: Sequence[int] = (1, 1),
    padding: Sequence[tuple[int, int]] | None = None,
) -> jax.Array:
    """Convolve by one matrix product over flattened windows, at any strides and padding.

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
    padded = jnp.pad(inputs, ((0, 0), *around, (0, 0)))
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
def centred_convolution(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    """XLA's convolution at every position, with gradients that are quick in a compiled loop too.

    Of inputs [batch, height, width, channels] and a kernel of odd sides.
    """
    around = _centring(*kernel.shape[:2])
    return jax.lax.conv_general_dilated(inputs, kernel, (1, 1), around, dimension_numbers=_LAYOUT)


def _forward(inputs: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return centred_convolution(inputs, kernel), (inputs, kernel)


def _backward(
    saved: tuple[jax.Array, jax.Array], gradient: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Gradients with respect to the inputs and the kernel, from that of the result."""
    inputs, kernel = saved
    opposite = kernel[::-1, ::-1].swapaxes(2, 3)
    return centred_convolution(gradient, opposite), _of_kernel(inputs, gradient, kernel.shape)


def _of_kernel(inputs: jax.Array, gradient: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Sum the kernel's gradient over parts of the batch, each small enough for a cache."""
    examples = inputs.shape[0]
    if examples <= _TOGETHER or examples % _TOGETHER:
        return _of_kernel_at_once(inputs, gradient, shape)
    parts = tuple(array.reshape(-1, _TOGETHER, *array.shape[1:]) for array in (inputs, gradient))

    def add_part(total: jax.Array, part: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        images, gradients = part
        return total + _of_kernel_at_once(images, gradients, shape), None

    # In bfloat16 a sum stops growing after some hundred parts.
    total, _ = jax.lax.scan(add_part, jnp.zeros(shape, jnp.float32), parts)
    return total.astype(gradient.dtype)


def _of_kernel_at_once(inputs: jax.Array, gradient: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Convolve with channels in place of images, and examples in place of channels."""
    found = jax.lax.conv_general_dilated(
        inputs.transpose(3, 1, 2, 0),
        gradient.transpose(1, 2, 0, 3),
        (1, 1),
        _centring(*shape[:2]),
        dimension_numbers=_LAYOUT,
    )
    return found.transpose(1, 2, 0, 3)


centred_convolution.defvjp(_forward, _backward)


def _centring(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return the zero padding that centres a window of odd sides on every position."""
    return [(rows // 2, rows // 2), (columns // 2, columns // 2)]


@jax.custom_vjp
def max_pool_2x2(images: jax.Array) -> jax.Array:
    """Return the maximum of every 2x2 square; an odd last row or column is dropped.

    The gradient goes to the largest, to the first of them where several are.
    """
    first, second, third, fourth = _corners(images)
    return jnp.maximum(jnp.maximum(first, second), jnp.maximum(third, fourth))


def _pool_forward(images: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    pooled = max_pool_2x2(images)
    return pooled, (images, pooled)


def _pool_backward(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array]:
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


max_pool_2x2.defvjp(_pool_forward, _pool_backward)


def mean_pool_2x2(images: jax.Array) -> jax.Array:
    """Return the mean of every 2x2 square; smaller ones at an odd last row or column."""
    batch, height, width, channels = images.shape
    # What is there twice counts as once.
    edges = ((0, 0), (0, height % 2), (0, width % 2), (0, 0))
    even = jnp.pad(images, edges, mode="edge")
    squares = even.reshape(batch, (height + 1) // 2, 2, (width + 1) // 2, 2, channels)
    return squares.mean((2, 4))


def _corners(images: jax.Array) -> list[jax.Array]:
    """Return four images of half the height and width, each with one corner of every square."""
    height, width = (side // 2 * 2 for side in images.shape[1:3])
    return [images[:, row:height:2, column:width:2] for row in (0, 1) for column in (0, 1)]
