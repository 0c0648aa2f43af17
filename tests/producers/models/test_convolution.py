"""Convolution, its gradients and pooling, against the library's own."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from producers.models.convolution import conv_general_dilated, max_pool_2x2
from tests.support.slow import quick_few

# Shapes of inputs and of the kernel: with a number of examples that is summed in parts, and with
# many channels.
SUMMED_IN_PARTS = ((24, 5, 6, 3), (3, 3, 3, 2))
MANY_CHANNELS = ((2, 14, 14, 32), (5, 5, 32, 64))
# Shapes, strides and padding, the first three quick.
CASES: list[tuple[Any, ...]] = [
    # Unequal sides, strides and padding.
    ((2, 7, 6, 3), (5, 3, 3, 4), (1, 1), "SAME"),
    (*SUMMED_IN_PARTS, (1, 1), "SAME"),
    ((2, 8, 7, 8), (3, 4, 8, 4), (3, 1), ((0, 2), (1, 0))),
    # A kernel wider than the image, and one of a single position.
    ((1, 3, 4, 6), (7, 5, 6, 5), (1, 1), "SAME"),
    ((2, 4, 5, 3), (1, 1, 3, 3), (1, 1), "SAME"),
    # As in residual networks.
    ((2, 9, 8, 3), (7, 7, 3, 4), (2, 2), ((3, 3), (3, 3))),
    ((2, 8, 7, 3), (4, 3, 3, 4), (1, 2), "VALID"),
]
LAYOUT = ("NHWC", "HWIO", "NHWC")
OURS, LIBRARY_S = (
    partial(convolve, window_strides=(1, 1), padding="SAME", dimension_numbers=LAYOUT)
    for convolve in (conv_general_dilated, jax.lax.conv_general_dilated)
)


def _result_and_gradients(
    convolve: Callable[[jax.Array, jax.Array], jax.Array], images: jax.Array, kernel: jax.Array
) -> list[jax.Array]:
    result, pull_back = jax.vjp(convolve, images, kernel)
    return [result, *pull_back(_normal(*result.shape))]


def _normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def _assert_same(found: Any, expected: Any) -> None:
    """Asserts that arrays are equal up to the rounding of sums in float32."""
    for one, other in zip(found, expected, strict=True):
        scale = float(jnp.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-6 * scale)


@pytest.mark.parametrize(("images", "kernel", "strides", "padding"), quick_few(CASES, CASES[:3]))
def test_convolution_and_its_gradients_are_the_library_s(images, kernel, strides, padding):
    found, expected = (
        _result_and_gradients(
            partial(convolve, window_strides=strides, padding=padding),
            *(_normal(*images), _normal(*kernel)),
        )
        for convolve in (OURS, LIBRARY_S)
    )
    _assert_same(found, expected)


def test_convolutions_side_by_side_are_the_library_s():
    """Under vmap over trials, each with a kernel of its own."""
    images, kernel = SUMMED_IN_PARTS
    arguments = _normal(*images), _normal(3, *kernel)
    found, expected = (
        jax.vmap(partial(_result_and_gradients, convolve), (None, 0))(*arguments)
        for convolve in (OURS, LIBRARY_S)
    )
    _assert_same(found, expected)


def test_on_a_cpu_gradients_are_convolutions_of_the_forward_form():
    """Others fall back to slow code inside a compiled loop; other platforms have no such limit."""
    images, kernel = ((jax.ShapeDtypeStruct(shape, jnp.float32)) for shape in MANY_CHANNELS)
    gradient = jax.grad(lambda images, kernel: jnp.square(OURS(images, kernel)).sum(), (0, 1))
    forms = {}
    for platform in ("cuda", "cpu"):
        lowered = jax.jit(gradient).trace(images, kernel).lower(lowering_platforms=(platform,))
        text = lowered.as_text()
        assert "stablehlo.dot_general" not in text
        forms[platform] = set(re.findall(r"dim_numbers = (.*?), window", text))
    forward = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
    assert forms["cpu"] == {forward}
    assert forms["cuda"] > {forward}


def test_a_gradient_in_bfloat16_does_not_depend_on_how_many_examples_are_summed():
    images, kernel = jnp.ones((8_192, 3, 3, 1), jnp.bfloat16), jnp.ones((3, 3, 1, 1), jnp.bfloat16)
    _, pull_back = jax.vjp(OURS, images, kernel)
    _, of_kernel = pull_back(jnp.ones((8_192, 3, 3, 1), jnp.bfloat16))
    # A position of the kernel meets as many of the image's as the two overlap.
    overlaps = np.array([[4, 6, 4], [6, 9, 6], [4, 6, 4]])
    np.testing.assert_allclose(
        of_kernel[:, :, 0, 0].astype(jnp.float32), 8_192 * overlaps, rtol=4e-3
    )


@pytest.mark.slow
def test_pooling_and_its_gradient_are_the_library_s():
    images = _normal(2, 7, 6, 3)

    def library_s(images: jax.Array) -> jax.Array:
        pooled: jax.Array = nnx.max_pool(images, (2, 2), strides=(2, 2))
        return pooled

    found, expected = (
        (pool(images), jax.grad(lambda images, pool=pool: jnp.square(pool(images)).sum())(images))
        for pool in (max_pool_2x2, library_s)
    )
    _assert_same(found, expected)
