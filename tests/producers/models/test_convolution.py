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
    (*MANY_CHANNELS, (1, 1), "SAME"),
    # A kernel wider than the image, and one of a single position.
    ((1, 3, 4, 6), (7, 5, 6, 5), (1, 1), "SAME"),
    ((2, 4, 5, 3), (1, 1, 3, 3), (1, 1), "SAME"),
    ((2, 8, 7, 3), (4, 3, 3, 4), (1, 2), "SAME"),
    # As in residual networks.
    ((2, 9, 8, 3), (7, 7, 3, 4), (2, 2), ((3, 3), (3, 3))),
    ((2, 8, 7, 3), (4, 3, 3, 4), (1, 2), "VALID"),
]
LAYOUT = ("NHWC", "HWIO", "NHWC")


def _own(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    return conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)


def _normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def _assert_same(found: Any, expected: Any) -> None:
    """Asserts that arrays are equal up to the rounding of sums in float32."""
    for one, other in zip(found, expected, strict=True):
        scale = float(jnp.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-6 * scale)


@pytest.mark.parametrize(("images", "kernel", "strides", "padding"), quick_few(CASES, CASES[:3]))
def test_convolution_and_its_gradients_are_the_library_s(images, kernel, strides, padding):
    arguments = _normal(*images), _normal(*kernel)

    def result_and_gradients(convolve: Callable[..., jax.Array]) -> list[jax.Array]:
        result, pull_back = jax.vjp(
            partial(convolve, window_strides=strides, padding=padding, dimension_numbers=LAYOUT),
            *arguments,
        )
        return [result, *pull_back(_normal(*result.shape))]

    expected = result_and_gradients(jax.lax.conv_general_dilated)
    _assert_same(result_and_gradients(conv_general_dilated), expected)


def test_convolutions_side_by_side_are_the_library_s():
    """Under vmap over trials, each with a kernel of its own, in a compiled loop."""
    images, kernel = SUMMED_IN_PARTS
    shared, kernels = _normal(*images), _normal(3, *kernel)

    def gradients(convolve: Callable[..., jax.Array]) -> jax.Array:
        def loss(kernel: jax.Array) -> jax.Array:
            return jnp.square(convolve(shared, kernel)).mean()

        def step(kernels: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jax.vmap(jax.grad(loss))(kernels), None

        last: jax.Array
        last, _ = jax.jit(lambda kernels: jax.lax.scan(step, kernels, None, length=2))(kernels)
        return last

    library_s = partial(
        jax.lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=LAYOUT,
    )
    _assert_same([gradients(_own)], [gradients(library_s)])


def test_on_a_cpu_gradients_are_convolutions_of_the_forward_form():
    """Others fall back to slow code inside a compiled loop; other platforms have no such limit."""
    images, kernel = ((jax.ShapeDtypeStruct(shape, jnp.float32)) for shape in MANY_CHANNELS)
    gradient = jax.grad(lambda images, kernel: jnp.square(_own(images, kernel)).sum(), (0, 1))
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
    _, pull_back = jax.vjp(_own, images, kernel)
    _, of_kernel = pull_back(jnp.ones((8_192, 3, 3, 1), jnp.bfloat16))
    # A position of the kernel meets as many of the image's as the two overlap.
    overlaps = np.array([[4, 6, 4], [6, 9, 6], [4, 6, 4]])
    np.testing.assert_allclose(
        of_kernel[:, :, 0, 0].astype(jnp.float32), 8_192 * overlaps, rtol=4e-3
    )


@pytest.mark.parametrize(
    "option", [{"feature_group_count": 2}, {"lhs_dilation": (2, 1)}, {"rhs_dilation": (2, 2)}]
)
def test_convolution_refuses_what_it_does_not_compute(option):
    with pytest.raises(NotImplementedError, match="dilation or groups"):
        conv_general_dilated(
            jnp.zeros((1, 4, 4, 2)), jnp.zeros((3, 3, 2, 2)), (1, 1), "SAME", **option
        )


@pytest.mark.slow
def test_pooling_and_its_gradient_are_the_library_s():
    shape = (2, 7, 6, 3)
    images = _normal(*shape)

    def library_s(images: jax.Array) -> jax.Array:
        pooled: jax.Array = nnx.max_pool(images, (2, 2), strides=(2, 2))
        return pooled

    for pool in (max_pool_2x2, library_s):
        assert pool(images).shape == (shape[0], shape[1] // 2, shape[2] // 2, shape[3])
    found, expected = (
        (pool(images), jax.grad(lambda images, pool=pool: jnp.square(pool(images)).sum())(images))
        for pool in (max_pool_2x2, library_s)
    )
    _assert_same(found, expected)
