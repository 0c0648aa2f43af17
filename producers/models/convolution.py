"""Convolution that is quick on every platform.

XLA's own convolution is best on a GPU or TPU. On a CPU it is quick only in the form of its forward
pass: inside a compiled loop, the gradients that JAX derives from it fall back to code that is many
times slower. So on a CPU gradients are written out, as convolutions of that form
(benchmarks/convolution.py compares them with XLA's and with a matrix product).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from flax import nnx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jax.typing import DTypeLike

_LAYOUT = ("NHWC", "HWIO", "NHWC")
_TOGETHER = 8  # examples whose images and gradients stay in a core's cache


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

    def on_a_cpu(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return _on_a_cpu(inputs, kernel, (rows, columns), pads)

    def native(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(inputs, kernel, window_strides, padding, **options)

    result: jax.Array = jax.lax.platform_dependent(inputs, kernel, cpu=on_a_cpu, default=native)
    return result


def _on_a_cpu(
    inputs: jax.Array,
    kernel: jax.Array,
    strides: tuple[int, int],
    padding: Sequence[tuple[int, int]],
) -> jax.Array:
    """The convolution by the quickest way that computes it on a CPU."""
    rows, columns = kernel.shape[:2]
    centred = rows % 2 == columns % 2 == 1 and padding == _centring(rows, columns)
    if centred and strides == (1, 1) and rows * columns > 1:
        convolved: jax.Array = centred_convolution(inputs, kernel)
        return convolved
    return over_whole_windows(inputs, kernel, strides, padding)


def over_whole_windows(
    inputs: jax.Array,
    kernel: jax.Array,
    strides: tuple[int, int] = (1, 1),
    padding: Sequence[tuple[int, int]] | None = None,
) -> jax.Array:
    """One product over the flattened window of every position, at any strides and padding.

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
    around = _centring(rows, columns) if padding is None else padding
    patches = _whole_windows(inputs, rows, columns, strides, around)
    products = patches.reshape(-1, patches.shape[-1]) @ kernel.reshape(-1, features)
    return products.reshape(*patches.shape[:3], features)


def _whole_windows(
    images: jax.Array,
    rows: int,
    columns: int,
    strides: tuple[int, int],
    padding: Sequence[tuple[int, int]],
) -> jax.Array:
    """The flattened window of every position: [batch, new height, new width, window]."""
    down, right = strides
    padded = _padded(images, padding)
    height, width = padded.shape[1] - rows + 1, padded.shape[2] - columns + 1
    windows = [
        padded[:, row : row + height : down, column : column + width : right]
        for row in range(rows)
        for column in range(columns)
    ]
    return jnp.concatenate(windows, axis=-1)


@jax.custom_vjp
def centred_convolution(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    """XLA's convolution at every position, with gradients that are quick in a compiled loop too.

    Args:
        inputs: [batch, height, width, channels].
        kernel: [kernel height, kernel width, channels, features], its sides odd.

    Returns:
        [batch, height, width, features].
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
    """The gradient with respect to the kernel, summed over as many examples as fit a cache."""
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
    """The convolution that has channels for images, examples for channels, images for kernels."""
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
    """The zeros before and after that put a window of odd sides around every position."""
    return [(rows // 2, rows // 2), (columns // 2, columns // 2)]


def _padded(images: jax.Array, padding: Sequence[tuple[int, int]]) -> jax.Array:
    """Images with zeros before and after along height and width."""
    return jnp.pad(images, ((0, 0), *padding, (0, 0)))
